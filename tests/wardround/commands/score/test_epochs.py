"""Whatever scores a run: a second epoch that repeats the first adds results, but neither cases nor certainty."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cases import load_cases, save_cases
from llm import ModelSettings
from scoring.aie.mcq import Answered, Question
from tests.support.recorded_runs import discussed, graded, write_run
from wardround.commands.score import choices, score_app
from wardround.rating.items import items_of
from wardround.rating.marks import Mark, Marks
from wardround.store.recorded_run import find_runs

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
    runs = {epochs: played(folder / f"run{epochs}", epochs) for epochs in (1, 2)}

    def score(command: Sequence[str], epochs: int) -> Numbers:
        suite, *options = (str(folder / part) if part == "terms.csv" else part for part in command)
        told = CliRunner().invoke(score_app, [suite, str(runs[epochs]), *options, "--json", str(folder / "s.json")])
        assert told.exit_code == 0, told.output
        written: Numbers = json.loads((folder / "s.json").read_text("utf-8"))
        return written

    return score


def played(path: Path, epochs: int, more: int = 0, *, longer: int = 0) -> Path:
    """Write a run with ``more`` questions in each case; its epochs repeat each other, or each is ``longer``."""
    results = [
        graded(case.id, scores={}, epoch=epoch, answers=answers(number + more + longer * epoch))
        for epoch in range(epochs)
        for number, case in enumerate(CASES)
    ]
    how: dict[str, Any] = {"graph": "consultation", "suite": "aie", "workflow": {"patient": "saps"}}
    return write_run(path, results, data={"case_ids": [case.id for case in CASES]}, epochs=epochs, **how)


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


@pytest.mark.parametrize(
    "command",
    [("mvme", "--grade"), ("aie",), ("medpmc",), ("clini-eval",), ("consensus",)],
    ids=lambda command: command[0],
)
def test_a_case_whose_own_id_looks_like_an_epoch_of_another_one_is_a_case_of_its_own(
    command: Sequence[str], tmp_path: Path
) -> None:
    names = ("ward", "ward/epoch1")
    cases = [case.model_copy(update={"id": name}) for case, name in zip(CASES, names, strict=False)]
    save_cases(cases, tmp_path / "cases.jsonl")
    how: dict[str, Any] = {"data": {"cases": str(tmp_path / "cases.jsonl")}}
    if command[0] == "consensus":
        results = [discussed(name, 1) for name in names]
    else:
        how |= {"graph": "consultation", "suite": "aie", "workflow": {"patient": "saps"}}
        results = [graded(name, scores={}, answers=answers(number)) for number, name in enumerate(names)]
    run, out = write_run(tmp_path / "run", results, **how), tmp_path / "s.json"
    told = CliRunner().invoke(score_app, [command[0], str(run), *command[1:], "--json", str(out)])
    assert told.exit_code == 0, told.output
    assert json.loads(out.read_text("utf-8"))["n"] == 2


@pytest.mark.parametrize("suite", ["aie", "medpmc"])
def test_epochs_make_no_difference_between_two_runs_more_certain(suite: str, tmp_path: Path) -> None:
    def difference(epochs: int) -> str:
        runs = [str(played(tmp_path / f"{name}{epochs}", epochs, more)) for more, name in enumerate(("one", "other"))]
        told = CliRunner().invoke(score_app, [suite, runs[0], "--against", runs[1]], env={"COLUMNS": "300"})
        assert told.exit_code == 0, told.output
        return told.stdout.partition("paired by case")[2].partition("└")[0]

    assert " 6 │" in difference(1) == difference(2)


def test_a_multiple_choice_question_about_a_record_is_asked_once_for_all_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def choose(questions: Sequence[Question], settings: ModelSettings) -> Answered:
        asked.extend(question.case for question in questions)
        return Answered({question.case: question.right for question in questions}, {})

    monkeypatch.setattr(choices, "answer_questions", choose)
    run, out = played(tmp_path / "run", 2), tmp_path / "s.json"
    for command in (["mcq", str(run)], ["aie", str(run), "--mcq", "offline", "--json", str(out)]):
        told = CliRunner().invoke(score_app, command)
        assert told.exit_code == 0, told.output
    assert sorted(asked) == sorted(case.id for case in CASES)
    assert json.loads(out.read_text("utf-8"))["metrics"]["MCQ_DIAGNOSIS"]["n"] == len(CASES)


def test_people_who_score_a_case_score_all_its_epochs(tmp_path: Path) -> None:
    turns = [(len(answers(number)["dialogue"]) + len(answers(number + 1)["dialogue"])) / 4 for number in range(6)]
    people = tmp_path / "people.csv"
    rows = [f"{case.id},{mean}" for case, mean in zip(CASES, turns, strict=True)]
    people.write_text("\n".join(["case,liking", *rows]), "utf-8")
    run = played(tmp_path / "run", 2, longer=1)
    told = CliRunner().invoke(score_app, ["aie", str(run), "--human", str(people)], env={"COLUMNS": "300"})
    assert told.exit_code == 0, told.output
    header, *table = told.stdout.partition("Spearman correlation over cases")[2].splitlines()[2:]
    column = [cell.strip() for cell in header.split("┃")].index("AVG_TURN")
    row = next(line for line in table if "people: liking" in line)
    assert row.split("│")[column].strip() == "1.000", "the mean of both epochs, and not the first one's turns"


def test_a_person_who_rates_two_epochs_of_a_pair_is_one_rater(tmp_path: Path) -> None:
    runs = find_runs([played(tmp_path / name, 2, more) for more, name in enumerate(("one", "other"))])
    marks = Marks(tmp_path / "ratings.jsonl", runs)
    for number, item in enumerate(items_of(runs, "pairwise")):
        run, against, case_id, epoch = item.key
        names = {"run": run, "against": against, "case_id": case_id, "epoch": epoch, "run_ids": item.run_ids}
        marks.add(Mark(rater="ann", scale="pairwise", question="inquiry", value=(-1, 1)[number % 2], **names))
    out = tmp_path / "s.json"
    options = ["--judge", "none", "--people", str(marks.file), "--json", str(out)]
    told = CliRunner().invoke(score_app, ["aie-pairwise", *(str(run.path) for run in runs), *options])
    assert told.exit_code == 0, told.output
    assert "Agreement among people" not in told.stdout, "nobody else rated"
    found = json.loads(out.read_text("utf-8"))
    assert found["n"] == len(CASES) and found["metrics"]["inquiry"]["n"] == 2 * len(CASES)
    assert found["metrics"]["inquiry"]["mean"] == 50
