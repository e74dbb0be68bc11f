import json
from pathlib import Path

import pytest

from scoring.aie.people_choices import by_view, named, read_choices
from scoring.aie.tournament import Verdict
from tests.scoring.aie.test_tournament import verdict


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
    sheet.write_text("case,one,other,clear,patient_total\n7,gpt4,glm,lose,tie,, \n", "utf-8")
    assert read_choices(sheet) == (expected, []), "empty cells beyond the heading are no choices"
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
        ("a.csv", "case,one,other,total\n1,a,b,win,win\n", "line 2: has more cells than the heading; quote a text"),
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
