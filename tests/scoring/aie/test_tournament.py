from random import Random

import pytest
import scipy

from scoring.aie.tournament import (
    Verdict,
    correlations,
    difference_columns,
    majority,
    of_pairs,
    outcome_columns,
    success,
    votes,
    with_people,
)
from scoring.metrics.samples import Sample


def verdict(case: str, one: str, other: str, total: int, rater: str = "") -> Verdict:
    return Verdict(case, one, other, {"total": total}, "doctor", rater)


def test_a_doctor_succeeds_in_the_pairs_that_it_wins_whichever_side_it_stands_on_and_ties_are_left_out() -> None:
    given = [
        verdict("1", "a", "b", 1),
        verdict("2", "b", "a", -1),
        verdict("3", "a", "c", -1),
        verdict("4", "a", "c", 0),
    ]
    assert success(given, "a", "total") == [Sample("1", 100.0), Sample("2", 100.0), Sample("3", 0.0)]
    assert success(given, "c", "total") == [Sample("3", 100.0)] and success(given, "a", "logic") == []


def test_an_outcome_is_the_mean_of_the_raters_from_the_side_of_the_first_by_name() -> None:
    given = [verdict("1", "b", "a", 1, "x"), verdict("1", "a", "b", 0, "y"), verdict("2", "a", "b", 1)]
    assert outcome_columns(given, "people", "doctor") == {
        "people: doctor, total": {("a", "b", "1"): -0.5, ("a", "b", "2"): 1.0}
    }


def test_most_raters_decide_and_where_nothing_has_the_most_it_is_a_tie() -> None:
    three = [verdict("1", "b", "a", 1, "x"), verdict("1", "a", "b", -1, "y"), verdict("1", "a", "b", 1, "z")]
    apart = [verdict("2", "a", "b", outcome, rater) for outcome, rater in ((1, "x"), (0, "y"), (-1, "z"))]
    assert [(one.case, one.one, dict(one.outcomes)) for one in majority([*three, *apart])] == [
        ("1", "a", {"total": -1}), ("2", "a", {"total": 0}),
    ]  # fmt: skip
    assert votes(three) == {"total": {("a", "b", "1", 0): {"x": -1, "y": -1, "z": 1}}}


def test_the_epochs_of_a_pair_are_told_apart_and_belong_to_one_case() -> None:
    both = [verdict(name, "a", "b", outcome, "x") for name, outcome in (("1", 1), ("1/epoch1", -1))]
    assert [*votes(both)["total"]] == [("a", "b", "1", 0), ("a", "b", "1", 1)]
    assert [one.case for one in majority(both)] == ["1", "1/epoch1"]


def test_metrics_are_differences_by_pair_and_case_and_pairs_are_told_apart_by_how_many_doctors_are_closed() -> None:
    scores = {
        "b": {"COVERAGE": [Sample("1", 10.0), Sample("2", 20.0)]},
        "a": {"COVERAGE": [Sample("1", 30.0), Sample("1", 50.0)]},
        "c": {"COVERAGE": [Sample("2", 5.0)]},
    }
    columns = difference_columns(scores)
    assert columns == {"COVERAGE": {("a", "b", "1"): 30.0, ("b", "c", "2"): 15.0}}
    assert [of_pairs(columns, {"a", "b"}, closed)["COVERAGE"] for closed in (2, 1, 0)] == [
        {("a", "b", "1"): 30.0},
        {("b", "c", "2"): 15.0},
        {},
    ]


def test_equal_differences_have_equal_ranks_whatever_their_terms() -> None:
    scores = {
        "a": {"COVERAGE": [Sample("1", 0.4), Sample("2", 0.3)]},
        "b": {"COVERAGE": [Sample("1", 0.3), Sample("2", 0.2)]},
    }
    assert 0.4 - 0.3 != 0.3 - 0.2 and len(set(difference_columns(scores)["COVERAGE"].values())) == 1


@pytest.mark.slow
def test_who_says_what_people_say_correlates_with_them_and_who_says_the_contrary_is_last() -> None:
    outcomes = [1.0, -1.0, 0.0, 1.0, -1.0, 1.0]
    units = [("a", "b", str(case)) for case in range(6)]
    people = dict(zip(units, outcomes, strict=True))
    columns = {
        "people: doctor, total": people,
        "same": people,
        "contrary": {unit: -value for unit, value in people.items()},
        "constant": dict.fromkeys(units, 1.0),
        "squared": {unit: (value + 3) ** 3 for unit, value in people.items()},
    }
    found = list(with_people(columns, "spearman"))
    assert [name for name, *_ in found] == ["same", "squared", "contrary", "constant"]
    values = {name: (None if mean is None else round(mean, 9), n) for name, mean, _, n in found}
    assert values == {"same": (1.0, 6), "squared": (1.0, 6), "contrary": (-1.0, 6), "constant": (None, 6)}
    fewer = {**columns, "same": dict(list(columns["same"].items())[:4])}
    assert {name: n for name, _, _, n in with_people(fewer, "spearman")}["same"] == 4, "of the pairs that it has"
    intervals = {name: interval for name, _, interval, _ in found}
    assert intervals["same"] == pytest.approx((1, 1)) and intervals["constant"] is None
    pearson = correlations(columns, "pearson")
    assert pearson.loc["people: doctor, total", "squared"] < 0.999
    by_value = {name: interval for name, _, interval, _ in with_people(columns, "pearson")}
    assert by_value["squared"] is not None and by_value["squared"][0] < 0.999, "values, not their ranks"


@pytest.mark.slow
def test_agreement_is_with_the_mean_over_people_and_its_interval_by_cases() -> None:
    draw = Random(5)
    cases = [str(case) for case in range(9)]
    units = [("a", other, case) for case in cases for other in ("b", "c")]
    columns = {
        name: {unit: draw.random() for unit in units} for name in ("people: doctor, x", "people: patient, x", "judge")
    }
    ((name, mean, found, n),) = with_people(columns, "spearman")
    theirs = [
        scipy.stats.spearmanr([*columns["judge"].values()], [*columns[person].values()]).statistic
        for person in ("people: doctor, x", "people: patient, x")
    ]
    assert (name, n) == ("judge", 18) and mean == pytest.approx(sum(theirs) / 2)
    assert found is not None and -1 <= found[0] < (mean or 0) < found[1] <= 1
    two_cases = {name: dict(list(column.items())[:4]) for name, column in columns.items()}
    ((_, _, interval, n),) = with_people(two_cases, "spearman")
    assert interval is None and n == 4
    unjudged = {("a", other, str(case)): 9.0 - case for case in range(9, 60) for other in ("b", "c")}
    more = {**columns, "judge": {**columns["judge"], **unjudged}}
    assert list(with_people(more, "spearman")) == [(name, mean, found, 18)], "of the pairs that people judged"
