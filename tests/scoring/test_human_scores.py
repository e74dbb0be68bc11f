from pathlib import Path

import pytest

from scoring.human_scores import read_human_scores, unknown_cases


def test_peoples_scores_are_read_and_averaged_over_people(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("case,clear,total\n1,3,\n1,4,5\n2,,1\n", "utf-8")
    assert read_human_scores(file) == ({"clear": {"1": 3.5}, "total": {"1": 5.0, "2": 1.0}}, [])


def test_peoples_scores_are_read_as_r_and_excel_of_other_countries_write_them(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("Case;clear\n1;3,5\n2;NA\n3;-0,25\n", "utf-8")
    assert read_human_scores(file) == ({"clear": {"1": 3.5, "3": -0.25}}, [])
    file.write_text("case;clear\n1;1,000\n", "utf-8")
    (problem,) = read_human_scores(file)[1]
    assert problem.message == "expected a number, such as 3 or 3.5, found '1,000'", "which may be a thousand"


@pytest.mark.parametrize(("encoding", "separator"), [("utf-8-sig", ";"), ("utf-8", "\t"), ("utf-16", "\t")])
def test_a_sheet_is_read_as_spreadsheets_export_it(tmp_path: Path, encoding: str, separator: str) -> None:
    file = tmp_path / "people.csv"
    rows = [["case", " clear "], ["一", "3"], ["", " "], ["2", "4"], ["", ""]]
    file.write_bytes("".join(f"{separator.join(row)}\r\n" for row in rows).encode(encoding))
    assert read_human_scores(file) == ({"clear": {"一": 3.0, "2": 4.0}}, [])


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("case,clear\n1,good\n", ("line 2", "clear")),
        ("case,clear\n1,nan\n", ("line 2", "clear")),
        ("id,clear\n1,2\n", ("line 1", "case")),
        ("", ("line 1", "case")),
        ("case,clear\n1,0,5\n", ("line 2", "")),
        ("case,clear\n,5\n", ("line 2", "case")),
    ],
)
def test_a_faulty_file_of_peoples_scores_is_named(tmp_path: Path, content: str, where: tuple[str, str]) -> None:
    file = tmp_path / "people.csv"
    file.write_text(content, "utf-8")
    (problem,) = read_human_scores(file)[1]
    assert (problem.record, problem.field) == where
    assert read_human_scores(tmp_path / "nowhere.csv")[1]


def test_cases_of_peoples_scores_that_are_not_here_are_counted_and_named() -> None:
    assert unknown_cases("people.csv", ["a", "b"], ["b", "a"]) == ""
    assert unknown_cases("people.csv", "abcde", "a") == (
        "people.csv: left out, as they are not among the cases here: 4 of 5 (b, c, d, ...)"
    )
    assert unknown_cases("people.csv", "abcd", "a").endswith("3 of 4 (b, c, d)")
