"""Graphs that a user compiles with a checkpointer, edits, forks, or builds into a graph of their own."""

import asyncio
import copy
import re
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langgraph._internal import _serde
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Overwrite
from pydantic import ValidationError
from typing_extensions import TypedDict

from cases import Case
from graphs import build_clinical_workflow, clinical_workflow, consultation, dispute_resolution
from graphs.catalogue import served
from graphs.contexts import ClinicalContext, ConsultationContext, OneStepContext
from graphs.one_stage import stage_by_itself
from graphs.patient_turn import build_patient_turn, patient_turn_of
from graphs.state_types import NotStartedError
from llm import AskError, ModelSettings
from nodes.state.decisions import Diagnosis
from tests.graphs.scripting import builtin
from tests.support.fake_server import FakeServer
from wardround.run.checkpoints import serializer

CASE = builtin("surgery-01")
QUICK: dict[str, Any] = {"retrieval": False, "general_agents": 1, "feedback": "off", "max_turns": 2}
TALK: dict[str, Any] = {"retrieval": False, "max_turns": 2}
HOW = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


def thread(name: str = "1") -> Any:
    return {"configurable": {"thread_id": name}}


def kept(builder: Any) -> Any:
    return builder.compile(checkpointer=InMemorySaver(serde=serializer()))


async def go(graph: Any, how: str, given: Any, config: Any, **options: Any) -> Any:
    if how == "invoke":
        return graph.invoke(given, config, **options)
    return await graph.ainvoke(given, config, **options)


def found(result: dict[str, Any]) -> dict[str, Any]:
    """All that a run found, and what was asked."""
    return {**result, "trace": sorted(call.id for call in result["trace"].calls)}  # seats side by side end as they will


# One thread, several courses.


@HOW
@pytest.mark.parametrize("builder", [build_clinical_workflow(), consultation.builder], ids=["workflow", "consultation"])
async def test_nothing_of_an_earlier_case_on_a_thread_is_left_in_a_second(builder: Any, how: str) -> None:
    graph, context = kept(builder), {"patient": "saps", **TALK}
    await go(graph, how, {"case_id": "dentistry-01"}, thread(), context=context)
    second = await go(graph, how, {"case": CASE}, thread(), context=context)
    assert found(second) == found(await go(graph, how, {"case": CASE}, thread("2"), context=context))
    assert {state.values.get("case_id") for state in graph.get_state_history(thread())} >= {"dentistry-01", CASE.id}


def test_a_compiled_graph_and_its_copies_know_the_types_of_its_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under LANGGRAPH_STRICT_MSGPACK a node of somebody's graph would get dicts from its own checkpoints otherwise."""
    monkeypatch.setattr(_serde, "STRICT_MSGPACK_ENABLED", True)
    graph: Any = build_clinical_workflow().compile().with_config(tags=["mine"])
    assert ("nodes.state.decisions", "Diagnosis") in graph._serde_allowlist


def test_the_serializer_takes_types_of_the_users_own_besides_ours() -> None:
    serde = serializer().with_msgpack_allowlist([Note])
    given = {"note": Note("x"), "case": CASE}
    assert serde.loads_typed(serde.dumps_typed(given)) == {**given, "case": CASE.model_copy(update={"folder": ""})}


def test_a_deep_copy_of_a_graph_runs() -> None:
    result = copy.deepcopy(clinical_workflow).invoke({"case_id": CASE.id}, context=QUICK)
    assert result["diagnosis"] == clinical_workflow.invoke({"case_id": CASE.id}, context=QUICK)["diagnosis"]


@HOW
async def test_a_patient_alone_goes_on_with_its_dialogue_until_another_is_named(how: str) -> None:
    graph, words = kept(build_patient_turn("medchain")), {"words": "Where does it hurt?"}
    for given in ({"case": CASE, **words}, words, {"case_id": CASE.id, **words}):
        result = await go(graph, how, given, thread())
    assert [turn.speaker for turn in result["dialogue"]] == ["doctor", "patient"] * 3
    with pytest.raises(ValueError, match="the input needs `words`"):
        await go(graph, how, {}, thread())  # the last words were said
    other = builtin("dentistry-01")
    of_one_name = CASE.model_copy(update={"id": other.id})
    for named in ({"case": other}, {"case": other.model_dump(mode="json") | {"examinations": {}}}):
        for case in (of_one_name, named["case"]):
            result = await go(graph, how, {"case": case, **words}, thread())
            assert len(result["dialogue"]) == 2 and result["case_id"] == other.id


# What goes on without a context.


@HOW
async def test_an_answer_without_a_context_goes_on_with_the_settings_of_the_run_that_asked(how: str) -> None:
    graph, context = kept(consultation.builder), {**TALK, "max_turns": 3, "models": {"doctor": "human"}}
    config = {**thread(), "metadata": {"patient": "saps", "settings_of": "mine"}}
    result = await go(graph, how, {"case": CASE}, config, context=context)
    for _ in range(3):
        assert [question.value["role"] for question in result["__interrupt__"]] == ["doctor"]
        result = await go(graph, how, Command(resume="Since when?"), thread())
    assert [turn.text for turn in result["dialogue"] if turn.speaker == "doctor"][:2] == ["Since when?"] * 2
    assert set(result["trace"].models["doctor"]) == {"human"}


@HOW
async def test_new_words_to_a_patient_without_a_context_go_to_the_model_of_the_dialogue(how: str) -> None:
    graph, words = kept(build_patient_turn("medchain")), {"words": "Where does it hurt?"}
    patient = FakeListChatModel(responses=['{"text": "In my flank."}', '{"text": "Since noon."}'])
    first = await go(graph, how, {"case": CASE, **words}, thread(), context={"models": {"patient": patient}})
    second = await go(graph, how, words, thread())
    assert [turn.text for turn in second["dialogue"]][1::2] == ["In my flank.", "Since noon."]
    assert set(second["trace"].models["patient"]) == set(first["trace"].models["patient"]) != {"offline"}
    other = await go(graph, how, {"case": builtin("dentistry-01"), **words}, thread())  # a new course
    assert set(other["trace"].models["patient"]) == {"offline"}


@HOW
@pytest.mark.parametrize("role", ["doctor", "history_taking.doctor"])
async def test_going_on_without_an_answer_asks_the_open_question_again(how: str, role: str) -> None:
    graph, context = kept(consultation.builder), {**TALK, "max_turns": 3, "models": {role: "human"}}
    await go(graph, how, {"case": CASE}, thread(), context=context)
    await go(graph, how, Command(resume="Where does it hurt?"), thread())
    for options in ({}, {"context": context}):
        await go(graph, how, None, thread(), **options)
        (task,) = graph.get_state(thread(), subgraphs=True).tasks
        assert [turn.text for turn in task.state.values["dialogue"]][::2] == ["Where does it hurt?"]
    await go(graph, how, Command(resume=""), thread())  # refused: asked again by the same node
    await go(graph, how, None, thread())
    await go(graph, how, Command(resume="Since when?"), thread())
    (task,) = graph.get_state(thread(), subgraphs=True).tasks
    assert [turn.text for turn in task.state.values["dialogue"]][::2] == ["Where does it hurt?", "Since when?"]


async def test_a_model_object_answers_also_after_a_fork_without_a_context() -> None:
    graph = kept(build_clinical_workflow())
    doctor = FakeListChatModel(responses=["Where does it hurt?"])
    context = {**QUICK, "plain_words": True, "models": {"history_taking.doctor": doctor}}
    await graph.ainvoke({"case": CASE}, thread(), context=context)
    before = next(state for state in graph.get_state_history(thread()) if state.next == ("history_taking",))
    again = await graph.ainvoke(None, before.config)
    assert {turn.text for turn in again["dialogue"] if turn.speaker == "doctor"} == {"Where does it hurt?"}
    other = await graph.ainvoke(None, before.config, context={**QUICK, "max_turns": 3})
    assert set(other["trace"].models["doctor"]) == {"offline"} and len(other["dialogue"]) > 2


@HOW
async def test_a_run_whose_server_failed_goes_on_from_the_last_finished_step_with_the_same_models(how: str) -> None:
    graph = kept(build_clinical_workflow())
    with FakeServer(faults=[None] * 4 + ["500"] * 99) as server:
        model = f"openai:fake-model@{server.base_url}"
        context = {**QUICK, "max_attempts": 2, "models": {"default": model, "patient": "offline"}}
        with pytest.raises(AskError) as failure:
            await go(graph, how, {"case": CASE}, thread(), context=context)
        error, before = failure.value, len(server.requests)
        server.faults = ()
        result = await go(graph, how, None, thread())
    assert error.reason == "model_error" and error.stage and error.call.startswith(error.stage)
    again = [request.messages for request in server.requests[before:]]
    first = [request.messages for request in server.requests[:3]]
    assert result["follow_up"] and again and not any(messages in again for messages in first)


@HOW
async def test_a_state_is_edited_where_an_edge_asks_for_the_settings(how: str) -> None:
    graph = kept(build_clinical_workflow())
    await go(graph, how, {"case": CASE}, thread(), context={**QUICK, "max_backtracks": 1})
    before = next(state for state in graph.get_state_history(thread()) if state.next == ("review",))
    edit: Any = {"reports": {"Ultrasound": "Stones."}}
    edited = (
        graph.update_state(before.config, edit) if how == "invoke" else await graph.aupdate_state(before.config, edit)
    )
    assert graph.get_state(edited).next == ("review",), "a backtrack is left by the settings of the edited run"
    result = await go(graph, how, None, edited)
    assert result["reports"]["Ultrasound"] == "Stones." and isinstance(result["diagnosis"], Diagnosis)


@HOW
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"diagnosis": "appendicitis"}, "diagnosis: expected an object with names, basis, not 'appendicitis'"),
        ({"dialogue": ["Where?"]}, "dialogue.0: expected an object"),
        ({"results": Overwrite({"Ultrasound": 3})}, "results.Ultrasound: "),
        ({"diagnossis": {}}, "'diagnossis' is not a field of it: did you mean 'diagnosis'?"),
    ],
)
async def test_an_edit_of_a_wrong_type_is_refused_by_its_field(how: str, edit: Any, said: str) -> None:
    graph = kept(build_clinical_workflow())
    await go(graph, how, {"case": CASE}, thread(), context=QUICK)
    with pytest.raises(NotStartedError, match=re.escape(said)):
        graph.update_state(thread(), edit) if how == "invoke" else await graph.aupdate_state(thread(), edit)
    with pytest.raises(NotStartedError, match=re.escape(said)):
        await go(graph, how, Command(update=edit), thread())


def test_an_edit_may_hold_objects_and_overwrite_what_is_collected() -> None:
    graph = kept(build_clinical_workflow())
    result = graph.invoke({"case": CASE}, thread(), context=QUICK)
    told = result["diagnosis"].model_copy(update={"basis": "Seen."})
    graph.update_state(thread(), {"diagnosis": told, "decisions": Overwrite([])})
    assert graph.get_state(thread()).values["diagnosis"].basis == "Seen."
    assert graph.get_state(thread()).values["decisions"] == []


# Contexts.


def test_the_context_of_another_graph_is_taken_as_far_as_the_graph_obeys_it() -> None:
    workflow: Any = clinical_workflow
    dialogue: Any = consultation
    assert len(workflow.invoke({"case": CASE}, context=ConsultationContext(**TALK))["dialogue"]) <= 4
    with pytest.raises(ValidationError, match="'feedback' is not a setting of the graph 'consultation'"):
        dialogue.invoke({"case": CASE}, context=ClinicalContext(feedback="off"))
    assert workflow.invoke({"case": CASE}, context=ModelSettings())["diagnosis"]
    for other, shown in (("offline", "'offline'"), (CASE.patient, r"PatientRecord\(")):
        with pytest.raises(ValueError, match=f"context: expected settings, such as .+, not {shown}"):
            workflow.invoke({"case": CASE}, context=other)


@HOW
async def test_a_misspelt_keyword_argument_is_refused_with_the_one_that_was_meant(how: str) -> None:
    with pytest.raises(TypeError, match="config: found OneStepContext; settings are given as context="):
        await go(clinical_workflow, how, {"case": CASE}, OneStepContext())
    with pytest.raises(TypeError, match="unexpected keyword argument 'contex': did you mean 'context'"):
        await go(clinical_workflow, how, {"case": CASE}, None, contex=QUICK)


@dataclass
class Note:
    text: str


class Ward(TypedDict, total=False):
    case: Case
    diagnosis: Diagnosis


def in_a_graph_of_the_users(node: Any, context_schema: Any) -> Any:
    return kept(StateGraph(Ward, context_schema=context_schema).add_node("ward", node).add_edge(START, "ward"))


@HOW
async def test_a_graph_is_a_node_of_the_users_graph_with_its_settings_or_is_refused_in_a_sentence(how: str) -> None:
    workflow: Any = clinical_workflow

    def ward(state: Ward) -> Any:
        return {"diagnosis": workflow.invoke({"case": state["case"]}, context=QUICK)["diagnosis"]}

    alone = workflow.invoke({"case": CASE}, context=QUICK)["diagnosis"]
    direct, called = in_a_graph_of_the_users(clinical_workflow, ClinicalContext), in_a_graph_of_the_users(ward, dict)
    assert (await go(direct, how, {"case": CASE}, thread(), context=QUICK))["diagnosis"] == alone
    assert (await go(called, how, {"case": CASE}, thread(), context={"user": "me"}))["diagnosis"] == alone
    with pytest.raises(ValueError, match=r"has a context of its own \(dict\).* run this one in a node function"):
        await go(
            in_a_graph_of_the_users(clinical_workflow, dict), how, {"case": CASE}, thread(), context={"user": "me"}
        )


@HOW
async def test_nothing_of_an_earlier_case_is_left_in_a_node_that_keeps_its_state(how: str) -> None:
    node = build_clinical_workflow().compile(checkpointer=True)
    graph, settings = in_a_graph_of_the_users(node, ClinicalContext), {**QUICK, "models": {"doctor": "human"}}

    async def diagnosed(case: Case, name: str) -> Diagnosis:
        result = await go(graph, how, {"case": case}, thread(name), context=settings)
        while "__interrupt__" in result:
            answer = Command(resume="Where does it hurt?")
            result = await go(graph, how, answer, thread(name), context=settings)
        return result["diagnosis"]

    await diagnosed(builtin("dentistry-01"), "1")
    assert await diagnosed(CASE, "1") == await diagnosed(CASE, "2")


@HOW
async def test_a_patient_in_a_node_that_keeps_its_state_goes_on_until_another_is_named(how: str) -> None:
    class Talk(TypedDict, total=False):
        case_id: str
        turns: int

    kept_patient = build_patient_turn("medchain").compile(checkpointer=True)

    async def patient(state: Talk) -> Talk:
        given = {"case_id": state["case_id"], "words": "Where does it hurt?"}
        return {"turns": len((await kept_patient.ainvoke(given))["dialogue"])}

    def patient_in_a_thread(state: Talk) -> Talk:
        given = {"case_id": state["case_id"], "words": "Where does it hurt?"}
        return {"turns": len(kept_patient.invoke(given)["dialogue"])}

    node = RunnableLambda(patient_in_a_thread, patient)
    graph = kept(StateGraph(Talk).add_node("patient", node).add_edge(START, "patient"))
    turns = [
        (await go(graph, how, {"case_id": case_id}, thread()))["turns"]
        for case_id in (CASE.id, CASE.id, "dentistry-01")
    ]
    assert turns == [2, 4, 2]


@HOW
@pytest.mark.parametrize(
    "graph", [stage_by_itself("diagnosis"), patient_turn_of("ai_hospital")], ids=["stage", "patient"]
)
async def test_a_graph_without_a_context_has_the_defaults_of_its_own(graph: Any, how: str) -> None:
    """A stage alone is given the reference of earlier ones; the workflow's stages are not."""
    given = {"case_id": CASE.id, "words": "How are you?"} if "words" in graph.channels else {"case_id": CASE.id}
    told = found(await go(graph, how, given, None, context={}))
    assert found(await go(graph, how, given, None)) == told
    around: Any = StateGraph(graph.builder.state_schema).add_node("inner", graph).add_edge(START, "inner").compile()
    inside = found(await go(around, how, given, None))
    assert {key: inside[key] for key in told} == told


@pytest.mark.parametrize(
    "graph", [stage_by_itself("examination"), dispute_resolution], ids=["stage", "dispute_resolution"]
)
async def test_a_graph_whose_events_are_watched_ends_as_one_that_is_not(graph: Any) -> None:
    """LangGraph hands on the whole state of a watched subgraph, which two reports side by side cannot both write."""
    given, context = {"case_id": "surgery-03"}, {"retrieval": False}
    alone = found(await graph.ainvoke(given, context=context))
    assert graph is dispute_resolution or len(alone["reports"]) > 1
    *_, last = [event async for event in graph.astream_events(given, context=context)]
    watched = found(last["data"]["output"])
    assert {key: watched[key] for key in alone} == alone


def test_runs_side_by_side_in_threads_of_one_checkpointer_keep_apart() -> None:
    graph = kept(consultation.builder)
    given = [({"case_id": f"surgery-0{number}"}, thread(str(number))) for number in (1, 3, 1, 3)]

    async def together() -> list[Any]:
        return await asyncio.gather(*(graph.ainvoke(each, config, context=TALK) for each, config in given))

    assert [each["case_id"] for each in asyncio.run(together())] == [each["case_id"] for each, _ in given]


@HOW
async def test_a_thread_that_a_chain_around_names_is_its_own_too(how: str) -> None:
    graph = kept(build_clinical_workflow())

    def call(given: Any) -> Any:
        return graph.invoke(given, context={"patient": "saps", **TALK})

    async def acall(given: Any) -> Any:
        return await graph.ainvoke(given, context={"patient": "saps", **TALK})

    chain = RunnableLambda(call, acall)
    await go(chain, how, {"case_id": "dentistry-01"}, thread())
    second = await go(chain, how, {"case": CASE}, thread())
    assert found(second) == found(await go(chain, how, {"case": CASE}, thread("2")))


def test_a_notebook_that_shows_a_graph_asks_no_web_service_to_draw_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a connection was opened"))
    shown = DisplayFormatter().format(clinical_workflow)[0]
    assert (
        set(shown) == {"text/plain", "text/vnd.mermaid"} and "referral --> history_taking" in shown["text/vnd.mermaid"]
    )


# Drawn.


@pytest.mark.parametrize(
    "name", ["clinical_workflow_medagents", "clinical_workflow_dispute_resolution", "patient_medpmc"]
)
async def test_a_graph_with_subgraphs_of_one_name_is_drawn_at_any_depth(name: str) -> None:
    graph = served()[name].build()
    drawn = graph.get_graph(xray=True).draw_mermaid()
    assert drawn == (await graph.aget_graph(xray=True)).draw_mermaid()
    boxes = [line.split()[1] for line in drawn.splitlines() if line.strip().startswith("subgraph ")]
    assert len(boxes) == len(set(boxes)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", served())
def test_input_output_and_settings_of_a_graph_and_of_those_within_it_can_be_shown_as_forms(name: str) -> None:
    graph = served()[name].build()
    for each in (graph, *(part for _, part in graph.get_subgraphs(recurse=True))):
        for schema in (each.get_input_jsonschema(), each.get_output_jsonschema(), each.get_context_jsonschema() or {}):
            assert schema["properties"], each.name


@pytest.mark.parametrize("name", served())
def test_a_setting_is_placed_at_nodes_of_its_own_graph(name: str) -> None:
    graph = served()[name].build()
    drawn = {*graph.get_graph().nodes, *(part for node in graph.get_graph(xray=True).nodes for part in node.split(":"))}
    fields = (graph.get_context_jsonschema() or {})["properties"]
    assert drawn >= {node for field in fields.values() for node in field.get("langgraph_nodes", ())}
