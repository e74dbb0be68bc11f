"""Whatever scores a run: a second epoch that repeats the first adds results, but neither cases nor certainty."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from typer.testing import CliRunner

from cases import load_cases
from tests.support.recorded_runs import graded, write_run
from wardround.commands.score import score_app

CASES = [case for case in load_cases() if case.language == "en"][:6]
SAID = (
    ("Have you had any fever?", "Demand", "Yes, since Monday."),
    ("Is there anything else?", "Ambiguous Inquiry", "Could you be more specific?"),
    ("Please have a blood test done.", "Effective Advice", "It was normal."),
)
REPORTS = (("Asthma",), ("Asthma", "Gout"), ("Measles", "Gout", "Influenza"))

Numbers = dict[str, Any]


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Sequence[str], int], Numbers]:
    folder = tmp_path_factory.mktemp("epochs")
    (folder / "terms.csv").write_text("J45,Asthma\nM10,Gout\nB05,Measles\nJ11,Influenza\n", "utf-8")
    how: dict[str, Any] = {"graph": "consultation", "suite": "aie", "workflow": {"patient": "saps"}}
    runs = {}
    for epochs in (1, 2):
        results = [
            graded(case.id, scores={}, epoch=epoch, answers=answers(number))
            for epoch in range(epochs)
            for number, case in enumerate(CASES)
        ]
        data = {"case_ids": [case.id for case in CASES]}
        runs[epochs] = write_run(folder / f"run{epochs}", results, data=data, epochs=epochs, **how)

    def score(command: Sequence[str], epochs: int) -> Numbers:
        suite, *options = (str(folder / part) if part == "terms.csv" else part for part in command)
        told = CliRunner().invoke(score_app, [suite, str(runs[epochs]), *options, "--json", str(folder / "s.json")])
        assert told.exit_code == 0, told.output
        written: Numbers = json.loads((folder / "s.json").read_text("utf-8"))
        return written

    return score


def answers(number: int) -> dict[str, Any]:
    """Return a consultation: the first of three questions, or more, and one of three reports."""
    dialogue = []
    for words, action, reply in SAID[: 1 + number % 3]:
        dialogue += [{"speaker": "doctor", "text": words, "action": action}, {"speaker": "patient", "text": reply}]
    report = dict.fromkeys(("symptoms", "examinations", "basis", "treatment"), f"fever for {number} days")
    return {"dialogue": dialogue, "report": {**report, "diagnosis": list(REPORTS[number % 3])}}


@pytest.mark.parametrize(
    "command",
    [
        ("mvme", "--grade", "--error-types"),
        ("icd10", "--terms", "terms.csv"),
        ("aie",),
        ("medpmc",),
        ("clini-eval",),
        ("simulator",),
    ],
    ids=lambda command: command[0],
)
def test_epochs_of_a_case_are_neither_cases_nor_certainty(
    command: Sequence[str], scored: Callable[[Sequence[str], int], Numbers]
) -> None:
    once, twice = scored(command, 1), scored(command, 2)
    assert once["n"] == twice["n"] == len(CASES)
    for name, one in once["metrics"].items():
        two = twice["metrics"][name]
        assert two["n"] == 2 * one["n"] and two["mean"] == (one["mean"] and pytest.approx(one["mean"])), name
        if one["ci95"] and one["n"] <= len(CASES):
            (low, high), (lower, higher) = one["ci95"], two["ci95"]
            assert higher - lower >= high - low - 1e-9, name
