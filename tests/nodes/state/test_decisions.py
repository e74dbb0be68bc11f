from typing import Any, Literal

import pytest
from pydantic import ValidationError

from cases.strict import Strict
from cases.vocabulary import SECOND_LEVEL
from llm.schema import answer_schema
from nodes.collaboration.director import Agreement
from nodes.state.decisions import (
    AuxiliaryOrders,
    Decision,
    Diagnosis,
    Judgement,
    PhysicalOrders,
    Report,
    Round,
    SubDepartments,
    Treatment,
    Verdict,
    in_words,
)
from nodes.state.stage import Options
from prompts import load_prompt


def read(given: dict[str, Any], closed: bool | None) -> Verdict:
    return Verdict.model_validate(given, context=None if closed is None else {"closed": closed})


@pytest.mark.parametrize("reason", ["false", "", "None.", "n/a", "无。"])
def test_an_objection_without_a_reason_goes_back_once_and_then_has_none(reason: str) -> None:
    given = {"accepted": False, "reason": reason}
    with pytest.raises(ValidationError, match="needs a reason"):
        read(given, True)
    assert read(given, False) == Verdict(accepted=False, reason="")
    assert read(given, None).reason == reason  # on record already
    assert read({**given, "accepted": True}, True).reason == reason
    assert read({**given, "reason": "Contraindicated."}, True).reason == "Contraindicated."


@pytest.mark.parametrize("said", ["不正确", "正确", "incorrect", "not accepted", "Yes, but", "A", "", 2, None])
def test_no_verdict_is_read_out_of_words(said: Any) -> None:
    with pytest.raises(ValidationError, match="accepted"):
        Verdict.model_validate({"accepted": said, "reason": "不正确"})
    with pytest.raises(ValidationError, match="agreed"):
        Agreement.model_validate({"agreed": said})


@pytest.mark.parametrize("context", [None, {"closed": False}, {"closed": True, "terms": ["Orthopedics"]}])
def test_a_blank_line_of_a_list_is_no_choice_and_blanks_around_one_are_cut(context: Any) -> None:
    kinds: list[tuple[type[Decision], str, str, dict[str, str]]] = [
        (SubDepartments, "sub_departments", "Orthopedics", {}),
        (PhysicalOrders, "items", "Neck Examination", {}),
        (AuxiliaryOrders, "items", "CT", {}),
        (Diagnosis, "names", "Gout", {"basis": ""}),
        (Treatment, "items", "Surgery", {"plan": ""}),
    ]
    for kind, field, name, others in kinds:
        assert kind.model_validate({field: [f" {name}\n"], **others}, context=context).choices() == {name}
        with pytest.raises(ValidationError):
            kind.model_validate({field: [name, " "], **others}, context=context)


@pytest.mark.parametrize(("said", "meant"), [(True, True), ("Yes", True), ("true", True), ("No", False), (0, False)])
def test_a_plain_yes_or_no_is_a_verdict_however_it_is_spelt(said: Any, meant: bool) -> None:
    assert Verdict.model_validate({"accepted": said, "reason": "x"}).accepted is meant


@pytest.mark.parametrize(("language", "said"), [("en", "Sent back without a reason"), ("zh", "未说明理由")])
def test_an_objection_without_a_reason_is_told_as_such(language: Any, said: str) -> None:
    judgements = [Judgement(judge="treatment", verdict=Verdict(accepted=False, reason=""))]
    file = [Round(decision={"items": []}, judgements=judgements)]
    prompt = load_prompt("medchain/question", language, "diagnosis")
    values = dict.fromkeys(prompt.variables, "") | {"file": file, "options": Options((), language)}
    assert said in prompt.render(values)[1]


def test_second_level_departments_are_those_of_the_department_where_it_is_known() -> None:
    terms = SECOND_LEVEL["Surgery"].names
    items = answer_schema(SubDepartments, "en", terms)["properties"]["sub_departments"]["items"]
    assert items["enum"] == list(terms)
    assert answer_schema(SubDepartments, "en")["properties"]["sub_departments"]["items"] == {"type": "string"}
    other: Any = {"sub_departments": ["1.5"]}
    with pytest.raises(ValidationError, match="is not one of the options"):
        SubDepartments.model_validate(other, context={"closed": True, "terms": terms})
    kept = SubDepartments.model_validate(other, context={"closed": False, "terms": terms})
    assert kept.sub_departments == ["1.5"]


def test_a_physician_gives_the_reason_before_the_verdict() -> None:
    """A model of 1.5 billion parameters that had to say `accepted` first refused 624 of 632 decisions."""
    assert list(Verdict.model_fields) == ["reason", "accepted"]


@pytest.mark.parametrize(
    ("language", "decision", "told"),
    [
        ("en", Diagnosis(names=["Gout", "Asthma"], basis="A red toe."), "Gout, Asthma; A red toe."),
        (
            "en",
            PhysicalOrders(items=["Head, Eyes, Ears, Nose and Throat Examination", "Neck Examination"]),
            "Head, Eyes, Ears, Nose and Throat Examination; Neck Examination",
        ),
        ("en", Report(findings="No effusion.", impression="Normal."), "No effusion; Normal."),
        ("zh", Report(findings="未见积液。", impression="正常。"), "未见积液；正常。"),
        ("zh", PhysicalOrders(items=["Neck Examination", "Skin Examination"]), "颈部检查、皮肤检查"),
        ("en", PhysicalOrders(items=[]), "none"),
    ],
)
def test_a_decision_in_a_prompt_can_be_told_apart_into_its_items_and_has_no_two_marks_in_a_row(
    language: Any, decision: Decision, told: str
) -> None:
    assert decision.told(language) == told


class Measure(Strict):
    """An entry of a decision's list."""

    what: str
    days: int


class FallRisk(Decision):
    """A decision with numbers, a yes or no, and a list of entries."""

    level: Literal["low", "high"]
    score: float
    escorted: bool
    measures: list[Measure]
    note: str = ""


FALL_RISK = FallRisk(level="low", score=0, escorted=False, measures=[Measure(what="Blood Test", days=0)])


def test_zero_and_no_are_shown_and_compared_and_a_number_stands_after_its_field() -> None:
    assert FALL_RISK.told("en") == "low; score: 0.0; escorted: False; Blood Test, days: 0"
    assert FALL_RISK.told("zh") == "low；score：0.0；escorted：False；血液学检查、days：0"
    assert {"low", "0.0", "False"} < FALL_RISK.choices()


def test_a_decision_with_a_list_of_entries_can_be_listed() -> None:
    assert FALL_RISK.listed() == sorted(FALL_RISK.choices())
    assert PhysicalOrders(items=["Neck Examination", "Chest Examination"]).listed() == [
        "Neck Examination",
        "Chest Examination",
    ]


class FallLog(Decision):
    """A decision of nothing but a list of entries."""

    measures: list[Measure]


def test_a_list_of_entries_keeps_its_own_order() -> None:
    entries = [Measure(what="Walker", days=2), Measure(what="Alarm", days=1)]
    assert FallLog(measures=entries).listed() == [str(entry.model_dump()) for entry in entries]


class Warned(Decision):
    """A decision of a set, which has no order."""

    of: frozenset[str]


def test_a_set_is_listed_in_alphabetical_order() -> None:
    assert Warned(of=frozenset("hgfedcba")).listed() == list("abcdefgh")


def test_what_says_nothing_is_left_out() -> None:
    assert in_words({"a": None, "b": [], "c": "", "d": {}}, "en") == "none"
