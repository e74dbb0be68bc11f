from scoring.aie.pairwise import ASPECTS
from scoring.aie.tournament import Verdict
from wardround.tables.aie import win_rates


def test_doctors_who_only_tie_have_a_row_without_a_rate() -> None:
    tie = Verdict("case", "one", "other", dict.fromkeys(ASPECTS["doctor"], 0), "doctor")
    table = win_rates({"judge": [tie]}, "doctor", ["one", "other", "absent"])
    assert [(row["run"], row["duels"], row["total_n"], row["total_mean"]) for row in table.rows] == [
        ("one", 1, 0, None),
        ("other", 1, 0, None),
    ]
    assert not table.pictures
