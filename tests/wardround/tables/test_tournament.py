import pytest

from scoring.aie import tournament
from scoring.aie.pairwise import ASPECTS
from scoring.aie.tournament import Verdict
from wardround.tables.aie_tournament import agreement, matrix, significance, win_rates
from wardround.tables.drawing import figures_of


def test_doctors_who_only_tie_have_a_row_without_a_rate() -> None:
    tie = Verdict("case", "one", "other", dict.fromkeys(ASPECTS["doctor"], 0), "doctor")
    table = win_rates({"judge": [tie]}, "doctor", ["one", "other", "absent"])
    assert [(row["run"], row["duels"], row["total_n"], row["total_mean"]) for row in table.rows] == [
        ("one", 1, 0, None),
        ("other", 1, 0, None),
    ]
    assert not table.pictures


@pytest.mark.parametrize("judge", ["rules", "a model"])
def test_pictures_of_win_rates_say_who_judged(judge: str) -> None:
    won = [Verdict("case", "one", "other", dict.fromkeys(ASPECTS["doctor"], 1), "doctor")]
    pictures = figures_of(win_rates({"people": won, "judge": won}, "doctor", ["one", "other"], judge))
    titles = [[panel.get_title(loc="left") for panel in figure.axes] for _, figure in pictures]
    assert titles == [["Judged by people", f"Judged by {judge}"]] * 2


def test_how_many_pairs_were_decided_stands_below_as_each_percentage_has_its_own_denominator() -> None:
    given = [Verdict(str(case), "one", "other", {"logic": case - 1, "total": 1}) for case in range(3)]
    notes = win_rates({"people": given, "judge": []}, "doctor", ["one", "other"]).notes
    assert "Decided, people: inquiry 0, logic 2, diagnosis 0, patient 0, total 3 of 3 pairs." in notes
    assert not any("judge" in note for note in notes)


@pytest.mark.parametrize(("cases", "warned"), [(9, True), (10, False)])
def test_an_agreement_with_people_over_fewer_than_ten_cases_is_called_too_narrow(
    cases: int, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tournament, "_RESAMPLES", 20)
    judged = {("one", "other", str(case)): float(case % 3 - 1) for case in range(30)}
    people = dict(list(judged.items())[:cases])
    notes = agreement({"people: doctor, total": people, "judge: doctor, total": judged}, "spearman", "all").notes
    assert any("judge: doctor, total: with fewer than 10 cases" in note for note in notes) is warned


def test_each_correlation_of_figure_5_has_its_p_and_the_number_of_values_that_both_columns_have() -> None:
    judged = {("one", "other", str(case)): float(value) for case, value in enumerate((1, -1, 0, 1, -1, 1))}
    people = dict(list(judged.items())[:5])
    columns = {"people: doctor, total": people, "judge: doctor, total": judged, "DISTINCT": dict.fromkeys(judged, 2.0)}
    tested = {(row["one"], row["other"]): row for row in significance(columns, "all").rows}
    (name, total), (_, constant), _ = tested
    assert tested[name, total] == {"one": name, "other": total, "rho": 1.0, "p": pytest.approx(8 / 120), "n": 5}
    assert tested[name, constant]["p"] is None and len(tested) == 3
    assert matrix(columns, "spearman", "all").rows[0][total] == pytest.approx(1.0), "the same as in the matrix"
