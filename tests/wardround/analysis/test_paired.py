"""Runs beside the first: what is paired, corrected together and left out."""

from pathlib import Path
from typing import Any

import pytest

from cases import load_cases, save_cases
from scoring.suite import SUITES
from tests.support.recorded_runs import write_run
from wardround.analysis.paired import differences, p_with_failures, unlike
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.result import Result

COLUMNS = tuple(SUITES["medchain"].published)
CASES = [f"c{number}" for number in range(8)]


def runs(
    folder: Path, experiment: dict[str, Any] | None = None, /, **scores: dict[str, dict[str, float | None] | None]
) -> list[RecordedRun]:
    """Runs, of the clinical workflow unless told otherwise, with these scores of each case; None failed."""
    paths = [
        write_run(
            folder / name,
            [
                Result(case_id=case, epoch=0, termination="completed" if found else "model_error", scores=found or {})
                for case, found in cases.items()
            ],
            **(experiment or {"graph": "clinical_workflow"}),
        )
        for name, cases in scores.items()
    ]
    return find_runs(paths)


def test_an_average_is_paired_over_the_columns_that_both_have(tmp_path: Path) -> None:
    whole: dict[str, float | None] = {name: float(place > 0) for place, name in enumerate(COLUMNS)}
    lacking = {**whole, COLUMNS[0]: None}
    one, two = runs(tmp_path, one=dict.fromkeys(CASES, whole), two=dict.fromkeys(CASES, lacking))
    assert two.estimates["average"].mean == 1 and one.estimates["average"].mean == pytest.approx(5 / 6)
    (found,) = differences([one, two])
    assert found["average"].found.difference.mean == 0 and found["average"].found.permutation_p == 1


def test_the_difference_of_averages_is_that_of_the_columns_means_whatever_the_keys_lack(tmp_path: Path) -> None:
    low = {case: dict.fromkeys(COLUMNS[: 6 if place < 2 else 1], 0.5) for place, case in enumerate(CASES)}
    worse_in_one = {case: {**found, COLUMNS[0]: 0.0} for case, found in low.items()}
    one, two = runs(tmp_path, one=low, two=worse_in_one)
    (found,) = differences([one, two])
    means = [run.estimates["average"].mean for run in (one, two)]
    assert means == pytest.approx([0.5, 0.5 - 0.5 / 6])
    assert found["average"].found.difference.mean == pytest.approx(-0.5 / 6)


@pytest.mark.slow
def test_columns_of_all_runs_are_corrected_together_and_averages_among_themselves(tmp_path: Path) -> None:
    low: dict[str, float | None] = dict.fromkeys(COLUMNS, 0.25)
    better = {**low, COLUMNS[0]: 0.5}
    found = differences(
        runs(tmp_path, low=dict.fromkeys(CASES, low), a=dict.fromkeys(CASES, better), b=dict.fromkeys(CASES, low))
    )
    p = 2 / 2**8
    assert found[0][COLUMNS[0]].found.permutation_p == p
    assert found[0][COLUMNS[0]].p_holm == pytest.approx(12 * p)
    assert found[0]["average"].p_holm == pytest.approx(2 * p)
    assert found[0][COLUMNS[0]].false_discovery == pytest.approx(12 * p)


def test_p_with_failures_is_that_of_the_differences_and_computes_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right: dict[str, float | None] = dict.fromkeys(COLUMNS, 1.0)
    wrong: dict[str, float | None] = dict.fromkeys(COLUMNS, 0.0)
    failing: list[dict[str, float | None] | None] = [right if place % 4 else None for place in range(len(CASES))]
    given = runs(
        tmp_path,
        one=dict.fromkeys(CASES, wrong),
        two=dict(zip(CASES, failing, strict=True)),
        three=dict.fromkeys(CASES, right),
    )
    expected = [{name: one.p_holm for name, one in each.items()} for each in differences(given, with_failures=True)]
    monkeypatch.delattr("wardround.analysis.paired.paired_difference")
    assert p_with_failures(given) == expected and expected[0] != expected[1]


@pytest.mark.slow
def test_equivalence_is_tested_within_a_twentieth_of_the_scale_or_what_is_named(tmp_path: Path) -> None:
    one = {case: {COLUMNS[0]: 0.5} for case in CASES}
    two = {case: {COLUMNS[0]: 0.5 + 0.04 * (-1) ** place} for place, case in enumerate(CASES)}
    both = runs(tmp_path, one=one, two=two)
    usual, narrow = (differences(both, margin)[0][COLUMNS[0]].found.equivalence_p for margin in (None, 0.01))
    assert usual is not None and narrow is not None and usual < 0.05 < narrow


def test_cases_that_only_one_run_has_or_that_failed_in_one_are_named(tmp_path: Path) -> None:
    scores: dict[str, float | None] = {COLUMNS[0]: 1.0}
    one, two = runs(tmp_path, one=dict.fromkeys(["a", "b", "c"], scores), two={"a": scores, "b": None, "d": scores})
    first, second = unlike([one, two])
    assert "1 of one and 1 of two are left out" in first
    assert second == "two and one: without 1 case that failed in one of them."
    assert unlike([one, one]) == []


def test_cases_that_failed_in_both_runs_are_told_from_those_that_failed_in_one(tmp_path: Path) -> None:
    scores: dict[str, float | None] = {COLUMNS[0]: 1.0}
    one, two = runs(
        tmp_path,
        one={"a": scores, "b": None, "c": None, "d": None},
        two={"a": scores, "b": None, "c": None, "d": scores},
    )
    assert unlike([one, two]) == [
        "two and one: without 1 case that failed in one of them and 2 cases that failed in both."
    ]


def test_cases_of_which_an_epoch_failed_in_one_run_are_counted(tmp_path: Path) -> None:
    paths = [
        write_run(
            tmp_path / name,
            [
                Result(case_id=case, epoch=epoch, termination="model_error" if (case, epoch) in failed else "completed")
                for case in ("a", "b")
                for epoch in range(2)
            ],
            graph="clinical_workflow",
            epochs=2,
        )
        for name, failed in {"one": [], "two": [("b", 1)]}.items()
    ]
    assert unlike(find_runs(paths)) == ["two and one scored different numbers of epochs of 1 compared case."]


def test_of_two_releases_of_the_data_the_cases_that_changed_are_named(tmp_path: Path) -> None:
    cases = load_cases("builtin")[:3]
    mended = cases[0].model_copy(update={"key": cases[0].key.model_copy(update={"diagnosis": ["Gout"]})})
    releases = {"one": cases, "two": [mended, cases[1]], "three": cases[::-1]}
    not_run = cases[2].model_copy(update={"key": mended.key})  # changed, too, but compared with nothing
    paths = []
    for name, released in releases.items():
        save_cases([*released, not_run] if name == "two" else released, file := tmp_path / f"{name}.jsonl")
        done = [
            Result(case_id=case.id, epoch=0, termination="completed", scores={COLUMNS[0]: 1.0}) for case in released
        ]
        paths.append(write_run(tmp_path / name, done, graph="clinical_workflow", data={"cases": str(file)}))
    one, two, three = find_runs(paths)
    left, changed = unlike([one, two])
    assert "1 of one are left out" in left
    assert changed.endswith(f"the texts or keys of 1 of the compared cases differ between the runs: {cases[0].id}.")
    assert unlike([one, three]) == [], "another order changes nothing"
    (tmp_path / "two.jsonl").unlink()
    assert "is unknown" in unlike(find_runs([paths[0], paths[1]]))[1]
