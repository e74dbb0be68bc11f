"""Cases rated by people: pass rates and kappa as the papers print them, and the page that asks."""

import json
from pathlib import Path
from random import Random

import pytest

from cases import load_cases
from prompts import load_words
from scoring.metrics.agreement import cohen_kappa
from tests.support.commands import wardround
from tests.support.serving import serving
from tests.wardround.rating.test_rating import ask
from wardround.config.experiment import ConfigurationError
from wardround.rating.case_ratings import ALL, TOGETHER, case_items, tables_of
from wardround.rating.marks import Mark, Marks
from wardround.rating.scales import Name, scale_of
from wardround.rating.server import Rating

CASES = load_cases("builtin")[:8]
ANN = [2, 2, 2, 2, 1, 2, 1, 2]
BOB = [2, 2, 1, 2, 1, 2, 2, 2]


def rated(question: str, rater: str, values: list[int], scale: Name = "ai_hospital_cases") -> list[Mark]:
    return [
        Mark(rater=rater, scale=scale, question=question, value=value, run="", case_id=case.id, epoch=0)
        for case, value in zip(CASES, values, strict=False)
    ]


def rows(marks: list[Mark], scale: Name = "ai_hospital_cases") -> dict[str, dict[str, float]]:
    return {row["question"]: dict(row) for row in tables_of(CASES, scale, marks)[0].rows}


def test_kappa_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    assert cohen_kappa(list(zip(ANN, BOB, strict=True))) == pytest.approx(metrics.cohen_kappa_score(ANN, BOB))
    assert cohen_kappa([(1, 1)] * 3) is None and cohen_kappa([]) is None


def test_two_peoples_ratings_give_pass_rates_and_kappa_by_question() -> None:
    found = rows([*rated("diagnosis", "Ann", ANN), *rated("diagnosis", "Bob", BOB)])["diagnosis"]
    assert found["passed_mean"] == 12 / 16 and (found["items"], found["raters"], found["pairs"]) == (8, 2, 8)
    assert found["kappa"] == pytest.approx(1 / 3) and found["kappa_low"] < 1 / 3 < found["kappa_high"]


def test_the_order_of_the_ratings_changes_nothing() -> None:
    given = [*rated("diagnosis", "Ann", ANN), *rated("diagnosis", "Bob", BOB)]
    shuffled = [Random(seed).sample(given, len(given)) for seed in range(5)]
    assert [rows(marks) for marks in shuffled] == [rows(given)] * 5


def test_a_case_passes_as_a_whole_only_if_all_is_right_and_all_was_asked() -> None:
    every = [mark for question in ("diagnosis", "basis") for mark in rated(question, "Ann", [2] * 8)]
    assert ALL not in rows(every), "one question is open"
    found = rows([*every, *rated("treatment", "Ann", ANN[:7])])
    assert (found[ALL]["items"], found[ALL]["passed_mean"]) == (7, 5 / 7)
    assert found[TOGETHER]["items"] == 8 and found["treatment"]["kappa"] is None


def test_what_people_rate_differently_is_listed() -> None:
    tables = tables_of(CASES, "ai_hospital_cases", [*rated("basis", "Ann", ANN), *rated("basis", "Bob", BOB)])
    assert {row["case"] for row in tables[1].rows} == {CASES[2].id, CASES[6].id}
    assert tables[0].notes[-1] == "Kappa of basis: with fewer than 10 cases, the 95 % interval is too narrow."


def test_so_many_cases_of_each_department_are_drawn_by_a_seed() -> None:
    cases = load_cases("builtin")
    drawn = case_items(cases, 2, seed=1)
    departments = [item.case.key.department for item in drawn]
    assert max(map(departments.count, departments)) == 2 and set(departments) == {c.key.department for c in cases}
    assert drawn == case_items(cases, 2, seed=1) != case_items(cases, 2, seed=2)
    with pytest.raises(ConfigurationError, match="there are no cases to rate"):
        case_items([])


@pytest.mark.parametrize(("scale", "questions"), [("medchain_cases", 6), ("ai_hospital_cases", 3)])
def test_the_page_shows_the_record_and_its_key_and_asks_the_papers_questions(
    scale: Name, questions: int, tmp_path: Path
) -> None:
    assert [len(scale_of(scale, language).questions) for language in ("en", "zh")] == [questions] * 2
    with serving(Rating(case_items(CASES[:1]), scale, Marks(tmp_path / "r.jsonl"))) as server:
        page = ask(f"{server.address}?rater=Ann")[1]
        given = {"rater": "Ann", "place": 0, "question": "diagnosis", "value": 2}
        assert ask(f"{server.address}judge", given)[0] == 204
        assert ask(f"{server.address}judge", {**given, "value": 3})[0] == 400
    assert page.count("<fieldset") == questions and CASES[0].key.diagnosis[0] in page
    assert load_words("rating/words", CASES[0].language)["scales"][scale]["instruction"] in page
    (kept,) = (tmp_path / "r.jsonl").read_text("utf-8").splitlines()
    assert json.loads(kept)["case_id"] == CASES[0].id and json.loads(kept)["run"] == ""


def test_the_command_prints_and_writes_what_was_rated_and_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    kept = Marks(tmp_path / "r.jsonl")
    for mark in [*rated("diagnosis", "Ann", ANN), *rated("diagnosis", "Bob", BOB)]:
        kept.add(mark)
    arguments = ("cases", "rate", "builtin", "--scale", "ai_hospital", "--summary", "--marks", tmp_path / "r.jsonl")
    told = wardround(*arguments, "--json", tmp_path / "out.json")
    assert told.exit_code == 0 and "Cohen's kappa" in told.stdout, told.output
    (row,) = json.loads((tmp_path / "out.json").read_text("utf-8"))["case_ratings"]
    assert row["kappa"] == pytest.approx(1 / 3)
    assert "no ratings on scale medchain yet" in wardround(*arguments[:4], "medchain", *arguments[5:]).stdout
    (tmp_path / "r.jsonl").write_text("{}\n", "utf-8")
    told = wardround(*arguments)
    assert told.exit_code == 2 and "line 1" in told.stderr
    assert wardround("cases", "rate", tmp_path / "none.jsonl", "--summary").exit_code == 2
