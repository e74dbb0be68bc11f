import os
import subprocess
import sys
from functools import cache, partial
from typing import Any

import pytest

from wardround.script_code import module_of, text_of

CELL = """
import functools
from dataclasses import dataclass
import operator
from typing import Annotated, TypedDict
import wardround as wr
from pydantic import BaseModel, Field

WEIGHTS = {"urgent": 2, "routine": 1}
SEEN = {"a", "b", "c"}
length = 7

class Reply(BaseModel):
    text: str = Field(min_length=1)

def added(one, other):
    return one + other

class State(TypedDict):
    turns: Annotated[list, added]

def rule(view):
    return Reply(text="Hm.")

role = wr.Role("quiet", "history_taking", "examples/quiet", Reply, offline=rule)

@wr.node
async def answer(state: State, runtime):
    return await wr.ask(role, state, runtime.context)

@functools.cache
def helper(word):
    return WEIGHTS[word] if word in SEEN else 0

def own(case, answers, factor=3):
    return [helper(name) * factor for name in answers.diagnosis if name.length], answer

class Weighted:
    def __init__(self, weight):
        self.weight = weight
    def __call__(self, case, answers):
        return self.weight * helper("urgent")

weighted = Weighted(2)
bound = functools.partial(own, factor=4)
"""


def of_cell(name: str, text: str = CELL) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "/tmp/ipykernel_1/1.py", "exec"), scope)
    assert module_of(scope[name]) == "__main__"
    return text_of(scope[name])


@pytest.mark.parametrize(
    ("name", "before", "after", "counts"),
    [
        ("own", '"urgent": 2', '"urgent": 3', True),
        ("own", '"a", "b"', '"b", "a"', False),
        ("own", '"a", "b"', '"a", "d"', True),
        ("own", "factor=3", "factor=4", True),
        ("own", "min_length=1", "min_length=2", True),
        ("own", "examples/quiet", "examples/loud", True),
        ("own", "length = 7", "length = 8", False),  # a name of an attribute alone
        ("own", "Weighted(2)", "Weighted(3)", False),
        ("weighted", "Weighted(2)", "Weighted(3)", True),
        ("weighted", '"urgent": 2', '"urgent": 3', True),
        ("bound", "factor=4", "factor=5", True),
        ("bound", '"urgent": 2', '"urgent": 3', True),
    ],
)
def test_the_text_of_a_function_changes_with_the_constants_classes_and_roles_that_it_uses(
    name: str, before: str, after: str, counts: bool
) -> None:
    assert before in CELL
    assert (of_cell(name) != of_cell(name, CELL.replace(before, after))) is counts


WEIGHT = 2


@cache
def _helper() -> int:
    return WEIGHT


def _own(case: Any, answers: Any) -> int:
    return _helper()


def test_the_text_of_a_function_holds_that_of_its_helpers_and_constants_and_nothing_of_other_modules() -> None:
    text = text_of(partial(_own, answers=None))
    assert "return _helper()" in text and "return WEIGHT" in text and "WEIGHT: 2" in text
    assert "def text_of" not in text_of(of_cell)


def test_a_constant_that_holds_itself_is_passed_over() -> None:
    text = CELL.replace("length = 7", 'SEEN = {"a"}\nTREE = {}\nTREE["self"] = TREE').replace("WEIGHTS[word]", "TREE")
    assert "SEEN: set('a')" in of_cell("own", text)


@pytest.mark.slow
def test_the_text_is_the_same_in_every_process() -> None:
    program = f"{CELL}\nfrom wardround.script_code import text_of\nprint(text_of(own))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in "12"
    }
    assert len(texts) == 1 and b"0x" not in next(iter(texts))
