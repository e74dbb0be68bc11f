from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from scoring.medchain.stage_scores import STAGE_NAMES, StageName, StageScores, count_unscored, summarise
from scoring.metrics.statistics import Estimate

COLUMNS = st.lists(st.none() | st.floats(0, 1), min_size=6, max_size=6)


def scores(*values: float | None, reason: str = "no reference") -> StageScores:
    columns = dict(zip(STAGE_NAMES, values, strict=True))
    return StageScores.model_validate(
        {**columns, "unscored": {column: reason for column, value in columns.items() if value is None}}
    )


def test_the_published_average_is_the_mean_of_the_six_published_columns() -> None:
    summary = summarise([scores(0.5873, 0.3505, 0.5836, 0.6566, 0.5218, 0.4613)])
    assert summary["average"].mean == pytest.approx(0.5269, abs=0.0001)


def test_a_summary_has_the_six_columns_and_their_average_under_the_stable_names() -> None:
    assert list(summarise([])) == [
        "referral_level1",
        "referral_level2",
        "history_taking",
        "examination",
        "diagnosis",
        "treatment",
        "average",
    ]
    assert set(summarise([]).values()) == {Estimate(n=0)}


def test_the_average_is_over_column_means_and_not_over_the_cases_own_averages() -> None:
    summary = summarise([scores(1, 1, 1, 1, 1, 1), scores(0, None, None, None, None, None)])
    assert summary["referral_level1"].mean == 0.5 and summary["treatment"].mean == 1
    assert summary["average"].mean == pytest.approx(5.5 / 6) and summary["average"].n == 2


def test_a_column_without_a_scored_case_is_left_out_of_the_average() -> None:
    summary = summarise([scores(1, 0.5, 0.5, None, 1, 0), scores(0, 0.5, 0.5, None, 1, 0)])
    assert summary["examination"] == Estimate(n=0)
    assert summary["average"].mean == pytest.approx(0.5)


def test_a_column_is_either_scored_or_explained() -> None:
    with pytest.raises(ValidationError, match="treatment must have"):
        StageScores(referral_level1=1, referral_level2=1, history_taking=1, examination=1, diagnosis=1)
    with pytest.raises(ValidationError, match="diagnosis must have"):
        StageScores.model_validate({**scores(1, 1, 1, 1, 1, 1).model_dump(), "unscored": {"diagnosis": "no key"}})


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_score_out_of_range_is_refused(value: float) -> None:
    with pytest.raises(ValidationError):
        scores(value, 1, 1, 1, 1, 1)


def test_unscored_cases_are_counted_by_column_and_reason() -> None:
    counted = count_unscored(
        [scores(1, 1, 1, None, 1, 1, reason="no images"), scores(1, 1, 1, None, 1, None), scores(1, 1, 1, 1, 1, 1)]
    )
    assert counted == {"examination": {"no images": 1, "no reference": 1}, "treatment": {"no reference": 1}}


@settings(max_examples=20, deadline=None)
@given(st.lists(COLUMNS, max_size=8), st.randoms())
def test_a_summary_is_in_range_and_ignores_the_order_of_cases(rows: list[list[float | None]], random: Random) -> None:
    cases = [scores(*row) for row in rows]
    summary = summarise(cases)
    random.shuffle(cases)
    assert summarise(cases) == summary
    assert all(each.mean is None or 0 <= each.mean <= 1 for each in summary.values())


@given(COLUMNS)
def test_scores_survive_being_written_and_read(row: list[float | None]) -> None:
    written = scores(*row)
    assert StageScores.model_validate_json(written.model_dump_json()) == written
    column: StageName
    for column, value in zip(STAGE_NAMES, row, strict=True):
        assert written[column] == value
