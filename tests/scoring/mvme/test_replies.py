"""Table 4 of AI Hospital on dialogues of our own: rounds, labels of the rules, and people's marks."""

import csv
from pathlib import Path

import pytest

from nodes.state.chart import Turn
from scoring.metrics.samples import estimates
from scoring.mvme.replies import KEY, QUESTIONS, agreement, exchanges, heard, human_scores, labelled, read_marks, settle
from tests.graphs.scripting import builtin

CASE = builtin("surgery-01")


def turn(speaker: str, text: str, addressee: str | None = None) -> Turn:
    return Turn.model_validate({"speaker": speaker, "text": text, "addressee": addressee})


DIALOGUE = [
    turn("patient", "It hurts.", "doctor"),
    turn("doctor", "Do you have any allergies?"),
    turn("patient", "I have no known drug allergy.", "doctor"),
    turn("doctor", "Please have a blood test done."),
    turn("patient", "A blood test, please.", "examiner"),
    turn("examiner", "White cells high.", "patient"),
    turn("patient", "The white cells are high.", "doctor"),
    turn("doctor", "The diagnosis is gallstones, and you need an operation."),
    turn("patient", "Is that dangerous?", "doctor"),
    turn("doctor", "It is a common operation."),
    turn("patient", "Thank you, goodbye.", "doctor"),
    turn("doctor", "Goodbye."),
]


def test_a_round_is_a_turn_of_the_doctor_with_its_reply_and_the_desk_is_heard_through_the_patient() -> None:
    rounds = exchanges(DIALOGUE)
    assert [one.number for one in rounds] == [1, 2, 3, 4], "the last words have no reply"
    assert [one.examined for one in rounds] == [False, True, False, False]
    assert heard(rounds[1]) == "The white cells are high."


def test_a_dialogue_in_which_the_doctor_did_not_come_to_speak_has_no_round() -> None:
    assert exchanges(DIALOGUE[:1]) == exchanges([]) == []


def test_the_rules_judge_a_round_by_what_was_asked_and_a_farewell_not_at_all() -> None:
    found = [labelled(one, CASE, str(one.number)).item for one in exchanges(DIALOGUE)]
    assert [item.action for item in found] == [
        "Effective Inquiry", "Effective Advice", "Ambiguous Inquiry", "Conclusion",
    ]  # fmt: skip
    assert found[0].expected and all("allergy" in fact for fact in found[0].expected)
    assert " ".join(found[1].expected) == CASE.examinations.results["Blood Test"]


def marks(**answers: str) -> dict[tuple[str, ...], dict[str, bool]]:
    """Rounds named by a letter, each with the four answers as letters of y and n."""
    return {
        ("run", "case", "0", key): {name: letter == "y" for name, letter in zip(QUESTIONS, given, strict=True)}
        for key, given in answers.items()
    }


def test_what_two_annotators_agree_on_stands_and_the_third_decides_where_they_differ() -> None:
    first, second = marks(a="yyyy", b="ynnn", c="yyny"), marks(a="yyyy", b="nnnn", c="yynn")
    assert settle(first, second)[1] == [("run", "case", "0", "b"), ("run", "case", "0", "c")]
    final, undecided = settle(first, second, marks(a="nnnn", b="nyyy", c="yyny"))
    assert not undecided and final == marks(a="yyyy", b="nnnn", c="yyny")
    third = {("run", "case", "0", "b"): {"relevant": False}, ("run", "case", "0", "c"): {"consistent": True}}
    final, undecided = settle(first, second, third)
    assert final == marks(a="yyyy", b="nnnn") and undecided == [("run", "case", "0", "c")], "c differs elsewhere"
    final, undecided = settle(first, second, marks(a="nnnn", b="nyyy", c="yyny"))
    same = {name: one.mean for name, one in estimates(agreement(first, second), clustered=True).items()}
    assert same == pytest.approx({"relevant": 200 / 3, "consistent": 100, "recommended": 100, "performed": 200 / 3})
    found = {name: (one.mean, one.n) for name, one in estimates(human_scores(final), clustered=True).items()}
    assert found["Acc"] == (50.0, 2) and found["Acc (not recommended)"] == (50.0, 2)
    assert found["Rel"] == (pytest.approx(200 / 3), 3)


def test_a_cell_that_is_neither_yes_nor_no_is_named_by_file_line_and_question(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*KEY, *QUESTIONS])
        writer.writerow(["run", "case", "0", "1", "Yes", "否", "maybe", "0"])
    found, [problem] = read_marks(path)
    assert "line 2" in str(problem) and "recommended" in str(problem) and "maybe" in str(problem)
    assert found["run", "case", "0", "1"] | {"recommended": True} == {
        "relevant": True, "consistent": False, "recommended": True, "performed": False,
    }  # fmt: skip


def test_only_a_third_annotator_may_leave_what_is_settled_blank(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*KEY, *QUESTIONS], ["run", "case", "0", "1", "", "no", "", ""]])
    assert read_marks(path, some_blank=True) == ({("run", "case", "0", "1"): {"consistent": False}}, [])
    assert len(read_marks(path)[1]) == 3
