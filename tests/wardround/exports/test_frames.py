"""Runs as data frames."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases import AnswerKey, Case, PatientRecord, Provenance, load_cases, save_cases
from tests.support.recorded_runs import call, discussed, graded, write_run
from wardround import to_dataframe
from wardround.config.experiment import ConfigurationError, Data
from wardround.store.result import Result


def test_there_is_one_row_a_case_and_epoch_with_scores_reasons_rounds_and_ends(tmp_path: Path) -> None:
    results = [
        graded("b", epoch=1, tokens=7, cost=0.5, seconds=2.0, calls=3),
        discussed("a", 2, "rounds_used_up", scores={"diagnosis": None}, unscored={"diagnosis": "no key"}),
    ]
    frame = to_dataframe(write_run(tmp_path / "run", results))
    assert list(frame["case_id"]) == ["a", "b"] and list(frame["epoch"]) == [0, 1]
    assert list(frame.columns[:4]) == ["case_id", "epoch", "termination", "symptoms"] and "run" not in frame
    first, second = frame.to_dict("records")
    assert first["unscored.diagnosis"] == "no key" and first["stages.discussion"] == "rounds_used_up"
    assert first["rounds.discussion"] == 2 and first["diagnosis"] != first["diagnosis"]  # missing
    assert (second["diagnosis"], second["tokens"], second["cost"], second["calls"]) == (2.0, 7, 0.5, 3)


def test_counts_stay_whole_numbers_and_what_is_unknown_of_a_mean_stays_a_number(tmp_path: Path) -> None:
    """In Parquet, rounds were 2.0, and an interval that no run has was a column of texts."""
    graph = {"graph": "clinical_workflow", "suite": "medchain"}
    made = [
        write_run(tmp_path / "one", [discussed("a", 2), graded("b", scores={"symptoms": None})]),
        write_run(tmp_path / "two", [Result(case_id="a", epoch=0, termination="completed")], **graph),
    ]
    cases, runs = to_dataframe(made), to_dataframe(made, "runs")
    assert str(cases["rounds.discussion"].dtype) == str(runs["symptoms.n"].dtype) == "Int64"
    assert runs["diagnosis.low"].dtype == to_dataframe(made[1], "runs")["diagnosis.low"].dtype == "float64"


def test_the_row_of_a_run_says_what_was_run_on_what_by_which_version(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [graded("a")], seed=7)
    row = to_dataframe(run, "runs").loc[0]
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    assert (row["data"], row["seed"], row["version"]) == ("builtin", 7, manifest["versions"]["wardround"])
    assert json.loads(row["configuration"]) == manifest["configuration"]
    (run / "manifest.json").write_text(json.dumps({**manifest, "git": None}), "utf-8")
    assert to_dataframe(run, "runs")["commit"].dtype == "str", "of code from no repository"


def test_the_row_of_a_run_has_each_mean_with_failed_cases_as_wrong(tmp_path: Path) -> None:
    ids = [case.id for case in load_cases("builtin")][:2]
    failed = graded(ids[1], termination="model_error", scores={})
    whole = write_run(tmp_path / "whole", [graded(one, 4.0) for one in ids], data={"case_ids": ids})
    failing = write_run(tmp_path / "failing", [graded(ids[0], 4.0), failed], data={"case_ids": ids})
    both = to_dataframe([whole, failing], "runs")
    assert both["diagnosis"].tolist() == [4.0, 4.0]
    assert both.loc[1, "diagnosis.failed_as_wrong"] == 2.5 and both["diagnosis.failed_as_wrong"].isna()[0]
    assert "diagnosis.failed_as_wrong" not in to_dataframe(whole, "runs"), "nothing failed"


def test_what_was_diagnosed_stands_beside_how_it_was_scored(tmp_path: Path) -> None:
    report = {
        "symptoms": "s",
        "examinations": "e",
        "diagnosis": ["Caries", "Gingivitis"],
        "basis": "b",
        "treatment": "",
    }
    frame = to_dataframe(write_run(tmp_path / "run", [graded("a", answers={"report": report})]))
    assert frame.loc[0, "diagnosis"] == 2.0 and frame.loc[0, "answers.diagnosis"] == "Caries\nGingivitis"


@pytest.mark.slow
def test_several_runs_or_a_sweep_have_a_column_for_the_run(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, [graded("a")]) for name in ("one", "two")]
    assert list(to_dataframe(tmp_path)["run"]) == list(to_dataframe(runs)["run"]) == ["one", "two"]


def test_a_run_without_results_is_an_empty_frame(tmp_path: Path) -> None:
    assert len(to_dataframe(write_run(tmp_path / "run", []))) == 0


def test_no_directory_at_all_is_refused_and_no_frame_without_columns(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="run: the list is empty"):
        to_dataframe(tmp_path.glob("nothing*"))


def test_importing_the_package_imports_no_pandas() -> None:
    program = "import sys, wardround; print('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_the_department_of_a_case_stands_beside_its_scores_and_is_missing_where_the_cases_are_gone(
    tmp_path: Path,
) -> None:
    whole = Case(id="a", patient=PatientRecord(chief_complaint="Pain"), provenance=Provenance(source="a test"))
    keys = {"a": AnswerKey(department="Surgery"), "b": AnswerKey(department="Dentistry")}
    cases = [whole.model_copy(update={"id": name, "key": key}) for name, key in keys.items()]
    save_cases(cases, tmp_path / "cases.jsonl")
    run = write_run(
        tmp_path / "run", [graded(case.id) for case in cases], data=Data(cases=str(tmp_path / "cases.jsonl"))
    )
    departments = {case.id: case.key.department for case in cases}
    assert dict(to_dataframe(run)[["case_id", "case.department"]].to_numpy()) == departments
    (tmp_path / "cases.jsonl").unlink()
    assert to_dataframe(run)["case.department"].isna().all()


def test_a_reconstructed_note_has_the_department_of_its_dialogue(tmp_path: Path) -> None:
    dialogue = {"id": "n", "messages": [], "note": "x", "department": "Cardiology"}
    found = Result(case_id="n", epoch=0, termination="completed", scores={}, answers={"reconstructed": dialogue})
    run = write_run(tmp_path / "run", [found], graph="reconstruction", suite="gates")
    assert list(to_dataframe(run)["case.department"]) == ["Cardiology"]


def test_tokens_and_cost_that_a_server_did_not_report_are_missing_and_the_calls_counted(tmp_path: Path) -> None:
    calls = [call("doctor/turn1", input_tokens=7, output_tokens=2, cost=0.5), call("doctor/turn2", cost=0.0)]
    results = [graded("a", calls=2, uncounted=1, tokens=9)]
    run = write_run(tmp_path / "run", results, {("a", 0): calls})
    usage = ["input_tokens", "output_tokens", "cost"]
    counted, not_counted = to_dataframe(run, "calls")[usage].isna().to_numpy().tolist()
    assert not any(counted) and all(not_counted)
    assert to_dataframe(run)["uncounted"].item() == to_dataframe(run, "runs")["uncounted"].item() == 1
    assert to_dataframe(run)["tokens"].item() == 9, "what the others reported"
    silent = write_run(tmp_path / "silent", [graded("a", calls=2, uncounted=2)])
    for found in (to_dataframe(silent), to_dataframe(silent, "runs")):
        assert found[["tokens", "cost"]].isna().to_numpy().all() and found["uncounted"].item() == 2
    by_rules = write_run(tmp_path / "rules", [graded("a", cost=0.0)])
    assert to_dataframe(by_rules)[["tokens", "cost"]].to_numpy().tolist() == [[0, 0.0]]


def test_of_all_calls_judgements_alone_are_verdicts(tmp_path: Path) -> None:
    calls = [
        call("doctor/turn1", answer={"text": "Does it hurt?"}),
        call("feedback/round2/treatment", "feedback_agent", answer={"accepted": False, "reason": "No basis."}),
        call("judge/diagnosis", "diagnosis_judge", stage="evaluation", answer={"grade": 3}),
        call("judge/basis", "basis_judge", stage="evaluation", answer=None, error="unparseable_answer: none"),
    ]
    run = write_run(tmp_path / "run", [graded("a", calls=4)], {("a", 0): calls})
    rows = to_dataframe(run, "verdicts")
    assert rows["kind"].tolist() == ["feedback", "score"]
    assert rows["judge"].tolist() == ["treatment", "diagnosis_judge"] and rows["round"].tolist()[0] == 2
    assert rows["reason"].tolist()[0] == "No basis." and rows["accepted"].tolist()[0] is False


def test_runs_of_several_suites_are_told_apart_as_scores_of_one_name_may_have_other_scales(tmp_path: Path) -> None:
    write_run(tmp_path / "grades", [graded("a")])
    assert "suite" not in to_dataframe(tmp_path)
    shares = Result(case_id="a", epoch=0, termination="completed", scores={"diagnosis": 0.5})
    write_run(tmp_path / "shares", [shares], graph="clinical_workflow")
    frame = to_dataframe(tmp_path)
    assert dict(zip(frame["suite"], frame["diagnosis"], strict=True)) == {"mvme": 2.0, "medchain": 0.5}
