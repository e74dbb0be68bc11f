import asyncio
import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import TypedDict

from cases.registry import GivenError, RegistryError
from llm import Trace, ask, merge_traces
from nodes.context import Context
from nodes.node import Node, node
from nodes.workflow.case_retrieval import WordsView, refiner
from wardround.run.checkpoints import serializer


class Words(TypedDict, total=False):
    words: str


class Secretive(Words, total=False):
    secret: str
    seen: list[str]
    description: str
    trace: Annotated[Trace, merge_traces]


class OddError(Exception):
    pass


@node
async def condense(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
    words = WordsView(words=view["words"], language="en")
    answer = await ask(refiner, words, runtime.context, language="en", place=view["words"])
    return {"description": answer.symptoms, "seen": sorted(view)}


@node
async def fail(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
    await asyncio.sleep(0)
    raise OddError(view["words"])


def graph_of(*nodes: Node, checkpointer: InMemorySaver | None = None) -> Any:
    """The nodes one after the other."""
    builder = StateGraph(Secretive, context_schema=Context)
    before = START
    for number, each in enumerate(nodes):
        builder.add_node(f"{each.name}{number}", each)
        builder.add_edge(before, f"{each.name}{number}")
        before = f"{each.name}{number}"
    builder.add_edge(before, END)
    return builder.compile(checkpointer=checkpointer)


GIVEN = {"words": "A cough for two weeks.", "secret": "the answer key"}
FOUND = "A cough for two weeks"


async def run(graph: Any, how: str, given: Any, **options: Any) -> Any:
    """The final state, reached in one of the four ways."""
    if how == "invoke":
        return graph.invoke(given, **options)
    if how == "ainvoke":
        return await graph.ainvoke(given, **options)
    if how == "stream":
        return list(graph.stream(given, stream_mode="values", **options))[-1]
    return [state async for state in graph.astream(given, stream_mode="values", **options)][-1]


WAYS = pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])


@WAYS
async def test_a_graph_of_nodes_runs_in_each_of_the_four_ways_inside_a_running_loop(how: str) -> None:
    result = await run(graph_of(condense), how, GIVEN)
    assert result["description"] == FOUND
    assert [call.role for call in result["trace"].calls] == ["refiner"]


@pytest.mark.parametrize("way", ["invoke", "stream"])
def test_a_graph_of_nodes_runs_where_no_loop_is_running(way: str) -> None:
    graph = graph_of(condense)
    result = graph.invoke(GIVEN) if way == "invoke" else list(graph.stream(GIVEN, stream_mode="values"))[-1]
    assert result["description"] == FOUND


def test_a_graph_can_be_run_under_one_event_loop_after_another() -> None:
    graph = graph_of(condense)
    for _ in range(3):
        assert asyncio.run(graph.ainvoke(GIVEN))["description"] == FOUND


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_graph_runs_in_a_forked_process_whose_parent_has_run_one() -> None:
    """As in a pool of `multiprocessing`, which forks on Linux: the parent's loop has no thread there."""
    assert graph_of(condense).invoke(GIVEN)["description"]
    forked = get_context("fork").Process(target=graph_of(condense).invoke, args=(GIVEN,))
    forked.start()
    try:
        forked.join(60)
        assert forked.exitcode == 0
    finally:
        forked.kill()


@pytest.mark.skipif(os.name == "nt", reason="this system sends no SIGINT to a process")
def test_who_interrupts_a_graph_has_no_more_models_asked() -> None:
    """The coroutine of the interrupted node went on in the background, with calls that nobody waited for."""
    ended = threading.Event()
    went_on = []

    @node
    async def patient(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()  # once the caller waits
        try:
            await asyncio.sleep(20)
            went_on.append("asked again")
        finally:
            ended.set()
        return {}

    with pytest.raises(KeyboardInterrupt):
        graph_of(patient).invoke(GIVEN)
    assert ended.wait(10) and not went_on


def test_several_threads_may_invoke_one_graph_and_none_sees_the_calls_of_another() -> None:
    graph = graph_of(condense)
    texts = [f"Complaint {number}" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda text: graph.invoke({"words": text}), texts))
    assert [result["description"] for result in results] == texts
    assert [[call.id for call in result["trace"].calls] for result in results] == [
        [f"memory/refiner/{text}"] for text in texts
    ]


async def test_several_tasks_may_invoke_one_graph_and_none_sees_the_calls_of_another() -> None:
    graph = graph_of(condense)
    texts = [f"Complaint {number}" for number in range(12)]
    results = await asyncio.gather(*(graph.ainvoke({"words": text}) for text in texts))
    assert [[call.id for call in result["trace"].calls] for result in results] == [
        [f"memory/refiner/{text}"] for text in texts
    ]


@WAYS
async def test_an_exception_of_a_node_reaches_the_caller_as_it_was_raised(how: str) -> None:
    with pytest.raises(OddError) as caught:
        await run(graph_of(fail), how, GIVEN)
    assert caught.value.args == (GIVEN["words"],)
    assert any(entry.name == "fail" for entry in caught.traceback), "the traceback leads into the node"


@WAYS
async def test_a_node_receives_only_the_keys_of_the_view_that_it_declares(how: str) -> None:
    assert (await run(graph_of(condense), how, GIVEN))["seen"] == ["words"]


def test_a_node_bound_to_a_stage_still_declares_its_view() -> None:
    @node
    async def staged(view: Words, runtime: Runtime[Context], stage: str) -> dict[str, Any]:
        return {"seen": sorted(view), "description": stage}

    result = graph_of(staged.at(stage="diagnosis")).invoke(GIVEN)
    assert (result["seen"], result["description"]) == (["words"], "diagnosis")


def test_a_graph_invoked_without_a_context_runs_under_the_defaults() -> None:
    @node
    async def tell(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        return {"description": repr(runtime.context)}

    assert graph_of(tell).invoke(GIVEN)["description"] == repr(Context())


def test_a_node_that_asks_nobody_leaves_no_trace() -> None:
    @node
    async def silent(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        return {"description": "nothing"}

    assert "trace" not in silent_update(graph_of(silent))


def silent_update(graph: Any) -> dict[str, Any]:
    update: dict[str, Any] = next(graph.stream(GIVEN, stream_mode="updates"))
    return dict(next(iter(update.values())))


def test_the_calls_of_all_nodes_stand_in_the_trace_in_the_order_they_were_made() -> None:
    @node
    async def twice(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        for place in ("second", "third"):
            await ask(refiner, WordsView("pain", "en"), runtime.context, language="en", place=place)
        return {}

    trace = graph_of(condense, twice).invoke(GIVEN)["trace"]
    assert [call.id.split("/")[-1] for call in trace.calls] == ["A cough for two weeks.", "second", "third"]


def test_calls_made_by_tasks_that_a_node_starts_stand_in_its_trace() -> None:
    @node
    async def both(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        words = WordsView("pain", "en")
        await asyncio.gather(*(ask(refiner, words, runtime.context, language="en", place=p) for p in "ab"))
        return {}

    assert {call.id[-1] for call in graph_of(both).invoke(GIVEN)["trace"].calls} == {"a", "b"}


@WAYS
@pytest.mark.parametrize("inside", ["invoke", "ainvoke"])
@pytest.mark.parametrize("hands_on", [["description"], ["description", "trace"]])
async def test_calls_of_a_graph_that_a_node_runs_stand_in_its_trace_once(
    hands_on: list[str], inside: str, how: str
) -> None:
    inner = graph_of(condense)

    @node(asks=inner)
    async def around(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        given = await run(inner, inside, view, context=runtime.context)
        return {key: given[key] for key in hands_on}

    assert [call.role for call in (await run(graph_of(around), how, GIVEN))["trace"].calls] == ["refiner"]


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_graph_that_a_node_runs_again_has_calls_of_its_own_and_the_same_ones_each_time(at_once: bool) -> None:
    """The trace and its cost had the calls of one run, and a model's answers of the first stood for the second."""
    inner = graph_of(condense)

    @node(asks=inner)
    async def around(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        runs = [inner.ainvoke(view, context=runtime.context) for _ in range(2)]
        _ = await asyncio.gather(*runs) if at_once else [await one for one in runs]
        return {}

    for _ in range(2):
        calls = (await graph_of(around).ainvoke(GIVEN))["trace"].calls
        assert {call.id.partition(GIVEN["words"])[0] for call in calls} == {"memory/refiner/", "run2/memory/refiner/"}


async def test_of_graphs_that_run_again_within_one_another_each_run_has_calls_of_its_own() -> None:
    """The first run of a graph within the second one had the names of the second run within the first."""
    inner = graph_of(condense)

    @node(asks=inner)
    async def thrice(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        _ = [await inner.ainvoke(view) for _ in range(3)]
        return {}

    outer = graph_of(thrice)

    @node(asks=outer)
    async def twice(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        _ = [await outer.ainvoke(view) for _ in range(2)]
        return {}

    calls = (await graph_of(twice).ainvoke(GIVEN))["trace"].calls
    runs = [call.id.partition("memory/")[0] for call in calls]
    assert runs == ["", "run2/", "run3/", "run2/run1/", "run2/run2/", "run2/run3/"]


@WAYS
async def test_a_human_seat_interrupts_with_the_question_and_goes_on_with_the_answer(how: str) -> None:
    graph = graph_of(condense, condense, checkpointer=InMemorySaver(serde=serializer()))
    options: Any = {"config": {"configurable": {"thread_id": how}}, "context": {"models": {"refiner": "human"}}}
    for seat in range(2):
        await run(graph, how, GIVEN if seat == 0 else Command(resume={"symptoms": "dry cough"}), **options)
        [question] = graph.get_state(options["config"]).interrupts
        assert question.value["role"] == "refiner"
        assert FOUND in question.value["messages"][1]["content"]
        assert question.value["schema"]["required"] == ["symptoms"]
    result = await run(graph, how, Command(resume='{"symptoms": "wet cough"}'), **options)
    assert result["description"] == "wet cough"
    assert [(call.model, call.answer["symptoms"]) for call in result["trace"].calls][-1] == ("human", "wet cough")


@WAYS
@pytest.mark.parametrize(
    ("hands_on", "seen"), [(["description"], ["human"]), (["description", "trace"], ["offline", "human"])]
)
async def test_of_a_graph_in_which_a_person_is_asked_only_its_own_trace_has_the_calls_from_before_the_wait(
    hands_on: list[str], seen: list[str], how: str
) -> None:
    """So the page of strategies says."""

    @node
    async def by_rule(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        settings = runtime.context.model_copy(update={"models": {}})
        await ask(refiner, WordsView("pain", "en"), settings, language="en", place="by rule")
        return {}

    inner = graph_of(by_rule, condense)

    @node(asks=inner)
    async def around(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        given = await inner.ainvoke(view, context=runtime.context)
        return {key: given[key] for key in hands_on}

    graph = graph_of(around, checkpointer=InMemorySaver(serde=serializer()))
    options: Any = {"config": {"configurable": {"thread_id": how}}, "context": {"models": {"refiner": "human"}}}
    await run(graph, how, GIVEN, **options)
    result = await run(graph, how, Command(resume={"symptoms": "dry cough"}), **options)
    assert [call.model for call in result["trace"].calls] == seen


@WAYS
async def test_a_persons_answer_of_another_type_is_asked_for_again_in_the_same_node(how: str) -> None:
    graph = graph_of(condense, checkpointer=InMemorySaver(serde=serializer()))
    options: Any = {"config": {"configurable": {"thread_id": how}}, "context": {"models": {"refiner": "human"}}}
    await run(graph, how, GIVEN, **options)
    await run(graph, how, Command(resume={"text": "dry cough"}), **options)
    [question] = graph.get_state(options["config"]).interrupts
    assert "symptoms" in question.value["wrong"]
    result = await run(graph, how, Command(resume={"symptoms": "wet cough"}), **options)
    assert result["description"] == "wet cough"


def test_a_function_that_can_be_no_node_is_refused_when_it_is_declared() -> None:
    def waits_for_nobody(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        return {}

    async def has_no_view() -> dict[str, Any]:
        return {}

    async def declares_nothing(view, runtime):  # type: ignore[no-untyped-def]
        return {}

    async def takes_no_runtime(view: Words) -> dict[str, Any]:
        return {}

    for function in (waits_for_nobody, has_no_view, declares_nothing, takes_no_runtime):
        with pytest.raises(RegistryError, match=rf"node '{function.__name__}': expected `async def"):
            node(function)  # type: ignore[arg-type]


def test_of_a_nodes_annotations_only_its_view_is_read_as_others_may_be_imported_for_type_checkers_alone() -> None:
    async def count(view: Any, runtime: Any) -> dict[str, Any]:
        return {"description": view["words"]}

    count.__annotations__.update(view="Words", runtime="Runtime[Elsewhere]")  # as with `from __future__ import`
    assert graph_of(node(count)).invoke({"words": "three"})["description"] == "three"
    count.__annotations__.update(view="Elsewhere")
    with pytest.raises(RegistryError, match=r"'count': the type .* 'Elsewhere' is not defined.*outside of `if TYPE_C"):
        node(count)


@pytest.mark.parametrize("gives", [None, "a word", ["a", "list"]])
def test_what_a_node_gives_is_what_it_adds_to_the_state_or_is_refused_by_the_nodes_name(gives: Any) -> None:
    async def speechless(view: Words, runtime: Runtime[Context]) -> Any:
        return gives

    with pytest.raises(GivenError, match=f"node 'speechless' returned {type(gives).__name__}; expected"):
        graph_of(node(speechless)).invoke(GIVEN)


def test_what_a_node_gives_may_be_any_mapping() -> None:
    async def count(view: Words, runtime: Runtime[Context]) -> Mapping[str, Any]:
        return MappingProxyType({"description": "3 words"})

    assert graph_of(node(count)).invoke(GIVEN)["description"] == "3 words"


def test_a_key_that_the_state_lacks_is_refused_and_not_dropped_without_a_word() -> None:
    async def count(view: Words, runtime: Runtime[Context]) -> dict[str, Any]:
        return {"descripton": "1"}

    with pytest.raises(GivenError, match=r"'count' returned 'descripton', which .* lacks: did you mean 'description'"):
        graph_of(node(count)).invoke(GIVEN)
