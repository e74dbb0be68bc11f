import asyncio
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from cases import Case, load_cases, save_cases
from graphs import clinical_workflow, reconstruction
from llm import AnswerError, Call
from nodes.state.decisions import AuxiliaryOrders, PhysicalOrders
from nodes.workflow.case_lookup import UnknownCaseError
from nodes.workflow.general_agent import Proposal, weigh_or_give_way
from retrieval import build_memory
from tests.graphs.scripting import (
    asked_of,
    builtin,
    calls,
    object_always,
    pictures_in,
    raw,
    script,
    seats,
    words,
)
from tests.support.canaries import KEY, planted_key
from tests.support.fake_server import ChatRequest, FakeServer

CASE = builtin("otolaryngology-01")  # of the test split; its CT is a picture
WORKFLOW: Any = clinical_workflow
STAGES = ["referral", "history_taking", "examination", "diagnosis", "treatment"]
DOCTORS = {"general", "summarizing", "feedback", "doctor", "extraction", "refiner", "reviewer"}


def run(case: Case = CASE, **context: Any) -> dict[str, Any]:
    result: dict[str, Any] = WORKFLOW.invoke({"case": case}, context=context)
    return result


def outcome(result: dict[str, Any]) -> dict[str, Any]:
    """All that a run found and decided; only times are left out."""
    plain = {key: value for key, value in result.items() if key != "trace"}
    return plain | {"asked": {call.id: (words(call), call.answer) for call in calls(result)}}


# From Python, as the README shows it.


@pytest.mark.slow
def test_the_snippet_of_the_readme_runs_a_built_in_case_offline() -> None:
    from cases import load_cases
    from graphs import clinical_workflow

    case = load_cases("builtin")[0]
    context: Any = {"models": {"default": "offline", "patient": "offline", "feedback": "offline"}}
    result = clinical_workflow.invoke({"case": case}, context=context)
    assert result["diagnosis"].names and all(isinstance(name, str) for name in result["diagnosis"].names)
    assert result["treatment"].items
    assert result["trace"].tokens == 0 and result["trace"].cost == 0
    assert result["trace"].models == {
        role: ["offline"] for role in sorted(DOCTORS - {"extraction", "reviewer"} | {"patient"})
    }


@pytest.mark.slow
def test_without_a_context_the_workflow_runs_under_its_defaults_which_are_offline() -> None:
    result: Any = clinical_workflow.invoke({"case": CASE})
    assert result["treatment"].items
    assert {call.model for call in calls(result)} == {"offline"}


def test_over_a_server_the_tokens_are_counted_and_without_a_price_the_cost_is_unknown() -> None:
    with FakeServer() as server:
        context: Any = {"retrieval": False, "general_agents": 1, "discussion_rounds": 1, "feedback": "off"}
        model = f"openai:any@{server.base_url}"
        result = run(models={"default": model}, **context)
        priced = run(models={"default": model}, prices={model: (1.0, 1.0)}, **context)
    assert len(server.requests) == 2 * len(calls(result))
    assert result["trace"].tokens > sum(len(words(call)) // 4 for call in calls(result))
    assert result["trace"].cost is None
    assert priced["trace"].cost == pytest.approx(priced["trace"].tokens / 1e6)


@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_the_stream_of_updates_shows_each_stage_as_it_ends(how: str) -> None:
    given: Any = {"case": CASE}
    if how == "stream":
        updates = list(clinical_workflow.stream(given, stream_mode="updates"))
    else:
        updates = [update async for update in clinical_workflow.astream(given, stream_mode="updates")]
    assert [name for update in updates for name in update] == ["admit", "refine", *STAGES, "follow_up"]
    by_stage: dict[str, Any] = {name: value for update in updates for name, value in update.items()}
    assert by_stage["referral"]["referral"].sub_departments
    assert by_stage["history_taking"]["dialogue"] and "auxiliary_orders" in by_stage["history_taking"]
    assert by_stage["diagnosis"]["diagnosis"].names and by_stage["treatment"]["treatment"].items


@pytest.mark.parametrize("watched", ["messages", "events"])
async def test_a_model_that_is_watched_answers_and_is_counted_as_one_that_is_not(watched: str) -> None:
    given: Any = {"case": CASE}
    with FakeServer() as server:
        context: Any = {"retrieval": False, "general_agents": 1, "feedback": "off", "max_turns": 2}
        context["models"] = {"default": f"openai:fake-model@{server.base_url}"}
        alone = await clinical_workflow.ainvoke(given, context=context)
        asked = [request.body for request in server.requests]
        if watched == "messages":
            options: Any = {"stream_mode": ["messages", "values"], "subgraphs": True}
            parts: list[Any] = [part async for part in clinical_workflow.astream(given, context=context, **options)]
            who = [part[1] for _, mode, part in parts if mode == "messages"]
            result = parts[-1][-1]
        else:
            events: list[Any] = [event async for event in clinical_workflow.astream_events(given, context=context)]
            who = [event["metadata"] for event in events if event["event"] == "on_chat_model_end"]
            result = events[-1]["data"]["output"]
        assert [request.body for request in server.requests[len(asked) :]] == asked
    assert outcome(result) == outcome(alone) and result["trace"].tokens == alone["trace"].tokens > 0
    assert len(who) == len(asked)
    assert {(one["role"], one["call"]) for one in who} == {(call.role, call.id) for call in result["trace"].calls}
    assert all(one["langgraph_node"] for one in who), "LangGraph's own are kept"


@pytest.mark.slow
async def test_sync_and_async_runs_inside_and_outside_a_loop_and_side_by_side_give_the_same() -> None:
    cases = [CASE, builtin("dentistry-06"), builtin("surgery-01")]
    alone = [outcome(await asyncio.to_thread(run, case)) for case in cases]
    assert [outcome(run(case)) for case in cases] == alone, "in the running loop"
    given: list[Any] = [{"case": case} for case in [*cases, *reversed(cases)]]
    together = await asyncio.gather(*(clinical_workflow.ainvoke(each) for each in given))
    assert [outcome(result) for result in together] == [*alone, *reversed(alone)]


@pytest.mark.slow
def test_a_case_may_be_given_by_its_id(tmp_path: Path) -> None:
    by_id: Any = clinical_workflow.invoke({"case_id": CASE.id})
    assert outcome(by_id)["diagnosis"] == run()["diagnosis"]
    assert by_id["case_id"] == CASE.id

    save_cases([builtin("surgery-05").model_copy(update={"id": "my-own"})], tmp_path / "mine.jsonl")
    context: Any = {"case_source": str(tmp_path / "mine.jsonl"), "retrieval": False, "general_agents": 1}
    own: Any = clinical_workflow.invoke({"case_id": "my-own"}, context=context)
    assert own["presentation"].chief_complaint == builtin("surgery-05").patient.chief_complaint


def test_an_unknown_case_id_is_an_error_that_names_close_ones() -> None:
    with pytest.raises(UnknownCaseError, match=r"'otolaringology-01'.*otolaryngology-01"):
        clinical_workflow.invoke({"case_id": "otolaringology-01"})
    with pytest.raises(UnknownCaseError, match="`case_id`"):
        clinical_workflow.invoke({})


@pytest.mark.parametrize("graph", [clinical_workflow, reconstruction], ids=["workflow", "reconstruction"])
def test_an_id_in_place_of_a_whole_case_is_an_error_that_says_where_it_belongs(graph: Any) -> None:
    with pytest.raises(ValueError, match="case: expected a whole Case, not 'surgery-03'; an id is given as `case_id`"):
        graph.invoke({"case": "surgery-03"})


def test_an_unknown_role_model_or_switch_is_an_error_before_the_first_call() -> None:
    with FakeServer() as server:
        good = f"openai:any@{server.base_url}"
        for wrong in (
            {"models": {"default": good, "surgeon": good}},
            {"models": {"default": good, "treatment.general": "opnai:gpt"}},
            {"models": {"default": good}, "feedback": "sideways"},
            {"models": {"default": good}, "general_agent": 3},
        ):
            with pytest.raises(ValueError):
                run(**wrong)
    assert server.requests == []


# The leak test: what is planted in the answer key must not come up in any message of any call; here by the switches
# of this workflow, in test_trust.py on every course that a case can take.

CANARY = f"{KEY}canary"


def planted(case: Case) -> Case:
    """The case with a canary in every free text of its answer key, so that it can be remembered."""
    return planted_key(case, closed=False)


def hummed(case: Case) -> Case:
    """An earlier case with a word of its own in its diagnosis."""
    return case.model_copy(update={"key": case.key.model_copy(update={"diagnosis": ["hummingbird disease"]})})


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A built memory that holds the planted case itself beside others of some departments."""
    folder = tmp_path_factory.mktemp("memory")
    departments = {CASE.key.department, "Surgery", "Internal Medicine"}
    others = [hummed(case) for case in load_cases() if case.key.department in departments and case.split == "train"]
    built = build_memory([planted(CASE), *others], folder)
    yield str(folder)
    built.close()


def orders_all(view: Any) -> Proposal[Any]:
    """General agents who order whatever there is."""
    if view.stage.decision in (PhysicalOrders, AuxiliaryOrders):
        return Proposal(decision=view.stage.decision(items=list(view.options.names)), reasoning="")
    return weigh_or_give_way(view)


SETTINGS: dict[str, Any] = {"max_backtracks": 1, "max_feedback_rounds": 1, "general_agents": 2, "discussion_rounds": 2}


@pytest.mark.parametrize("send_pictures", [True, False])
@pytest.mark.parametrize("orders", ["group", "dialogue"])
def test_offline_nothing_of_the_answer_key_comes_up_in_any_call(
    orders: str, send_pictures: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "general", orders_all)
    script(monkeypatch, "feedback", object_always)
    result = run(planted(CASE), retrieval=False, orders=orders, send_pictures=send_pictures, **SETTINGS)
    assert len(calls(result)) > 30
    assert not any(CANARY in call.model_dump_json() for call in calls(result))


@pytest.mark.slow
def test_offline_a_case_that_is_in_the_memory_itself_is_never_reminded_of_its_own_answers(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "feedback", object_always)
    result = run(planted(CASE), memory=memory, neighbours=10, **SETTINGS)
    assert not any(CANARY in call.model_dump_json() for call in calls(result))
    for role in ("doctor", "general", "feedback", "reviewer"):
        assert any("hummingbird" in words(call) for call in calls(result, role)), "the earlier cases are recalled"


@pytest.mark.slow
@pytest.mark.parametrize("retrieval", [False, True])
def test_over_a_server_nothing_of_the_answer_key_goes_over_the_wire(retrieval: bool, memory: str) -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | None:
        if request.model == "doctor":
            return {"text": "How is it?", "finished": len(asked_of(server, "doctor")) > 2}
        if request.model == "feedback":
            return {"accepted": False, "reason": "Think again."}
        if request.model == "reviewer":
            return {"items": ["CT", "Blood Test"], "reason": "Missing."}
        triage = {"urgency": "routine", "department": CASE.key.department}  # whose earlier cases the memory has
        return {"Triage": triage, "Revised_Triage": {"reply": "", "decision": triage}}.get(request.name)

    with FakeServer(answer=answer) as server:
        models = seats(server, refiner="offline")  # so that every description's embedding is shipped
        result = run(planted(CASE), retrieval=retrieval, memory=memory, models=models, **SETTINGS)
    assert {request.model for request in server.requests} == DOCTORS - {"refiner", "extraction"} | {"patient"}
    assert not any(CANARY in raw(request) for request in server.requests)
    assert not any(CANARY in call.model_dump_json() for call in calls(result))
    assert any("hummingbird" in raw(request) for request in server.requests) == retrieval


def test_the_same_word_in_the_patients_record_or_in_an_ordered_result_does_come_up() -> None:
    told = CASE.model_copy(
        update={"patient": CASE.patient.model_copy(update={"present_illness": f"It began with a {CANARY}."})}
    )
    result = run(told, retrieval=False, **SETTINGS)
    assert all(CANARY in words(call) for call in calls(result, "patient"))
    assert all(CANARY in words(call) for call in calls(result, stage="diagnosis"))
    assert not any(CANARY in words(call) for call in calls(result, stage="referral"))


def test_a_result_comes_up_where_it_was_ordered_and_nowhere_where_it_was_not(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = {item: f"{CANARY} {number}." for number, item in enumerate(CASE.examinations.auxiliary)}
    examinations = CASE.examinations.model_copy(update={"auxiliary": noted, "images": []})
    case = CASE.model_copy(update={"examinations": examinations})
    ordered, *others = noted

    def orders_one(view: Any) -> Proposal[Any]:
        if view.stage.decision is not AuxiliaryOrders:
            return weigh_or_give_way(view)
        return Proposal(decision=AuxiliaryOrders(items=[ordered]), reasoning="")

    script(monkeypatch, "general", orders_one)
    result = run(case, retrieval=False)
    assert all(noted[ordered] in words(call) for call in calls(result, stage="diagnosis"))
    assert not any(noted[ordered] in words(call) for call in calls(result, stage="history_taking"))
    assert not any(noted[item] in words(call) for item in others for call in calls(result))


def ungiven(case: Case, result: dict[str, Any]) -> list[str]:
    """The doctor-side calls that hold a diagnosis of the key which nobody had given before.

    Given is what the patient said, what the examiner released and what earlier cases tell.
    """
    given = case.patient.chief_complaint
    found = []
    for call in calls(result):
        text = words(call)
        if call.stage in ("examination", "diagnosis", "treatment"):
            given += "\n".join(result["results"].values())
        given += "\n".join(re.findall(r'<data name="(?:earlier cases|其他患者).*?</data>', text, re.DOTALL))
        if call.role in DOCTORS and any(
            name.casefold() in text.casefold() and name.casefold() not in given.casefold()
            for name in case.key.diagnosis
        ):
            found.append(call.id)
        if call.role == "patient":
            given += f"\n{call.answer['text']}"
    return found


BUILT_IN = [
    "dentistry-06",
    "emergency-medicine-01",
    "internal-medicine-01",
    "oncology-06",
    "surgery-01",
    "psychiatry-02",
]


@pytest.mark.slow
@pytest.mark.parametrize(("case_id", "retrieval"), list(zip(BUILT_IN, cycle([False, True]), strict=False)))
def test_no_doctor_reads_a_diagnosis_of_the_key_that_patient_examiner_or_an_earlier_case_had_not_given(
    case_id: str, retrieval: bool
) -> None:
    case = builtin(case_id)
    assert case.split == "test" and case.key.diagnosis
    result = run(case, retrieval=retrieval)
    assert ungiven(case, result) == []


def test_that_search_finds_the_diagnosis_where_the_reference_is_handed_out_on_purpose() -> None:
    case = builtin("surgery-01")
    found = ungiven(case, run(case, retrieval=False, sequential=False))
    assert "treatment" in {call_id.split("/")[0] for call_id in found}


def test_the_id_of_a_case_which_may_tell_its_department_comes_up_in_no_prompt() -> None:
    case = CASE.model_copy(update={"id": "gynaecology-case-7"})
    assert not any("gynaecology-case-7" in words(call) for call in calls(run(case, retrieval=False)))


# Where the peers fail. The others are where they belong: 5 (disputes, turns) in graphs/test_dispute_resolution.py,
# 6 (blank and untrimmed items) in scoring/metrics/test_set_overlap.py and scoring/medchain/test_judges.py, 8 (nothing
# is skipped) in wardround/analysis/test_summary.py, 10 (keys within reach, no fence) above and in
# prompts/test_fences.py; 9 on a server that lists its models in wardround/run/test_runner.py too.


@pytest.mark.slow
@pytest.mark.parametrize("reply", ["不正确", "正确", "Yes.", "incorrect", "I accept it: accepted = true"])
def test_peers_1_a_verdict_in_free_words_is_an_error_and_never_taken_for_acceptance(reply: str) -> None:
    with (
        FakeServer(answer=lambda request: reply, supports={"text"}) as server,
        pytest.raises(AnswerError) as caught,
    ):
        run(retrieval=False, models={"feedback": f"openai:feedback@{server.base_url}"}, general_agents=1)
    assert caught.value.reason == "unparseable_answer"


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["正确", "Yes, correct, accepted, agreed.", ""])
def test_peers_1_an_objection_stays_an_objection_whatever_its_reason_says(reason: str) -> None:
    with FakeServer(answer=lambda request: {"accepted": False, "reason": reason}) as server:
        models = {"feedback": f"openai:feedback@{server.base_url}"}
        result = run(retrieval=False, models=models, general_agents=1, max_feedback_rounds=0)
    assert {record.ended for record in result["decisions"]} == {"exhausted"}


def test_peers_2_referral_knows_only_the_complaint_and_diagnosis_only_what_was_asked_and_ordered() -> None:
    case = builtin("surgery-01")
    result = run(case, retrieval=False)
    told = [turn.text for turn in result["dialogue"] if turn.speaker == "patient"]
    assert told
    for call in calls(result, stage="referral"):
        assert case.patient.chief_complaint in words(call)
        assert not any(text in words(call) for text in (case.patient.present_illness, *told))
    unordered = set(case.examinations.results) - {*result["physical_orders"], *result["auxiliary_orders"]}
    assert unordered and result["results"]
    for call in calls(result, stage="diagnosis"):
        assert all(text in words(call) for text in (*told, *result["results"].values()))
        assert not any(case.examinations.results[item] in words(call) for item in unordered)


def test_peers_2_what_a_stage_decides_is_what_the_next_one_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_scripted(view: Any) -> Proposal[Any]:
        proposal = weigh_or_give_way(view)
        if view.stage.name != "diagnosis":
            return proposal
        names = {"names": ["A disease of our own"], "basis": "A basis of our own."}
        return Proposal(decision=view.stage.decision.model_validate(names), reasoning="")

    script(monkeypatch, "general", as_scripted)
    result = run(retrieval=False)
    for call in calls(result, stage="treatment"):
        assert "A disease of our own" in words(call) and "A basis of our own." in words(call)
        assert not any(name in words(call) for name in CASE.key.diagnosis)


def test_peers_3_retrieval_that_is_off_is_off_in_checks_revisions_and_reviews_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a memory was opened")

    monkeypatch.setattr("nodes.workflow.case_retrieval.open_memory", refuse)
    script(monkeypatch, "feedback", object_always)
    result = run(retrieval=False, **SETTINGS)
    assert calls(result, "refiner") == [] and calls(result, "reviewer") and len(calls(result, "feedback")) > 20
    assert not any("earlier case" in words(call).lower() for call in calls(result))


def test_peers_4_every_final_answer_was_judged_by_later_physicians_or_is_marked_as_not_agreed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script(monkeypatch, "general", orders_all)
    script(monkeypatch, "feedback", object_always)
    result = run(retrieval=False, max_feedback_rounds=1, general_agents=1)
    course = ["referral", "history_taking", "examination", "diagnosis", "treatment", "follow_up"]
    assert {record.stage.split(".")[0].split(":")[0] for record in result["decisions"]} == set(STAGES)
    for record in result["decisions"]:
        place = course.index(re.split(r"[.:]", record.stage)[0])
        assert record.ended == "exhausted" and len(record.rounds) == 2
        for round_ in record.rounds:
            assert {item.judge for item in round_.judgements} <= set(course[place + 1 :]) and round_.judgements
    handed_on = {record.stage: record.rounds[-1].decision for record in result["decisions"]}
    assert handed_on["diagnosis"]["names"] == result["diagnosis"].names
    assert handed_on["treatment"]["items"] == result["treatment"].items


@pytest.mark.slow
def test_peers_7_an_ordered_picture_reaches_every_model_that_reports_on_it_and_no_other() -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | None:
        orders = {"items": ["CT"]}
        if "AuxiliaryOrders" in request.name:
            return orders if request.model == "summarizing" else {"reasoning": "", "decision": orders}
        return None

    with FakeServer(answer=answer) as server:
        result = run(retrieval=False, models=seats(server), general_agents=2, discussion_rounds=1)
    assert [picture.item for picture in result["pictures"]] == ["CT"] and set(result["reports"]) == {"CT"}
    with_picture = [request.model for request in server.requests if pictures_in(request)]
    assert sorted(with_picture) == sorted(call.role for call in calls(result, stage="examination"))
    assert set(with_picture) == {"general", "summarizing", "feedback"}
    described = [request for request in server.requests if CASE.examinations.results["CT"] in request.text]
    assert described == [], "where the picture is sent, its written findings are not"


@pytest.mark.parametrize("unknown", ["gpt-4", "opnai:gpt-4o", "openai:", "hf:nowhere", "offlin"])
def test_peers_9_an_unknown_model_is_an_error_before_the_first_call_and_no_other_takes_its_place(unknown: str) -> None:
    with FakeServer() as server:
        with pytest.raises(ValueError, match=r"models\.treatment\.general"):
            run(retrieval=False, models={"default": f"openai:any@{server.base_url}", "treatment.general": unknown})
        assert server.requests == []


def test_peers_11_fewer_than_three_neighbours_leave_no_place_for_those_that_are_missing(tmp_path: Path) -> None:
    earlier = next(case for case in load_cases() if case.split == "train" and case.key.department == "Otolaryngology")
    build_memory([earlier], tmp_path / "memory").close()
    result = run(memory=str(tmp_path / "memory"), feedback="off")
    block = re.compile('<data name="earlier cases, other patients">(.*?)</data>', re.DOTALL)
    shown = [found for call in calls(result) for found in block.findall(words(call))]
    assert len(shown) > 10
    for text in shown:
        assert re.findall(r"^[0-9]+\.", text, re.MULTILINE) == ["1."] and not re.search(r"[{}]|\bNone\b", text)


def test_where_no_pictures_are_sent_their_written_findings_are_reported_instead() -> None:
    result = run(retrieval=False, send_pictures=False, sequential=False)
    described = CASE.examinations.results["CT"]
    assert all(described in words(call) for call in calls(result, stage="examination"))
    assert calls(result, stage="examination")
    assert not any("image" in message for call in calls(result) for message in call.messages or [])


def test_a_call_says_who_was_asked_with_which_prompt_and_what_came_back() -> None:
    call: Call = calls(run(retrieval=False), "general", "treatment", "seat1")[0]  # of three at once
    assert (call.id, call.model, call.prompt) == (
        "treatment/general/discussion0/seat1",
        "offline",
        "en/medchain/general",
    )
    assert call.prompt_hash and call.answer["decision"]["items"] and call.error is None
