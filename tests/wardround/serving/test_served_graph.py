"""What LangGraph's server is given for each graph: inputs are checked, and begin a course of their own."""

import re
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Send

from cases import Case, load_cases, save_cases
from graphs.catalogue import served
from graphs.state_types import NotStartedError, types_of
from llm.errors import ModelError
from nodes.workflow.case_lookup import UnknownCaseError
from tests.support.fake_server import FakeServer
from wardround.serving.served_graph import ServedGraph, check_context, input_of

CASE = next(case for case in load_cases() if case.id == "surgery-03").model_dump(mode="json")
SHORT = {"retrieval": False, "max_turns": 2, "interns": 2, "max_rounds": 1, "general_agents": 1, "feedback": "off"}


def graph_of(name: str) -> ServedGraph:
    graph = served()[name].build()
    schema: Any = graph.context_schema
    return ServedGraph.of(graph, schema).copy({"checkpointer": InMemorySaver()})


async def played(graph: ServedGraph, given: Any, thread: str = "one") -> dict[str, Any]:
    schema: Any = graph.context_schema
    context = {name: value for name, value in SHORT.items() if name in schema.model_fields}
    config: Any = {"configurable": {"thread_id": thread}}
    steps = [state async for state in graph.astream(given, config, context=context, stream_mode="values")]
    return {name: value for name, value in steps[-1].items() if name != "trace"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["consultation", "dispute_resolution", "reconstruction", "stage_diagnosis"])
async def test_a_second_case_on_a_thread_is_played_as_on_a_thread_of_its_own(name: str) -> None:
    graph = graph_of(name)
    await played(graph, {"case_id": "surgery-01"})
    assert await played(graph, {"case_id": "surgery-03"}) == await played(graph, {"case_id": "surgery-03"}, "another")
    history = [state async for state in graph.aget_state_history({"configurable": {"thread_id": "one"}})]
    assert {state.values.get("case_id") for state in history} >= {"surgery-01", "surgery-03"}


async def test_an_id_is_not_passed_over_for_a_whole_case_of_an_earlier_run() -> None:
    graph = graph_of("one_step")
    await played(graph, {"case": CASE})
    assert (await played(graph, {"case_id": "surgery-01"}))["case_id"] == "surgery-01"


async def test_a_patient_goes_on_with_its_dialogue_until_another_is_named() -> None:
    graph = graph_of("patient_medchain")
    words = {"words": "Where does it hurt?"}
    await played(graph, {"case_id": "surgery-01", **words})
    for given in (words, {"case_id": "surgery-01", **words}):
        longer = await played(graph, given)
    assert [turn.speaker for turn in longer["dialogue"]] == ["doctor", "patient"] * 3
    other = await played(graph, {"case_id": "surgery-03", **words})
    assert other == await played(graph, {"case_id": "surgery-03", **words}, "another")


async def test_a_patient_goes_on_without_a_context_with_a_case_of_another_source(tmp_path: Path) -> None:
    mine = Case.model_validate(CASE).model_copy(update={"id": "mine-1"})
    save_cases([mine], tmp_path / "mine.jsonl")
    graph, config = graph_of("patient_medchain"), {"configurable": {"thread_id": "one"}}
    given = {"case_id": "mine-1", "words": "Where does it hurt?"}
    context = {"case_source": str(tmp_path / "mine.jsonl")}
    for options in ({"context": context}, {}):
        steps = [state async for state in graph.astream(given, config, stream_mode="values", **options)]
    assert [turn.speaker for turn in steps[-1]["dialogue"]] == ["doctor", "patient"] * 2


async def test_an_unknown_case_ends_no_dialogue() -> None:
    graph = graph_of("patient_medchain")
    words = {"words": "Where does it hurt?"}
    await played(graph, {"case_id": "surgery-01", **words})
    with pytest.raises(UnknownCaseError, match="no case 'surgery-99'"):
        await played(graph, {"case_id": "surgery-99", **words})
    assert [turn.speaker for turn in (await played(graph, words))["dialogue"]] == ["doctor", "patient"] * 2


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (Command(), {}, "command: expected `resume`, `update` or `goto`"),
        (Command(goto="diagnose"), {}, "command.goto: 'Clinical workflow' has no node 'diagnose': did you mean"),
        (Command(goto=Send("diagnose", {})), {}, "command.goto: 'Clinical workflow' has no node 'diagnose'"),
        ({"case_id": "surgery-01"}, {"interrupt_before": ["diagnose"]}, "interrupt_before: 'Clinical workflow' has no"),
        ({"case_id": "surgery-01"}, {"interrupt_after": ["diagnose"]}, "interrupt_after: 'Clinical workflow' has no"),
        (None, {}, "this thread has no checkpoint '1f1eb149-fe2e-66ee-8006-d959faca3be7'"),
    ],
)
async def test_a_step_that_is_not_there_is_refused_where_nothing_would_be_done(
    given: Any, options: dict[str, Any], said: str
) -> None:
    graph = graph_of("clinical_workflow")
    config: Any = {"configurable": {"thread_id": "one"}}
    async for _ in graph.astream({"case_id": "surgery-01"}, config, context=SHORT, interrupt_before=["diagnosis"]):
        pass
    if given is None:
        config = {"configurable": {"thread_id": "one", "checkpoint_id": "1f1eb149-fe2e-66ee-8006-d959faca3be7"}}
    with pytest.raises(NotStartedError, match=re.escape(said)):
        async for _ in graph.astream(given, config, context=SHORT, **options):
            pass
    assert (await graph.aget_state({"configurable": {"thread_id": "one"}})).next == ("diagnosis",)


async def test_an_empty_thread_has_nothing_to_go_on_from() -> None:
    with pytest.raises(
        NotStartedError, match="no earlier state to continue from; 'One-step diagnosis' starts from case_id, case"
    ):
        await played(graph_of("one_step"), None)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("one_step", "surgery-03", "expected an object with fields, not 'surgery-03'; 'g' starts from case_id, case"),
        ("one_step", ["surgery-03"], "expected an object with fields"),
        ("one_step", {"case_ID": "surgery-03"}, "'case_ID' is not a field of it; 'g' starts from case_id, case"),
        ("one_step", {"case_id": "surgery-03", "words": "Hello"}, "'words' is not a field of it"),
        ("one_step", {"case_id": 3}, "case_id: Input should be a valid string"),
        ("one_step", CASE, 'these are the fields of a case; pass it as {"case": ...}'),
        ("one_step", {"case": "surgery-03"}, "case: expected an object with id, patient, provenance, not 'surgery-03'"),
        ("one_step", {"case": {**CASE, "patient": 5}}, "case.patient: expected an object"),
        ("one_step", {"case": {**CASE, "id": ""}}, "case.id: "),
        ("one_step", {"case": {**CASE, "keey": {}}}, "case.keey: unknown field: did you mean 'key'?"),
        ("one_step", {"case_id": "surgery-01", "case": CASE}, "'surgery-01' and case 'surgery-03' are different cases"),
        ("reconstruction", {"note": "A man with a cough."}, "note: expected an object with id, text"),
        ("patient_saps", {"case_id": "surgery-03", "words": 5}, "words: Input should be a valid string"),
        ("patient_saps", {"dialogue": [{"speaker": "nurse", "text": "Hello"}]}, "dialogue.0.speaker: "),
        ("clini_eval", {"dialogue": []}, "dialogue: expected an object with id, messages, not []"),
    ],
)
def test_an_input_that_nothing_starts_from_is_refused_by_its_field(name: str, given: Any, said: str) -> None:
    with pytest.raises(NotStartedError, match=re.escape(said)) as refused:
        input_of(given, types_of(graph_of(name).builder.input_schema), "g")
    assert "\n" not in str(refused.value) and "pydantic" not in str(refused.value)


@pytest.mark.parametrize("empty", [None, "", {}])
def test_a_field_that_a_form_left_empty_is_not_there(empty: Any) -> None:
    given = {"case": empty, "case_id": "surgery-03"}
    assert input_of(given, types_of(graph_of("one_step").builder.input_schema), "g") == {"case_id": "surgery-03"}


async def test_an_edit_of_a_state_is_refused_by_its_field() -> None:
    graph = graph_of("one_step")
    await played(graph, {"case_id": "surgery-01"})
    config: Any = {"configurable": {"thread_id": "one"}}
    for edit, said in (
        ({"result": []}, "state: 'result' is not a field of it: did you mean 'results'?"),
        ({"results": "x"}, "state: results: Input should be an object"),
        ({"report": None}, "state: report: expected an object with "),
        ({"trace": None}, "state: trace: expected an object with calls, events, not None"),
    ):
        with pytest.raises(NotStartedError, match=re.escape(said)):
            await graph.aupdate_state(config, edit)
        with pytest.raises(NotStartedError, match=re.escape(said)):
            await played(graph, Command(update=edit))


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (
            {"retreival": False},
            "'retreival' is not a setting of the graph 'clinical_workflow': did you mean 'retrieval'?",
        ),
        ({"general_agents": "many"}, "general_agents: Input should be a valid integer"),
        ({"model": "x"}, "model: Input should be a valid dictionary"),
        ({"models": "offline", "model": {"a": {"spec": "offline"}}}, "models: Input should be a valid dictionary"),
        ({"model": {"a": 5}}, "model.a: "),
        ({"models": {"doktor": "offline"}}, "context: models: unknown role 'doktor'"),
        ({"epoch": 3}, "'epoch' is not a setting of 'g' on a server"),
    ],
)
def test_a_context_is_refused_by_its_setting_before_a_server_drops_what_is_in_no_form(
    context: dict[str, Any], said: str
) -> None:
    graph = graph_of("clinical_workflow")
    schema: Any = graph.context_schema
    offered = schema.model_json_schema()["properties"]
    check_context({"retrieval": False}, schema, offered, "g")
    with pytest.raises(NotStartedError, match=re.escape(said)) as refused:
        check_context(context, schema, offered, "g")
    assert "\n" not in str(refused.value)


async def test_a_turn_is_bound_to_what_a_doctor_says_at_a_time() -> None:
    with pytest.raises(ValueError, match=r"words: 19,999 characters .* send at most 10,000"):
        await played(graph_of("patient_saps"), {"case_id": "surgery-03", "words": "Does it hurt? Yes?. " * 1000})


@pytest.mark.parametrize(
    ("step", "field"), [("diagnosis", "presentation"), ("further_examination", "examination_record")]
)
async def test_a_course_that_is_sent_too_far_ahead_is_told_what_its_state_lacks(step: str, field: str) -> None:
    graph = graph_of("clinical_workflow")
    config: Any = {"configurable": {"thread_id": "one"}}
    async for _ in graph.astream({"case_id": "surgery-01"}, config, context=SHORT, interrupt_before=["admit"]):
        pass
    with pytest.raises(NotStartedError, match=f"state: a step .* needs '{field}', which the state does not have yet"):
        async for _ in graph.astream(Command(goto=step), config, context=SHORT):
            pass


async def test_a_key_that_is_missing_in_code_stays_a_fault_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: Any) -> None:
        raise KeyError("presentation")

    monkeypatch.setattr("nodes.workflow.admission.in_played_sex", lacking)
    with pytest.raises(KeyError, match="presentation"):
        await played(graph_of("one_step"), {"case_id": "surgery-03"})


async def test_who_watches_a_run_that_no_model_answers_is_told_at_which_call() -> None:
    graph, config = graph_of("one_step"), {"configurable": {"thread_id": "one"}}
    context: Any = {"models": {"default": "openai:away@http://127.0.0.1:9/v1"}, "retrieval": False, "max_attempts": 1}
    with pytest.raises(ModelError) as failed:
        async for _ in graph.astream({"case_id": "surgery-03"}, config, context=context):
            pass
    said = str(failed.value)
    assert said.startswith("away: no answer after 1 request (") and said.endswith(" (at report/doctor)")


async def test_who_streams_custom_events_is_told_of_calls_and_of_a_server_that_is_waited_for() -> None:
    graph, config = graph_of("one_step"), {"configurable": {"thread_id": "one"}}
    with FakeServer(faults=["503"]) as server:
        context: Any = {"models": {"default": f"openai:any@{server.base_url}"}, "retrieval": False}
        parts = graph.astream({"case_id": "surgery-03"}, config, context=context, stream_mode="custom")
        told = [part async for part in parts]
    assert [event["event"] for event in told] == ["call_started", "request_failed", "call_ended"]
    assert [event.get("call", event.get("reason")) for event in told] == ["report/doctor", "HTTP 503", "report/doctor"]
