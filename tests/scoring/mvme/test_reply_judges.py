from typing import Any

import pytest

from cases import load_cases
from llm import ModelSettings, ask
from llm.role import variables
from prompts import load_prompt
from scoring.aie.simulator_set import Played, SimulatorItem, read_items, shipped_files
from scoring.mvme.reply_judges import (
    Consistency,
    ExaminationAccuracy,
    Relevance,
    ReplyView,
    consistency_judge,
    examination_judge,
    is_answered,
    judge_consistency_offline,
    judge_examination_offline,
    judge_relevance_offline,
    orders_examination,
    relevance_judge,
    reply_view,
    shares,
)

CASES = {case.id: case for case in load_cases()}
ITEMS = [item for file in shipped_files() for item in read_items(file).records]


def seen(action: str, reply: str, case_id: str = "dentistry-01") -> ReplyView:
    item = next(item for item in ITEMS if item.case_id == case_id and item.action == action)
    return reply_view(Played(item, "", reply), CASES[case_id])


@pytest.mark.parametrize(
    ("action", "reply", "relevant"),
    [
        ("Effective Inquiry", "Cold and hot drinks no longer hurt.", True),
        ("Effective Inquiry", "Drinks no longer hurt, hot or cold.", True),
        ("Effective Inquiry", "He smokes five cigarettes a day.", False),
        ("Ineffective Inquiry", "No, I do not.", True),
        ("Ineffective Inquiry", "Yes, I do.", False),
        ("Ineffective Inquiry", "No. Cold and hot drinks no longer hurt.", False),
        ("Ambiguous Inquiry", "What exactly do you mean?", True),
        ("Ambiguous Inquiry", "Cold and hot drinks no longer hurt.", False),
        ("Ineffective Advice", "ct: Everything is normal.", True),
        ("Ineffective Advice", "Very well.", False),
        ("Ambiguous Advice", "Which examination exactly?", True),
        ("Ambiguous Advice", "No.", False),
        ("Other Topic", "May we get back to my tooth?", True),
        ("Other Topic", "United.", False),
    ],
)
def test_a_reply_is_relevant_if_it_does_what_the_action_calls_for(action: str, reply: str, relevant: bool) -> None:
    assert judge_relevance_offline(seen(action, reply)).relevant == relevant


@pytest.mark.parametrize(
    ("reply", "consistent"),
    [
        ("Cold and hot drinks no longer hurt.", True),
        ("Look, doc: for three months it has been hurting when I bite.", True),
        ("For three weeks it has been hurting.", False),
        ("I have had a cough.", False),
        ("No cough.", True),
        ("He has never smoked.", False),
        ("Could it be the cough?", True),
        ("No examination is named in this request.", True),
        ("", True),
    ],
)
def test_a_reply_is_consistent_if_it_states_and_denies_nothing_against_the_record(reply: str, consistent: bool) -> None:
    assert judge_consistency_offline(seen("Effective Inquiry", reply)).consistent == consistent


def test_the_results_told_must_be_all_that_are_due_and_no_others() -> None:
    first = seen("Effective Advice", "")
    due = " ".join(first.played.item.expected)
    other = next(fact for fact in first.results if fact not in first.played.item.expected)
    for reply, accurate in [(due, True), (f"x-ray: {due}", True), (f"{due} {other}", False), (other, False)]:
        assert judge_examination_offline(seen("Effective Advice", reply)).accurate == accurate
    assert not judge_examination_offline(seen("Effective Advice", first.played.item.expected[0])).accurate
    for action in ("Ineffective Advice", "Ambiguous Advice"):
        assert judge_examination_offline(seen(action, "No abnormality.")).accurate
        assert not judge_examination_offline(seen(action, due)).accurate


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("action", ["Effective Inquiry", "Effective Advice"])
def test_the_due_facts_pass_and_those_of_another_patient_do_not(language: str, action: str) -> None:
    items = [item for item in ITEMS if item.language == language and item.action == action][::2]
    own, strange = (
        [reply_view(Played(item, "", " ".join(said.expected)), CASES[item.case_id]) for item, said in pairs]
        for pairs in (zip(items, items, strict=True), zip(items, [*items[1:], items[0]], strict=True))
    )
    assert all(judge_relevance_offline(view).relevant for view in own)
    assert all(judge_consistency_offline(view).consistent for view in own)
    assert all(judge_examination_offline(view).accurate for view in own if orders_examination(view))
    assert sum(judge_relevance_offline(view).relevant for view in strange) <= len(items) / 10
    assert sum(judge_consistency_offline(view).consistent for view in strange) <= len(items) / 3
    assert not any(judge_examination_offline(view).accurate for view in strange if orders_examination(view))


@pytest.mark.slow
def test_pairs_leave_out_first_words_demands_and_conclusions_and_orders_are_advice_to_be_examined() -> None:
    assert {item.action for item in ITEMS if not is_answered(item)} == {"Initialization", "Demand", "Conclusion"}
    orders = [item for item in ITEMS if orders_examination(reply_view(Played(item, "", ""), CASES[item.case_id]))]
    assert {item.action for item in orders} == {"Effective Advice", "Ineffective Advice", "Ambiguous Advice"}
    melatonin = next(item for item in ITEMS if item.expected == ["Melatonin did not improve his nights."])
    assert melatonin not in orders


def test_the_shares_are_percent_one_value_a_reply() -> None:
    yes_no = [("a", True), ("a", False), ("b", True)]
    found: list[Any] = [
        shares([(case, Relevance(relevant=flag)) for case, flag in yes_no]),
        shares([(case, Consistency(consistent=flag)) for case, flag in yes_no]),
        shares([(case, ExaminationAccuracy(accurate=flag)) for case, flag in yes_no]),
    ]
    assert found == [[("a", 100.0), ("a", 0.0), ("b", 100.0)]] * 3
    assert shares([]) == []


@pytest.mark.parametrize("case_id", ["dentistry-01", "dentistry-06"])
@pytest.mark.parametrize("role", [relevance_judge, consistency_judge, examination_judge])
async def test_each_judge_can_be_asked_in_both_languages_and_sees_no_label(role: Any, case_id: str) -> None:
    view = seen("Ineffective Advice", "ct: Everything is normal.", case_id)
    assert await ask(role, view, ModelSettings(), language=view.language) == role.offline(view)
    item: SimulatorItem = view.played.item
    shown = "\n".join(load_prompt(role.prompt, view.language).render(vars(view)))
    assert item.doctor in shown and view.reply in shown and item.action not in shown


def test_a_judge_reads_of_which_examination_a_result_is_and_who_speaks_in_the_marks_of_the_language() -> None:
    item = next(item for item in ITEMS if item.case_id == "dentistry-06" and item.dialogue)
    view = reply_view(Played(item, "", "好"), CASES["dentistry-06"])
    text = load_prompt(examination_judge.prompt, "zh").render(variables(view))[1]
    assert f'<data name="记录中的结果：{view.examinations[-1]}">\n{view.results[-1]}\n' in text
    assert view.dialogue.startswith(("医生：", "患者："))
