import json
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import ValidationError

from cases import Case, PatientRecord
from graphs import clinical_workflow
from graphs.clinical_workflow import build_clinical_workflow, builder
from graphs.stage import build_stage
from nodes.node import Node
from nodes.state.decisions import AuxiliaryOrders, PhysicalOrders
from nodes.workflow.general_agent import Proposal, weigh_or_give_way
from nodes.workflow.reviewer import MissingExaminations
from nodes.workflow.stages import DIAGNOSIS, STAGES
from tests.graphs.scripting import builtin, calls, findings, object_always, script, words
from wardround.run.checkpoints import serializer

CASE = builtin("otolaryngology-01")  # with a CT that is a picture, and five other examinations
WORKFLOW: Any = clinical_workflow
QUICK = {"retrieval": False, "general_agents": 1, "feedback": "off"}


def run(case: Case = CASE, **context: Any) -> dict[str, Any]:
    result: dict[str, Any] = WORKFLOW.invoke({"case": case}, context={**QUICK, **context})
    return result


def ordering(*items: str) -> Callable[[Any], Proposal[Any]]:
    """General agents who order these items, and otherwise vote as ever."""

    def rule(view: Any) -> Proposal[Any]:
        kind = view.stage.decision
        if kind not in (PhysicalOrders, AuxiliaryOrders):
            return weigh_or_give_way(view)
        chosen = [item for item in items if item in view.options.names]
        return Proposal(decision=kind(items=chosen), reasoning="as scripted")

    return rule


def requesting(*items: str) -> Callable[[Any], MissingExaminations]:
    return lambda view: MissingExaminations(items=list(items), reason="as scripted")


# The bounded way back from the diagnosis to the examinations.


def test_without_backtracks_no_reviewer_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "reviewer", requesting("CT"))
    result = run(max_backtracks=0)
    assert calls(result, "reviewer") == [] and result["backtracks"] == 0


def test_a_reviewer_sends_the_case_back_for_an_examination_whose_report_then_reaches_the_diagnosis(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script(monkeypatch, "general", ordering("General Examination", "Blood Test"))
    script(monkeypatch, "reviewer", requesting("CT"))
    result = run(max_backtracks=1, send_pictures=False)
    assert result["backtracks"] == 1 and result["requested"] == ["CT"]
    assert set(result["results"]) == {"General Examination", "Blood Test", "CT"}
    assert set(result["reports"]) == {"CT"}
    [record] = [record for record in result["decisions"] if record.stage == "examination:CT"]
    assert record.visit == 1
    assert all(CASE.examinations.results["CT"] in words(call) for call in calls(result, "general", "diagnosis"))
    assert CASE.examinations.results["CT"] not in words(calls(result, "reviewer")[0])


def test_a_picture_that_is_sent_for_later_is_handed_over_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "general", ordering("General Examination"))
    script(monkeypatch, "reviewer", requesting("CT"))
    result = run(max_backtracks=1)
    assert [picture.item for picture in result["pictures"]] == ["CT"]
    assert set(result["reports"]) == {"CT"} and set(result["results"]) == {"General Examination"}


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_a_reviewer_who_always_asks_sends_the_case_back_no_more_often_than_allowed(
    bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "general", ordering("General Examination"))
    script(
        monkeypatch,
        "reviewer",
        lambda view: MissingExaminations(items=[view.options.names[0]], reason="never enough"),
    )
    result = run(max_backtracks=bound)
    assert len(calls(result, "reviewer")) == result["backtracks"] == len(result["requested"]) == bound
    assert len(set(result["requested"])) == bound, "what was ordered is not asked for again"
    assert result["treatment"].items


def test_a_reviewer_who_misses_nothing_lets_the_case_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "reviewer", requesting())
    result = run(max_backtracks=3)
    assert len(calls(result, "reviewer")) == 1 and result["backtracks"] == 0


def test_a_request_for_what_was_ordered_already_does_not_send_the_case_back(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "general", ordering("General Examination", "Blood Test"))
    script(monkeypatch, "reviewer", requesting("Blood Test", "General Examination"))
    result = run(max_backtracks=2)
    assert len(calls(result, "reviewer")) == 1 and result["backtracks"] == 0


def test_a_request_for_an_examination_that_is_not_on_record_yields_nothing_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script(monkeypatch, "general", ordering("Blood Test"))
    script(monkeypatch, "reviewer", requesting("Urine Test"))
    assert "Urine Test" not in CASE.examinations.results
    result = run(max_backtracks=1)
    assert result["requested"] == ["Urine Test"] and set(result["results"]) == {"Blood Test"}
    assert result["diagnosis"].names


def test_a_second_visit_keeps_the_reports_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASE.model_copy(
        update={
            "examinations": CASE.examinations.model_copy(
                update={"auxiliary": {"X-ray": "First film.", "MRI": "Later scan."}, "images": []}
            )
        }
    )
    script(monkeypatch, "general", ordering("X-ray"))
    script(monkeypatch, "reviewer", requesting("MRI"))
    result = run(case, max_backtracks=1)
    assert result["reports"] == {"X-ray": "First film.", "MRI": "Later scan."}
    visits = {record.stage: record.visit for record in result["decisions"] if record.stage.startswith("examination")}
    assert visits == {"examination:X-ray": 0, "examination:MRI": 1}
    assert len({call.id for call in calls(result)}) == len(calls(result))


# What a doctor may know of the person.

PERSON = CASE.model_copy(
    update={
        "patient": PatientRecord(
            age_years=47,
            sex="female",
            occupation="Lighthouse keeper",
            chief_complaint="Ringing in the ear.",
            present_illness="It began in spring.",
            past_history="Had quinsy in 1999.",
            personal_history="Keeps ferrets.",
            family_history="Mother has gout.",
        )
    }
)
PERSONAL = ("47", "female", "Lighthouse keeper", "quinsy", "ferrets", "gout")


@pytest.mark.parametrize("interactive", [True, False])
def test_an_impersonal_run_shows_no_one_the_age_sex_occupation_or_histories(interactive: bool) -> None:
    result = run(PERSON, personalized=False, interactive=interactive, max_turns=10)
    assert result["patient_record"] == PatientRecord(
        chief_complaint="Ringing in the ear.", present_illness="It began in spring."
    )
    assert not any(personal in words(call) for call in calls(result) for personal in PERSONAL)
    assert any("It began in spring." in words(call) for call in calls(result, "general"))


@pytest.mark.parametrize("interactive", [True, False])
def test_a_personal_run_shows_the_doctors_each_of_them(interactive: bool) -> None:
    result = run(PERSON, interactive=interactive)
    for call in calls(result, stage="diagnosis"):
        assert all(personal in words(call) for personal in PERSONAL)


def test_at_the_door_of_an_interactive_run_the_doctors_know_the_complaint_and_no_history() -> None:
    for call in calls(run(PERSON), stage="referral"):
        assert "Ringing in the ear." in words(call)
        assert not any(told in words(call) for told in ("It began in spring.", "quinsy", "ferrets", "gout"))


# Stages that build on each other, and the ablation in which they do not.


def test_each_stage_of_the_ablation_builds_on_the_reference_of_earlier_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "general", ordering("Blood Test"))
    result = run(sequential=False, send_pictures=False)
    expected = CASE.examinations.results["CT"]
    assert expected not in result["results"].values(), "the CT was not ordered"
    assert all(expected in words(call) for call in calls(result, "general", "diagnosis"))
    [diagnosis] = CASE.key.diagnosis
    assert not any(diagnosis in words(call) for call in calls(result, stage="diagnosis"))
    assert all(diagnosis in words(call) for call in calls(result, stage="treatment"))
    assert all(CASE.key.imaging_reports["CT"] in words(call) for call in calls(result, stage="treatment"))


def test_no_reference_is_in_the_state_of_a_sequential_run() -> None:
    assert "reference" not in run()


# Who receives what, at work.


@pytest.mark.parametrize("retrieval", [False, True])
def test_no_doctors_node_receives_the_case_or_a_record_while_a_case_is_run(
    retrieval: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: dict[str, set[str]] = {}
    original = Node._run

    async def spy(self: Node, view: Any) -> dict[str, Any]:
        received.setdefault(str(self.name), set()).update(view)
        return await original(self, view)

    monkeypatch.setattr(Node, "_run", spy)
    script(monkeypatch, "reviewer", requesting("Blood Test", "CT", "X-ray"))
    script(monkeypatch, "feedback", object_always)
    run(general_agents=2, feedback="downstream", max_feedback_rounds=1, max_backtracks=1, retrieval=retrieval)
    secret = {"case", "patient_record", "examination_record", "key", "reference"}
    assert {name: keys & secret for name, keys in received.items() if keys & secret} == {
        "admit": {"case"},
        "answer": {"patient_record"},
        "examine": {"examination_record"},
    }
    assert {"refine", "recall"} & received.keys() == ({"refine", "recall"} if retrieval else set())
    assert {
        "discuss",
        "decide",
        "judge",
        "record_round",
        "conclude",
        "question",
        "review",
        "follow_up",
    } <= received.keys()


def test_offline_a_picture_is_not_reported_on_in_the_words_of_a_similar_case() -> None:
    case = builtin("surgery-02")
    assert [image.item for image in case.examinations.images] == ["X-ray"]
    result = run(case, retrieval=True, general_agents=3)
    assert set(result["reports"].values()) == {"No description can be given."}


# People at the seats of models.


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_three_people_may_sit_in_one_group_and_each_answers_a_question_of_their_own(how: str) -> None:
    graph = build_stage(DIAGNOSIS).compile(checkpointer=InMemorySaver(serde=serializer()))
    options: Any = {
        "config": {"configurable": {"thread_id": "1"}},
        "context": {"retrieval": False, "discussion_rounds": 1, "feedback": "off", "models": {"general": "human"}},
    }

    async def go(given: Any) -> Any:
        return graph.invoke(given, **options) if how == "invoke" else await graph.ainvoke(given, **options)

    await go(findings())
    questions = graph.get_state(options["config"]).interrupts
    seats = sorted(question.value["messages"][1]["content"].split("You are doctor ")[1][0] for question in questions)
    assert seats == ["1", "2", "3"]
    answers = {}
    for question in questions:
        seat = question.value["messages"][1]["content"].split("You are doctor ")[1][0]
        name = "Asthma" if seat == "2" else "Bronchitis"
        answers[question.id] = {"reasoning": f"reason {seat}", "decision": {"names": [name], "basis": ""}}
    result = await go(Command(resume=answers))
    assert result["diagnosis"].names == ["Bronchitis"]
    spoken = {call.id[-1]: call.answer["decision"]["names"] for call in calls(result, "general")}
    assert spoken == {"1": ["Bronchitis"], "2": ["Asthma"], "3": ["Bronchitis"]}


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_person_may_sit_deep_in_the_workflow_and_the_case_goes_on_where_it_stopped(how: str) -> None:
    graph = builder.compile(checkpointer=InMemorySaver(serde=serializer()))
    context = {**QUICK, "models": {"patient": "human", "treatment.general": "human"}, "max_turns": 3}
    options: Any = {"config": {"configurable": {"thread_id": "1"}}, "context": context}

    async def go(given: Any) -> Any:
        return graph.invoke(given, **options) if how == "invoke" else await graph.ainvoke(given, **options)

    result = await go({"case": CASE})
    asked = []
    while "__interrupt__" in result:
        [question] = result["__interrupt__"]
        asked.append((question.value["role"], question.value["stage"]))
        answer: Any = {"text": f"Reply {len(asked)}."}
        if question.value["role"] == "general":
            answer = json.dumps({"reasoning": "", "decision": {"items": ["Surgery"], "plan": "Drain it."}})
        result = await go(Command(resume=answer))
    assert asked == [("patient", "history_taking")] * 2 + [("general", "treatment")]
    assert [turn.text for turn in result["dialogue"] if turn.speaker == "patient"] == ["Reply 1.", "Reply 2."]
    assert (result["treatment"].items, result["treatment"].plan) == (["Surgery"], "Drain it.")
    assert len({call.id for call in calls(result)}) == len(calls(result))
    assert sum(call.model == "human" for call in calls(result)) == 3


@pytest.mark.parametrize(("began", "taken_to"), [("group", "single"), ("medagents", "group")])
def test_a_thread_is_not_taken_to_the_graph_of_another_strategy(began: str, taken_to: str) -> None:
    saver = InMemorySaver(serde=serializer())
    config: Any = {"configurable": {"thread_id": "1"}}
    first = build_clinical_workflow(began).compile(checkpointer=saver, interrupt_before=["diagnosis"])
    first.invoke({"case": CASE}, config, context=QUICK)
    other = build_clinical_workflow(taken_to).compile(checkpointer=saver)
    with pytest.raises(ValueError, match=f"this graph was built for '{taken_to}'; for '{began}', use wardround.build"):
        other.invoke(None, config, context=QUICK)
    assert build_clinical_workflow(began).compile(checkpointer=saver).invoke(None, config, context=QUICK)["follow_up"]


@pytest.mark.parametrize("strategy", ["dispute", 5, None])
def test_a_strategy_that_is_none_is_refused_as_such(strategy: object) -> None:
    with pytest.raises(ValidationError, match=f"unknown strategy '{strategy}'"):
        clinical_workflow.invoke({"case": CASE}, context={"strategy": strategy})


# What a run looks like from outside.


def test_a_memory_that_grows_in_order_wants_the_cases_position() -> None:
    """Without one, every case was remembered and none was ever recalled."""
    with pytest.raises(ValueError, match="grow = 'in_order' needs `position`"):
        run(grow="in_order")


def test_every_stage_is_recorded_with_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "general", ordering("CT"))
    result = run(feedback="downstream")
    recorded = {record.stage.split(":")[0] for record in result["decisions"]}
    assert recorded == set(STAGES)
    assert result["follow_up"].ended == {record.stage: record.ended for record in result["decisions"]}


def test_the_follow_up_record_tells_the_course_as_it_was_found_and_never_as_verified() -> None:
    result = run(PERSON)
    course = result["follow_up"].course
    assert (course.id, course.verified) == (PERSON.id, False)
    assert course.diagnosis == result["diagnosis"].names and course.treatment_items == result["treatment"].items
    assert {**course.physical_examination, **course.auxiliary_examination} == result["results"]
    assert "It began in spring." in course.history and "quinsy" in course.history
    assert result["follow_up"].dialogue == result["dialogue"]
