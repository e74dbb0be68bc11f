import json
from pathlib import Path
from random import Random

import pytest
import scipy

from scoring.aie.tournament import (
    Verdict,
    by_view,
    correlations,
    difference_columns,
    majority,
    named,
    of_pairs,
    outcome_columns,
    read_choices,
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
    assert votes(three) == {"total": {("a", "b", "1", 1): {"x": -1, "y": -1, "z": 1}}}


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


@pytest.mark.slow
def test_agreement_is_with_the_mean_over_people_and_its_interval_by_cases() -> None:
    draw = Random(5)
    cases = [str(case) for case in range(9)]
    units = [("a", other, case) for case in cases for other in ("b", "c")]
    columns = {
        name: {unit: draw.random() for unit in units} for name in ("people: doctor, x", "people: patient, x", "judge")
    }
    ((name, mean, interval, n),) = with_people(columns, "spearman")
    theirs = [
        scipy.stats.spearmanr([*columns["judge"].values()], [*columns[person].values()]).statistic
        for person in ("people: doctor, x", "people: patient, x")
    ]
    assert (name, n) == ("judge", 18) and mean == pytest.approx(sum(theirs) / 2)
    assert interval is not None and -1 <= interval[0] < (mean or 0) < interval[1] <= 1
    two_cases = {name: dict(list(column.items())[:4]) for name, column in columns.items()}
    ((_, _, interval, n),) = with_people(two_cases, "spearman")
    assert interval is None and n == 4


def test_outcomes_are_parted_by_view_and_a_total_goes_with_the_aspects_beside_it() -> None:
    assert by_view({"logic": 1, "total": -1}) == {"doctor": {"logic": 1, "total": -1}}
    assert by_view({"clear": 1, "total": -1}) == {"patient": {"clear": 1, "total": -1}}
    assert by_view({"total": 0}) == {"doctor": {"total": 0}}
    assert by_view({"patient_total": 1}) == {"patient": {"total": 1}}
    assert by_view({"logic": 1, "clear": 0, "total": -1}) == {
        "doctor": {"logic": 1, "total": -1},
        "patient": {"clear": 0},
    }


def test_the_authors_file_and_a_sheet_are_read_alike(tmp_path: Path) -> None:
    record = {"id": 7, "model1": {"model": "gpt4"}, "model2": {"model": "glm"}, "result": {"Clear": "<model2>"}}
    theirs = tmp_path / "patient.json"
    unjudged = {"id": 8, "model1": {"model": "gpt4"}, "model2": {"model": "glm"}}
    theirs.write_text(
        json.dumps([{**record, "result": {"Clear": "<model2>", "Professional": "tie"}}, unjudged]), "utf-8"
    )
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("case,one,other,clear,patient_total\n7,gpt4,glm,lose,tie\n", "utf-8")
    expected = [Verdict("7", "gpt4", "glm", {"clear": -1, "total": 0}, "patient")]
    assert read_choices(theirs) == read_choices(sheet) == (expected, [])
    sheet.write_text("case,one,other,Clear,Professional\n7,gpt4,glm,lose,tie\n", "utf-8")
    assert read_choices(sheet) == (expected, []), "by the names that the authors' files have too"
    for name in ("SHEET.CSV", "sheet.tsv"):
        (tmp_path / name).write_text("case\tone\tother\tclear\tpatient_total\n7\tgpt4\tglm\tlose\ttie\n", "utf-8")
        assert read_choices(tmp_path / name) == (expected, [])


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "case,one\n1,a\n", "other: expected a header with case, one, other"),
        ("a.csv", "case,one,other,total\n1,a,b,better\n", "total: expected win, lose or tie, found 'better'"),
        ("a.csv", "case,one,other,kind\n1,a,b,win\n2,a,b,win\n", "header, kind: is not an aspect"),
        ("a.csv", "case,one,other,total,total\n1,a,b,win,lose\n", "line 1, total: appears 2 times"),
        ("a.csv", "case,one,other,total\n1,a,a,win\n", "one: expected a case and two different doctors"),
        ("a.csv", "case,one,other,total\n1,a,b,win,win\n", "line 2: has more fields than the header"),
        ("a.csv", "case,one,other,total\n", "contains no choices"),
        ("a.json", '[{"id": 1, "model1": {"model": "a"}}]', "model1.model: expected the names of two different"),
        ("a.json", '[{"id": 1, "model1": {"model": "a"}, "model2": {"model": "b"}, "result": "<model1>"}]', "result: "),
        (
            "a.json",
            '[{"id": 1, "model1": {"model": "a"}, "model2": {"model": "b"}, "result": {"Total": "x"}}]',
            "result.Total: expected model1, model2 or tie, found 'x'",
        ),
    ],
)
def test_what_is_no_choice_is_named(tmp_path: Path, name: str, content: str, told: str) -> None:
    file = tmp_path / name
    file.write_text(content, "utf-8")
    found, problems = read_choices(file)
    assert found == [] and len(problems) == 1 and told in str(problems[0])


def test_a_name_stands_for_the_doctor_that_bears_it_or_the_only_one_that_begins_with_it() -> None:
    given = [verdict("1", "GPT4", "glm", 1), verdict("2", "gpt4", "chat", 1)]
    kept, strangers = named(given, ["gpt4", "glm-6b", "chatgpt", "chatglm"])
    assert [(one.one, one.other) for one in kept] == [("gpt4", "glm-6b")] and strangers == ["chat"]
