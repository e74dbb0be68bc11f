"""What a setting changes, and whether that is what the paper expects of it."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.recorded_runs import write_run
from tests.support.runs import run, short
from wardround.store.recorded_run import find_runs
from wardround.store.result import Result
from wardround.tables import scores
from wardround.tables.contrasts import build_contrasts


@pytest.mark.slow
def test_an_ablation_says_of_the_columns_of_table_4_whether_they_moved_as_the_paper_expects(tmp_path: Path) -> None:
    run(short(), tmp_path / "a_full")
    run(short(sequential=False), tmp_path / "b_without_sequence")
    [table] = build_contrasts(find_runs([tmp_path / "a_full", tmp_path / "b_without_sequence"]))
    assert set(table.frame["setting"]) == {"workflow.sequential: true to false"}
    moved = {row["score"]: row["difference_mean"] for row in table.rows}
    assert {row["score"]: row["expected"] for row in table.rows if "expected" in row} == {
        score: f"up: {'yes' if moved[score] > 0 else 'no'}" for score in ("Diagnosis", "Treatment")
    }
    assert len(moved) == 7, "the paper expects nothing of the others"
    assert re.match("As expected", table.notes[-1])


@pytest.mark.slow
def test_a_setting_of_which_the_paper_expects_nothing_has_no_such_column(tmp_path: Path) -> None:
    run(short(), tmp_path / "a")
    run(short(max_turns=1), tmp_path / "b")
    [table] = build_contrasts(find_runs([tmp_path / "a", tmp_path / "b"]))
    assert "expected" not in {column.name for column in table.columns}


def test_another_suite_is_no_setting_whose_effect_is_shown(tmp_path: Path) -> None:
    result = Result(case_id="a", epoch=0, termination="completed", scores={"diagnosis": 1.0})
    runs = [
        write_run(tmp_path / suite, [result], graph="consultation", suite=suite) for suite in ("mvme", "clini_eval")
    ]
    [table] = build_contrasts(find_runs(runs))
    assert table.rows == []


def test_with_runs_of_two_suites_means_of_0_to_1_keep_three_decimals(tmp_path: Path) -> None:
    made = [("clinical_workflow", None, {"interactive": False}), ("consultation", "clini_eval", {"max_turns": 4})]
    runs = []
    for graph, suite, setting in made:
        result = Result(case_id="surgery-03", epoch=0, termination="completed", scores={"diagnosis": 0.5})
        for number, workflow in enumerate(({}, setting)):
            how = {"graph": graph, "workflow": workflow, **({"suite": suite} if suite else {})}
            runs.append(write_run(tmp_path / f"{graph}{number}", [result], **how))
    [table] = build_contrasts(find_runs(runs))
    assert {row["run"] for row in table.rows} == {"clinical_workflow1", "consultation1"}
    assert {column.form for column in table.columns if column.name == "baseline"} == {".3f"}


def test_a_model_with_parameters_in_one_role_is_compared_with_the_run_without_it(tmp_path: Path) -> None:
    """The block was a second setting of the run, as it is left out of the record of those that ask no such model."""
    result = Result(case_id="surgery-03", epoch=0, termination="completed", scores={"diagnosis": 0.5})
    small = {"small": {"spec": "openai:small@http://localhost:1/v1"}}
    roles: list[dict[str, str]] = [{}, {"patient": "small"}, {"refiner": "small"}]
    for models in roles:
        where = tmp_path / "-".join(["rules", *models])
        write_run(where, [result], graph="clinical_workflow", models=models, model=small if models else {})
    hotter = {"small": {**small["small"], "temperature": 1.0}}
    write_run(tmp_path / "hot", [result], graph="clinical_workflow", models={"patient": "small"}, model=hotter)
    names = ("rules", "rules-patient", "rules-refiner", "hot")
    [table] = build_contrasts(find_runs([tmp_path / each for each in names]))
    compared = {(row["setting"].partition(":")[0], row["baseline"], row["run"]) for row in table.rows}
    assert compared >= {("models.patient", "rules", "rules-patient"), ("models.refiner", "rules", "rules-refiner")}
    assert ("model.small.temperature", "rules-patient", "hot") in compared


def test_without_a_patient_to_ask_a_single_doctor_is_compared_with_the_one_whose_dialogue_has_the_orders(
    tmp_path: Path,
) -> None:
    single = {"strategy": "single", "feedback": "off", "retrieval": False}
    results = [
        Result(case_id="surgery-03", epoch=0, termination="completed", scores={"diagnosis": grade}, seconds=1.0)
        for grade in (0.25, 0.75)
    ]
    asked = {**single, "orders": "dialogue"}
    write_run(tmp_path / "asked", results[:1], graph="clinical_workflow", workflow=asked)
    anonymous = {**asked, "personalized": False}
    write_run(tmp_path / "anonymous", results[:1], graph="clinical_workflow", workflow=anonymous)
    write_run(tmp_path / "told", results[1:], graph="clinical_workflow", workflow={**single, "interactive": False})
    [table] = build_contrasts(find_runs([tmp_path / each for each in ("asked", "anonymous", "told")]))
    of_diagnosis = {row["run"]: row for row in table.rows if row["score"] == "Diagnosis"}
    assert of_diagnosis.keys() == {"anonymous", "told"}
    told = of_diagnosis["told"]
    assert told["setting"] == "workflow.interactive: true to false; workflow.orders: dialogue to group"
    assert (told["baseline"], told["difference_mean"], told["expected"]) == ("asked", 0.5, "up: yes")


def test_an_average_over_cases_without_some_columns_has_the_interval_of_the_table_of_scores(tmp_path: Path) -> None:
    whole = {"referral_level1": 1.0, "history_taking": 0.9, "diagnosis": 0.75, "treatment": 0.5}
    given = [whole, {**whole, "diagnosis": 1.0}, {"treatment": 0.9}, {"treatment": 0.6}]
    results = [
        Result(
            case_id=f"c{number}",
            epoch=0,
            termination="completed",
            scores=found,
            unscored={} if "diagnosis" in found else {"diagnosis": "no text"},
        )
        for number, found in enumerate(given)
    ]
    for name, setting in (("one", {}), ("two", {"workflow": {"interactive": False}})):
        write_run(tmp_path / name, results, graph="clinical_workflow", **setting)
    runs = find_runs([tmp_path / "one", tmp_path / "two"])
    [contrasts], [table] = build_contrasts(runs), scores.build(runs)
    assert "Diagnosis: 2 of 4 not scored (no text)." in contrasts.notes
    average = next(row for row in contrasts.rows if row["score"] == "Average")
    assert [name for name in average if name.endswith("_mean")] == ["baseline_mean", "value_mean", "difference_mean"]
    for side in ("baseline", "value"):
        for part in ("mean", "low", "high"):
            assert average[f"{side}_{part}"] == pytest.approx(table.rows[0][f"average_{part}"])


@pytest.mark.parametrize("missing", [False, True])
def test_epochs_are_estimated_as_in_the_table_of_scores_where_all_cases_have_as_many(
    missing: bool, tmp_path: Path
) -> None:
    right = {"a": (1.0, 1.0), "b": (1.0, 0.0), "c": (0.0, 0.0), "d": (1.0, 1.0), "e": (1.0, 0.0)}
    results = [
        Result(case_id=case, epoch=epoch, termination="completed", scores={"referral_level1": value})
        for case, values in right.items()
        for epoch, value in enumerate(values)
    ][: -1 if missing else None]
    for name, setting in (("one", {}), ("two", {"workflow": {"interactive": False}})):
        write_run(tmp_path / name, results, graph="clinical_workflow", epochs=2, **setting)
    runs = find_runs([tmp_path / "one", tmp_path / "two"])
    [contrasts], [table] = build_contrasts(runs), scores.build(runs)
    row = next(row for row in contrasts.rows if row["score"] == "Referral, level 1")
    sides = {tuple(row[f"{side}_{part}"] for part in ("mean", "low", "high", "n")) for side in ("baseline", "value")}
    as_scores = {tuple(table.rows[0][f"referral_level1_{part}"] for part in ("mean", "low", "high", "n"))}
    if missing:  # the mean of the cases' means, of which the difference is made
        assert [(mean, n) for mean, *_, n in sides] == [(pytest.approx(0.7), 5)]
    else:
        assert sides == as_scores


def test_a_run_that_fails_where_it_would_be_wrong_shows_no_effect_once_failures_count(tmp_path: Path) -> None:
    def results(grades: Sequence[float | None]) -> list[Result]:
        return [
            Result(case_id=f"c{case:02}", epoch=0, termination="model_error")
            if grade is None
            else Result(case_id=f"c{case:02}", epoch=0, termination="completed", scores={"diagnosis": grade})
            for case, grade in enumerate(grades)
        ]

    write_run(tmp_path / "steady", results([0.5] * 24), graph="clinical_workflow")
    failing = results([1.0, None] * 12)
    write_run(tmp_path / "failing", failing, graph="clinical_workflow", workflow={"interactive": False})
    [table] = build_contrasts(find_runs([tmp_path / "steady", tmp_path / "failing"]))
    rows = {row["score"]: row for row in table.rows}
    scored, as_wrong = rows["Diagnosis"], rows["Diagnosis, failed as wrong"]
    assert (scored["baseline_mean"], scored["value_mean"], scored["cases"]) == (0.5, 1, 12) and scored["p"] < 0.001
    assert (as_wrong["baseline_mean"], as_wrong["value_mean"], as_wrong["cases"]) == (0.5, 0.5, 24)
    assert (as_wrong["difference_mean"], as_wrong["p"]) == (0, 1)
    assert (scored["expected"], as_wrong["expected"]) == ("up: yes", "up: no")
    assert any(note.startswith("Failed as wrong: ") for note in table.notes)
