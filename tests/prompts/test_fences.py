"""Every value that a prompt shows stands inside the data tags, or is one of our own words or numbers."""

import re
from pathlib import Path

import pytest

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"
FILES = sorted(PROMPTS.glob("??/**/*.md"))
_NOTE = re.compile(r"{% set (\w+) %}.*?{% endset %}", re.DOTALL)
_SHOWN = re.compile(r"{{(.*?)}}", re.DOTALL)

# Our own words and numbers: texts of prompt files, closed vocabularies and literals, seats and counts.
OURS = {
    "task",
    "check",
    "requirement",
    "schema",
    "options",
    "physical_options",
    "treatment_options",
    "auxiliary_options",
    "neighbours",  # recalled.md, which fences them
    "seat",
    "most",
    'within_reach | join(", ")',
    'within_reach | join("、")',
    "questions_left",
    "turns_left",
    "image_class",
    "classes.get(image_class, image_class)",
    "fields",  # the names of an answer's fields
    "judge | titled(language)",
    "duties.get(judge) or judge | titled(language)",
    "judgement.judge | titled(language)",
    "duties.get(judgement.judge) or judgement.judge | titled(language)",
    "roles.speaker",
    "kin[roles.speaker]",
    "record.sex",
    'record.age_years | age("{} years", "{} months", "{} days")',
    'record.age_years | age("{}岁", "{}个月", "{}天")',
    '{"male": "男", "female": "女"}[record.sex]',
    'parts | join(", ")',
    'parts | join("、")',
    "loop.index",
    "asked[0]",  # numbers of turns
    "asked[-1]",
    "ways[step.technique]",
    "section.name",
    "section.title",
    "leaf.key",
    "leaf.en",
    "leaf.zh",
    '"%g" | format(leaf.maximum)',
}
# What is fenced as a whole by the prompt that shows it.
WHOLE = {"chart.md", "example.md"}


def bare(source: str) -> list[str]:
    """The expressions of a prompt that are shown outside of the data tags."""
    fenced_later = [name for name in _NOTE.findall(source) if re.search(rf"{{{{ {name} \| fence\(", source)]
    for name in fenced_later:
        source = re.sub(rf"{{% set {name} %}}.*?{{% endset %}}", "", source, flags=re.DOTALL)
    shown = [expression.strip() for expression in _SHOWN.findall(source)]
    return [
        expression
        for expression in shown
        if not re.search(r"\| fence\(.*\)$", expression, re.DOTALL)
        and not expression.startswith(('"woman"', '"女性"'))
        and not re.fullmatch(r"(years|\(years \* \d+\)) \| round \| int|\w+ \| length", expression)
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PROMPTS).as_posix())
def test_a_prompt_shows_nothing_outside_of_the_data_tags_that_is_not_our_own(file: Path) -> None:
    assert file.name in WHOLE or set(bare(file.read_text("utf-8"))) <= OURS


def test_a_value_that_is_not_fenced_is_found() -> None:
    note = "{% set note %}{{ record.occupation }}{% endset %}"
    assert bare("{{ record.occupation }} {{ chart | fence('the case') }}") == ["record.occupation"]
    assert bare(note + "{{ note }}") == ["record.occupation", "note"]
    assert bare(note + '{{ note | fence("note") }}') == []
