"""What is written comes in the same order in every process: sets of strings are ordered by a seed that Python draws."""

import os
import subprocess
import sys

import pytest

OBJECTIONS = """
from cases.dialogues import Dialogue, Message
from nodes.reconstruction.gates import check_dialogue
said = ["Hello.", "How are you?", "I have no fever, no cough, no nausea and no headache. No pain, no rash.", "I see."]
messages = [Message(role=("user", "assistant")[place % 2], content=text) for place, text in enumerate(said)]
note = "A man has had fever, cough, nausea, headache and pain for two days. He has a rash."
problems = [str(one) for one in check_dialogue(Dialogue(id="d", messages=messages, note=note, diseases=[]))]
assert sum("is denied, but the note records it" in one for one in problems) > 3
print(problems)
"""
KAPPA = """
from random import Random
from cases import load_cases
from wardround.rating.case_ratings import ALL, tables_of
from wardround.rating.marks import Mark
draw = Random(1)
cases = load_cases("builtin")[:12]
marks = [
    Mark(rater=rater, scale="ai_hospital_cases", question=question, value=draw.choice([1, 2, 2, 2]), run="",
         case_id=case.id, epoch=0)
    for case in cases for rater in ("Ann", "Bob") for question in ("diagnosis", "basis", "treatment")
]
rows = tables_of(cases, "ai_hospital_cases", marks)[0].rows
assert any(row["question"] == ALL for row in rows)
print(rows)
"""


SCRIPTS = {"objections": OBJECTIONS, "kappa": KAPPA}


@pytest.fixture(scope="module")
def written() -> list[dict[str, str]]:
    """What the scripts print with each seed, by name; both in one process, as imports take longest."""
    together = "\nprint('\\0')\n".join(SCRIPTS.values())
    printed = [
        subprocess.run(
            [sys.executable, "-c", together],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    return [dict(zip(SCRIPTS, text.split("\0"), strict=True)) for text in printed]


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_hash_seed_gives_the_same(written: list[dict[str, str]], name: str) -> None:
    assert len({each[name] for each in written}) == 1
