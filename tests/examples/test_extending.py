"""``docs/extending.md`` and its pages show what is in ``examples/``, and their commands are theirs."""

import re

import pytest

from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.consultation import ConsultationAnswers
from scoring.medchain.answers import Answers
from tests.examples.test_examples import EXAMPLES, ROOT

PAGES = [ROOT / "docs" / "extending.md", *sorted((ROOT / "docs" / "doors").glob("*.md"))]
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)
SOURCES = {file: file.read_text("utf-8") for file in EXAMPLES}


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_every_block_of_code_is_an_examples_own_text(block: str) -> None:
    assert any(block in source for source in SOURCES.values())


def test_every_example_is_walked_through_and_its_command_is_the_one_that_it_says() -> None:
    for file, source in SOURCES.items():
        blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
        assert any(block in source for block in blocks), f"{file.name} is not shown"
    for line in re.findall(r"^wardround .*examples/.*$", TEXT, re.MULTILINE):
        assert any(line in source for source in SOURCES.values()), line


def test_what_a_metric_is_said_to_be_given_is_what_the_answers_have() -> None:
    rows = re.findall(r"^\| (?:the clinical|a consultation|a reconstruction)[^|]*\| (.*) \|$", TEXT, re.MULTILINE)
    for row, kind in zip(rows, (Answers, ConsultationAnswers, ReconstructionAnswers), strict=True):
        named = re.findall(r"`(\w+)`", row)
        assert kind.model_fields.keys() <= {*named} and all(hasattr(kind(), name) for name in named)
