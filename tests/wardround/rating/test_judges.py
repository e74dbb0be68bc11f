"""Judges held beside people and beside each other: what each table tells, and that it cannot be missed."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from nodes.consultation.final_report import FinalReport
from scoring.consultation import ConsultationAnswers
from tests.support import runs
from tests.support.commands import wardround
from tests.support.fake_server import FakeServer
from tests.support.recorded_runs import ENGLISH, graded, write_run
from tests.wardround.rating.test_rating import consulted, mark
from wardround.config.experiment import Experiment
from wardround.rating.items import items_of
from wardround.rating.judges import AS_RUN, JudgedAnswer, Judgements, family, judged, tables_of
from wardround.rating.marks import FILE, Marks
from wardround.store.recorded_run import find_runs
from wardround.store.result import Result
from wardround.tables.table import Table


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("openai:gpt-4o-mini", "gpt"),
        ("openai:o3-mini", "gpt"),
        ("openai:meta-llama/Meta-Llama-3-8B@http://localhost:8000/v1", "llama"),
        ("ollama:qwen2.5:7b", "qwen"),
        ("hf:/models/Qwen2-7B/", "qwen"),
        ("offline", None),
    ],
)
def test_the_family_of_a_model_is_told_by_its_name_whoever_serves_it(spec: str, name: str | None) -> None:
    assert family(spec) == name


def replied(models: dict[str, list[str]]) -> Result:
    """Return the result of one consultation, and who answered in it."""
    report = FinalReport(
        symptoms="Pain.", examinations="X-ray.", diagnosis=["Caries"], basis="Seen.", treatment="Rest."
    )
    return graded(ENGLISH[0], answers=ConsultationAnswers(report=report), models=models)


def test_a_model_is_of_the_family_that_its_block_names(tmp_path: Path) -> None:
    results = [replied({"doctor": ["ward"], "mvme_director": ["grader"]})]
    blocks = {"ward": {"spec": "openai:Qwen/Qwen3-32B"}, "grader": {"spec": "openai:gpt-4o"}}
    write_run(tmp_path / "one", results, data={"case_ids": [ENGLISH[0]]}, model=blocks)
    found = asyncio.run(judged(find_runs([tmp_path / "one"]), []))
    assert found.judges == {AS_RUN: "gpt"} and found.answers[0].families == {"qwen"}


def test_who_lists_orders_reads_results_or_describes_a_case_for_the_memory_is_no_doctor(tmp_path: Path) -> None:
    gpt, qwen = ["openai:gpt-4o"], ["openai:qwen3"]
    others = dict.fromkeys(("examiner", "extraction", "refiner", "patient", "mvme_director"), gpt)
    results = [replied({"doctor": qwen, **others})]
    write_run(tmp_path / "one", results, data={"case_ids": [ENGLISH[0]]})
    assert asyncio.run(judged(find_runs([tmp_path / "one"]), [])).answers[0].families == {"qwen"}


def answered(favour: float, cases: int = 12) -> Judgements:
    """Two doctors on the same cases; the judge of the first one's family gives that one so much more."""
    answers = []
    for number in range(cases):
        for run, own in (("gpt", True), ("claude", False)):
            one = JudgedAnswer((run, "", f"c{number}", 0), frozenset([run]), {"diagnosis": 10 * number + own})
            worth = 1.0 + number % 3
            one.scores["diagnosis"] = {"openai:gpt-4o": worth + favour * own, "offline": worth}
            answers.append(one)
    judges = {"openai:gpt-4o": "gpt", "offline": None}
    return Judgements({"diagnosis": "Diagnosis"}, judges, answers, ".2f")


def table(tables: list[Table], name: str) -> Table:
    return next(one for one in tables if one.name == name)


@pytest.mark.slow
@pytest.mark.parametrize("favour", [0.0, 0.5])
def test_what_a_judge_gives_to_its_own_family_beyond_what_others_give_is_told(favour: float) -> None:
    (row,) = table(tables_of(answered(favour)), "self_preference").rows
    assert (row["judge"], row["family"], row["gain_n"]) == ("openai:gpt-4o", "gpt", 12)
    assert row["gain_mean"] == favour and (row["p"] < 0.01) == bool(favour)


def test_a_better_doctor_of_the_same_family_is_no_self_preference() -> None:
    found = answered(0.0)
    for one in found.answers:
        for judge in one.scores["diagnosis"]:
            one.scores["diagnosis"][judge] += "gpt" in one.families
    assert table(tables_of(found), "self_preference").rows[0]["gain_mean"] == 0


def test_a_judge_who_gives_all_answers_the_same_has_an_interval_on_the_scale() -> None:
    found = replace(answered(0.0), ends={"diagnosis": (1.0, 5.0)})
    for one in found.answers:
        one.scores["diagnosis"]["offline"] = 1.0
    (row,) = (row for row in table(tables_of(found), "judges").rows if row["judge"] == "offline")
    assert row["mean_low"] == 1 < row["mean_high"] < 2.5


def test_each_mean_stands_beside_the_number_of_answers_that_it_is_over() -> None:
    found = answered(0.0)
    for one in found.answers[:6]:
        del one.scores["diagnosis"]["openai:gpt-4o"]
    judges = table(tables_of(found, {"diagnosis": {one.key: 2.0 for one in found.answers[:3]}}), "judges")
    place = [column.title for column in judges.columns].index("Answers")
    shown = {line[1].text: line[place].text for line in judges.lines}
    assert shown == {"openai:gpt-4o": "18", "offline": "24", "panel": "18", "people": "3"}


@pytest.mark.slow
def test_people_measure_self_preference_where_no_other_judge_does() -> None:
    found = answered(0.5)
    for one in found.answers:
        del one.scores["diagnosis"]["offline"]
    assert not any(one.name == "self_preference" for one in tables_of(found))
    people = {"diagnosis": {one.key: 2.0 for one in found.answers}}
    assert table(tables_of(found, people), "self_preference").rows[0]["gain_mean"] == 0.5


@pytest.mark.slow
def test_a_judge_who_goes_by_length_is_seen_beside_people_who_do_not() -> None:
    found = answered(0.0)
    for one in found.answers:
        one.scores["diagnosis"]["openai:gpt-4o"] = float(one.lengths["diagnosis"])
    people = {"diagnosis": {one.key: one.scores["diagnosis"]["offline"] for one in found.answers}}
    rows = {row["judge"]: row for row in table(tables_of(found, people), "judges").rows}
    assert rows["openai:gpt-4o"]["length"] == pytest.approx(1) and rows["openai:gpt-4o"]["length_p"] < 0.01
    assert abs(rows["people"]["length"]) < 0.5 and rows["offline"]["people"] == pytest.approx(1)
    assert rows["openai:gpt-4o"]["people"] < 0.5
    assert rows["offline"]["people_low"] < rows["offline"]["people_high"] == 1
    agree = table(tables_of(found, people), "judges_agree").rows[0]
    assert agree["alpha"] < 0.5 and agree["items"] == 24


@pytest.mark.slow
def test_the_command_judges_runs_again_and_reads_what_people_judged(tmp_path: Path) -> None:
    run = consulted(tmp_path / "one", grade=4.0)
    kept = Marks(run.path / FILE)
    for case_id, value in zip(ENGLISH, (1, 3), strict=True):
        kept.add(mark("a", "diagnosis", value, case_id))
    told = wardround("judges", run.path, "--judge", "offline", "--json", tmp_path / "j.json", "--csv", tmp_path)
    assert told.exit_code == 0, told.output
    rows = json.loads((tmp_path / "j.json").read_text("utf-8"))["judges"]
    of_diagnosis = {row["judge"]: row for row in rows if row["score"] == "Diagnosis"}
    assert of_diagnosis.keys() == {AS_RUN, "offline", "panel", "people"}
    assert (of_diagnosis[AS_RUN]["mean_mean"], of_diagnosis["offline"]["mean_mean"]) == (4.0, 1.0)
    assert of_diagnosis["people"]["mean_mean"] == 2.0 and of_diagnosis["offline"]["people_n"] == 2
    assert (tmp_path / "judges.csv").exists() and "with people" in told.stdout


@pytest.mark.slow
def test_interviews_written_from_notes_are_judged_again_item_by_item_and_rated_by_people(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    texts = ("A 30-year-old man has had a cough for 2 days. Lungs are clear.", "A 9-year-old girl has an itchy rash.")
    file.write_text(
        "".join(json.dumps({"id": f"n{at}", "note": text}) + "\n" for at, text in enumerate(texts)), "utf-8"
    )
    data = {"notes": str(file)}
    runs.run(Experiment(graph="reconstruction", suite="clini_eval_paper", data=data), tmp_path / "one")  # type: ignore[arg-type]
    (recorded,) = find_runs([tmp_path / "one"])
    (first, _) = items_of([recorded], "clini_eval")
    assert first.note.text == texts[0] and first.consultations[0].dialogue and first.pictures == []
    kept = Marks(recorded.path / FILE)
    for note in ("n0", "n1"):
        kept.add(mark("a", "examination_consistency", 3, note, "clini_eval"))
    told = wardround("judges", recorded.path, "--judge", "offline", "--json", tmp_path / "j.json")
    assert told.exit_code == 0, told.output
    rows = json.loads((tmp_path / "j.json").read_text("utf-8"))["judges"]
    of_family = {row["judge"]: row["mean_n"] for row in rows if row["score"] == "Family History"}
    assert of_family == {AS_RUN: 2, "offline": 2, "panel": 2}
    (people,) = (row for row in rows if (row["score"], row["judge"]) == ("Medical Exam", "people"))
    assert people["mean_mean"] == 3.0


def test_scores_of_people_from_elsewhere_stand_by_the_names_of_the_scores(tmp_path: Path) -> None:
    run, file = consulted(tmp_path / "one"), tmp_path / "people.csv"
    file.write_text("case,treatment\n" + "".join(f"{case_id},3\n" for case_id in ENGLISH), "utf-8")
    told = wardround("judges", run.path, "--human", file, "--json", tmp_path / "j.json")
    assert told.exit_code == 0, told.output
    rows = json.loads((tmp_path / "j.json").read_text("utf-8"))["judges"]
    assert [row["mean_mean"] for row in rows if row["judge"] == "people"] == [3.0]


def test_what_cannot_be_judged_or_read_is_refused_in_a_line(tmp_path: Path) -> None:
    one = consulted(tmp_path / "one").path
    other = write_run(tmp_path / "two", [graded("a")], graph="consultation", suite="medpmc")
    assert "asks no judge" in wardround("judges", other).stderr
    assert "only runs scored by the same suite" in wardround("judges", one, other).stderr
    assert "a person cannot judge" in wardround("judges", one, "--judge", "human").stderr
    assert "file not found" in wardround("judges", one, "--marks", tmp_path / "none.jsonl").stderr
    file = tmp_path / "people.csv"
    with FakeServer() as server:
        judge = f"openai:any@{server.base_url}"
        for text, wrong in (
            ("case,taste\nx,1\n", "taste is not a judged score"),
            ("case,rater\nx,Ann\n", "rater is not a judged score"),
            ("case,basis\nx,1\n", "none of its cases"),
        ):
            file.write_text(text, "utf-8")
            told = wardround("judges", one, "--human", file, "--judge", judge)
            assert told.exit_code == 2 and wrong in told.stderr
        for option, place in (("--csv", file), ("--json", tmp_path)):
            assert wardround("judges", one, option, place, "--judge", judge).exit_code == 2
    assert server.requests == [], "nobody is paid for what is refused"


def test_scores_beyond_the_scale_are_refused_and_cases_elsewhere_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, file = consulted(tmp_path / "one"), tmp_path / "people.csv"
    file.write_text(f"case,treatment\n{ENGLISH[0]},4\n{ENGLISH[0]},6\n", "utf-8")
    told = wardround("judges", run.path, "--human", file)
    assert told.exit_code == 2 and "line 3, treatment: expected 1 to 4, found 6" in told.stderr
    file.write_text(f"case,treatment\n{ENGLISH[0]},4\n05-Jan,2\n", "utf-8")
    told = wardround("judges", run.path, "--human", file)
    assert told.exit_code == 0 and "1 of 2 (05-Jan)" in caplog.text


def test_marks_for_a_suite_without_a_scale_for_people_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [graded(ENGLISH[0], 1.0)], graph="clinical_workflow", suite="medchain")
    (tmp_path / FILE).touch()
    told = wardround("judges", run, "--marks", tmp_path / FILE)
    assert told.exit_code == 2 and "suite medchain has no scale for people" in told.stderr
