"""AIE's tables of doctors."""

from scoring.aie.metrics import score_aie
from scoring.metrics.samples import Sample
from tests.scoring.transcripts_of_ours import aie, turn
from wardround.tables.aie import formats_table, paper_tables, record_languages

ENGLISH = aie("Cough for three days.", turn("A-A-A", "What brings you here today?", "A cough."), id="en")
CHINESE = aie("咳嗽三天。", turn("A-A-A", "您哪里不舒服？", "咳嗽。"), id="zh")


def test_each_language_has_a_table_as_words_cannot_be_averaged_with_characters() -> None:
    doctors = {"one": [ENGLISH, CHINESE], "two": [CHINESE, ENGLISH], "three": [ENGLISH]}
    scores = {name: score_aie(records) for name, records in doctors.items()}
    chinese, english = paper_tables(scores, record_languages(doctors))
    assert [chinese.name, english.name] == ["aie-table-2", "aie-table-3"]
    lengths = [{row["metric"]: row for row in table.rows}["AVG_LEN"] for table in (chinese, english)]
    assert [row["one mean"] for row in lengths] == [row["two mean"] for row in lengths] == [7.0, 5.0]
    assert "three mean" not in lengths[0] and lengths[1]["three mean"] == 5.0
    (alone,) = paper_tables({"three": scores["three"]}, record_languages({"three": [ENGLISH]}))
    assert alone.name == "aie-table-3"


def test_who_failed_all_cases_of_a_language_stands_in_its_table_with_these_as_wrong() -> None:
    doctors = {"one": [ENGLISH, CHINESE], "two": [ENGLISH]}
    scores = {name: score_aie(records) for name, records in doctors.items()}
    wrong = {"two": {name: [*values, Sample("zh", 0.0)] for name, values in scores["two"].items() if "AVG" not in name}}
    chinese, english = paper_tables(scores, record_languages(doctors), wrong)
    coverage = {row["metric"]: row for row in chinese.rows}["COVERAGE"]
    assert coverage["two mean"] is None and coverage["two, failed as wrong mean"] == 0.0
    assert not any("failed as wrong" in column.title for column in english.columns)


def test_who_covers_more_only_where_no_case_failed_and_else_less_has_no_star() -> None:
    """All of 30 cases (the first doctor: 15), but 30 of 100 with the failed ones (50)."""
    cases = [f"c{number:02}" for number in range(100)]
    turns = [Sample(case, 5.0) for case in cases]
    covered = [Sample(case, 100.0 * (number % 2)) for number, case in enumerate(cases)]
    scores = {
        "one": {"AVG_TURN": turns, "COVERAGE": covered},
        "two": {"AVG_TURN": turns[:30], "COVERAGE": [Sample(case, 100.0) for case in cases[:30]]},
    }
    wrong = {"two": {"COVERAGE": [*scores["two"]["COVERAGE"], *(Sample(case, 0.0) for case in cases[30:])]}}
    for bounds, star in (({}, "**"), (wrong, "")):
        (table,) = paper_tables(scores, dict.fromkeys(cases, "en"), bounds)
        cell = {row["metric"]: row for row in table.rows}["COVERAGE"]["two"]
        assert cell == f"100.00 ± 0.00{star}"


def test_the_stars_of_formats_are_explained_and_corrected_over_the_examinations() -> None:
    """Of six cases of each of four examinations, all are right in one format alone: p is 2 / 64 in each."""
    subsets = [f"exam {number}" for number in range(4)]
    of_case = {f"{subset} {case}": subset for subset in subsets for case in range(6)}
    right, wrong = ([Sample(case, value) for case in of_case] for value in (100.0, 0.0))
    table = formats_table({"one": (right, wrong)}, of_case, subsets)
    *each, whole = table.rows
    assert [row["difference_p"] for row in each] == [4 * 2 / 64] * 4 and whole["difference_p"] < 0.001
    assert [line[-2].mark for line in table.lines] == ["", "", "", "", "**"]
    assert any(note.startswith("*, **: p < 0.05") for note in table.notes)


def test_cases_of_no_examination_are_not_called_all_beside_those_of_one() -> None:
    of_case = {"1": "", "MedQA/2": "MedQA"}
    right = [Sample(case, 100.0) for case in of_case]
    rows = formats_table({"one": (right, right)}, of_case, ["", "MedQA"]).rows
    assert [(row["examination"], row["n"]) for row in rows] == [("no examination", 1), ("MedQA", 1), ("all", 2)]
