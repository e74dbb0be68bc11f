import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel
from typing_extensions import TypedDict

from llm import (
    AnswerError,
    LimitError,
    Limits,
    Meter,
    ModelError,
    ModelSettings,
    Role,
    Trace,
    ask,
    merge_traces,
    metering,
)
from llm.journal import journal
from llm.schema import answer_schema
from llm.trace import collecting_calls, read_calls, trace_lines
from nodes.collaboration.subject import SUBJECTS
from nodes.context import Context
from nodes.node import node
from nodes.state.decisions import Decision
from nodes.workflow.stages import STAGES
from tests.llm.examinee import EXAMINEE, GOOD, OPINION, Opinion, View, fail, put, served, spec
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.schema_sampler import sample


class Consultation(TypedDict, total=False):
    opinion: Opinion
    trace: Annotated[Trace, merge_traces]


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


def good(request: ChatRequest) -> dict[str, Any]:
    return GOOD


def bytes_of(file: Path) -> bytes:
    return file.read_bytes()


def overwrite(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def change_line(file: Path, **fields: Any) -> None:
    """Change the one record of a trace file."""
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | fields) + "\n", encoding="utf-8")


def recorded(trace_file: Path) -> Trace:
    return read_calls(trace_file.open(encoding="utf-8"))


async def test_a_finished_call_is_answered_from_the_trace_and_not_sent_again(trace_file: Path) -> None:
    with FakeServer(answer=good) as server:
        settings = served(server, trace_file=str(trace_file))
        first = await put(settings)
        before = bytes_of(trace_file)
        with journal(trace_file):
            again = await put(settings)
        assert again == first  # the same answer, and the same outline for the state
        assert len(server.requests) == 1 and bytes_of(trace_file) == before


async def test_without_a_journal_every_question_is_sent(trace_file: Path) -> None:
    with FakeServer(answer=good) as server:
        settings = served(server, trace_file=str(trace_file))
        await put(settings)
        await put(settings)
        with journal(None):
            await put(settings)
        assert len(server.requests) == 3


async def test_a_call_recorded_inside_the_block_is_known_to_it(trace_file: Path) -> None:
    with FakeServer(answer=good) as server, journal(trace_file):
        settings = served(server, trace_file=str(trace_file))
        first = await put(settings)
        assert await put(settings) == first
        assert len(server.requests) == 1 and bytes_of(trace_file).count(b"\n") == 1


async def test_cases_side_by_side_have_journals_of_their_own(tmp_path: Path) -> None:
    async def case(number: int, settings: ModelSettings) -> None:
        with journal(settings.trace_file):
            await put(settings)
            await put(settings)

    with FakeServer(answer=good) as server:
        files = [str(tmp_path / f"{number}.jsonl") for number in range(4)]
        await asyncio.gather(*(case(at, served(server, trace_file=file)) for at, file in enumerate(files)))
        assert len(server.requests) == 4


@pytest.mark.parametrize(
    "changed",
    [{"temperature": 0.5}, {"seed": 1}, {"max_tokens": 9}, {"scope": "elsewhere"}, {"language": "zh"}, {"epoch": 1}],
)
async def test_another_question_is_asked(trace_file: Path, changed: dict[str, Any]) -> None:
    with FakeServer(answer=good) as server:
        await put(served(server, trace_file=str(trace_file)))
        with journal(trace_file):
            await put(served(server, trace_file=str(trace_file), **changed))
        assert len(server.requests) == 2


async def test_a_changed_prompt_file_is_asked_anew(trace_file: Path) -> None:
    with FakeServer(answer=good) as server:
        settings = served(server, trace_file=str(trace_file))
        await put(settings)
        change_line(trace_file, prompt_hash="of before")
        with journal(trace_file):
            await put(settings)
        assert len(server.requests) == 2


async def test_a_recorded_answer_that_is_none_of_the_type_is_asked_for_again(trace_file: Path) -> None:
    with FakeServer(answer=good) as server:
        settings = served(server, trace_file=str(trace_file))
        await put(settings)
        change_line(trace_file, answer={"accepted": "perhaps"})
        with journal(trace_file):
            opinion, _ = await put(settings)
        assert opinion == OPINION and len(server.requests) == 2


@pytest.mark.parametrize("cut", [1, 80, -1])
async def test_a_line_cut_off_by_a_kill_is_asked_again_and_spoils_nothing(trace_file: Path, cut: int) -> None:
    with FakeServer(answer=good) as server:
        settings = served(server, trace_file=str(trace_file))
        await put(settings)
        whole = bytes_of(trace_file)
        overwrite(trace_file, whole + whole.replace(b"seat 1", b"seat 2").rstrip()[:cut])
        with journal(trace_file):
            await put(settings)
            await ask(EXAMINEE, View(), settings, language="en", place="seat 2")
        assert len(server.requests) == 2
    assert [call.id for call in recorded(trace_file).calls] == [f"rehearsal/examinee/seat {seat}" for seat in (1, 2)]


async def test_a_failed_call_is_asked_again_and_what_its_tries_took_is_carried_over(trace_file: Path) -> None:
    with FakeServer(answer=good, faults=["cut_json", "schema_violation", "500", None]) as server:
        settings = served(server, trace_file=str(trace_file), prices={spec(server): (1.0, 1.0)})
        with journal(trace_file):
            _, failed = await fail(settings, AnswerError)
        with journal(trace_file):
            opinion, answered = await put(settings)
    assert opinion == OPINION and answered.error is None and not answered.repaired
    assert (failed.attempts, answered.attempts) == (2, 4)
    assert answered.input_tokens > failed.input_tokens > 0 and answered.output_tokens > failed.output_tokens > 0
    trace = recorded(trace_file)
    assert len(trace.calls) == 1 and trace.cost == pytest.approx(trace.tokens / 1e6)
    assert trace.tokens == answered.input_tokens + answered.output_tokens


async def test_an_answer_counts_after_its_failed_tries_also_if_the_clock_was_put_back_between_them(
    trace_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(answer=good, faults=["cut_json", "schema_violation", None]) as server:
        settings = served(server, trace_file=str(trace_file))
        with journal(trace_file):
            await fail(settings, AnswerError)
        monkeypatch.setattr("llm.asked.time.time", lambda: 1e9)
        with journal(trace_file):
            _, answered = await put(settings)
    (call,) = recorded(trace_file).calls
    assert call.error is None and call.attempts == answered.attempts == 3


@pytest.mark.parametrize("stopped", [False, True])
async def test_what_a_seat_took_that_another_seat_s_failure_cut_off_is_on_record_unless_the_case_goes_on_later(
    trace_file: Path, stopped: bool
) -> None:
    """Two seats at once: the second reads garbage for ever, while the first waits for its repair."""
    builder = StateGraph(Consultation, context_schema=Context)
    for seat in ("one", "two"):

        @node
        async def consult(state: Consultation, runtime: Runtime[Context], seat: str = seat) -> dict[str, Any]:
            context = runtime.context.model_copy(update={"models": {"default": runtime.context.models[seat]}})
            return {"opinion": await ask(EXAMINEE, View(), context, language="en", place=seat)}

        builder.add_node(seat, consult)
        builder.add_edge(START, seat)
    graph: Any = builder.compile()
    with FakeServer(answer=good, faults=["cut_json"]) as held, FakeServer(answer=good, faults=["cut_json"] * 2) as bad:
        held.hold_answers(after=1)
        bad.hold_answers(after=0)
        models = {"default": "offline", "one": spec(held), "two": spec(bad)}
        context = Context.model_construct(
            **{**dict(Context()), "models": models, "trace_file": str(trace_file), "repairs": 1}
        )
        with pytest.raises(asyncio.CancelledError if stopped else AnswerError), journal(trace_file):
            running = asyncio.create_task(graph.ainvoke({}, context=context))
            while not (held.is_holding() and bad.is_holding()):  # noqa: ASYNC110 - they are in other threads
                await asyncio.sleep(0.01)
            if stopped:
                running.cancel()
            bad.release()
            await running
        held.release()
    calls = {call.id.rpartition("/")[2]: call for call in read_calls(trace_lines(trace_file)).calls}
    if stopped:
        assert calls == {}
        return
    assert calls["two"].error is not None and "unparseable" in calls["two"].error
    assert calls["one"].error is not None and "cancelled" in calls["one"].error
    assert calls["one"].attempts == 2 and calls["one"].input_tokens > 0, "its first reply was read, its second was not"


async def test_a_seat_that_reaches_a_limit_cuts_off_no_answer_that_another_seat_awaits(trace_file: Path) -> None:
    with FakeServer(answer=good) as server:
        settings = served(server, trace_file=str(trace_file))
        server.hold_answers(after=0)
        with pytest.raises(ExceptionGroup), journal(trace_file), metering(Meter("case", Limits(calls=1))):
            async with asyncio.TaskGroup() as seats:
                for seat in ("one", "two"):
                    seats.create_task(ask(EXAMINEE, View(), settings, language="en", place=seat))
                while not server.is_holding():  # noqa: ASYNC110 - the server is in another thread
                    await asyncio.sleep(0.01)
                server.release()
    calls = {call.id.rpartition("/")[2]: call for call in recorded(trace_file).calls}
    assert calls["one"].error is None and calls["one"].input_tokens > 0
    assert (calls["two"].error or "").startswith("case_calls_limit")


async def test_a_call_that_was_cut_off_and_asked_again_in_the_same_case_is_on_record_once(trace_file: Path) -> None:
    with FakeServer(answer=good, faults=["cut_json"]) as server:
        settings = served(server, trace_file=str(trace_file))
        server.hold_answers(after=1)
        with journal(trace_file):
            asked = asyncio.create_task(put(settings))
            while not server.is_holding():  # noqa: ASYNC110 - the server is in another thread
                await asyncio.sleep(0.01)
            asked.cancel()
            await asyncio.wait([asked])
            server.release()
            opinion, answered = await put(settings)
    (call,) = recorded(trace_file).calls
    assert opinion == OPINION and (call.error, call.attempts) == (None, 3)
    assert call.input_tokens == answered.input_tokens > 0


async def test_tries_that_fail_again_and_again_add_up(trace_file: Path) -> None:
    with FakeServer(answer=good, faults=["cut_json"] * 6) as server:
        settings = served(server, trace_file=str(trace_file))
        totals = []
        for _ in range(3):
            with journal(trace_file):
                _, failed = await fail(settings, AnswerError)
            totals.append(failed.input_tokens)
    assert totals == [totals[0], 2 * totals[0], 3 * totals[0]]


async def test_a_rule_that_is_computed_again_leaves_the_trace_as_it_was(trace_file: Path) -> None:
    settings = ModelSettings(trace_file=str(trace_file))
    await put(settings)
    before = recorded(trace_file)
    with journal(trace_file):
        await put(settings)
    after = recorded(trace_file)
    assert (after.tokens, after.cost, len(after.calls)) == (before.tokens, before.cost, 1)


async def test_a_resumed_case_has_the_trace_of_an_uninterrupted_one(trace_file: Path) -> None:
    places = [f"seat {seat}" for seat in range(1, 5)]

    async def case(settings: ModelSettings, upto: int) -> Trace:
        with journal(trace_file), collecting_calls() as calls:
            for place in places[:upto]:
                await ask(EXAMINEE, View(), settings, language="en", place=place)
        return Trace(calls=tuple(calls))

    with FakeServer(answer=good) as server:
        settings = served(server, trace_file=str(trace_file))
        await case(settings, 2)  # and then killed
        resumed = await case(settings, 4)
        whole = await case(settings, 4)
        assert len(server.requests) == 4
    assert resumed == whole and [call.id.rpartition("/")[2] for call in resumed.calls] == places


@pytest.mark.parametrize("way", ["ainvoke", "invoke", "invoke inside a loop", "invoke inside another graph"])
async def test_journal_and_meters_reach_the_nodes_of_a_graph(trace_file: Path, way: str) -> None:
    @node
    async def consult(state: Consultation, runtime: Runtime[Context]) -> dict[str, Any]:
        return {"opinion": await ask(EXAMINEE, View(), runtime.context, language="en")}

    builder = StateGraph(Consultation, context_schema=Context)
    builder.add_node("consult", consult)
    builder.add_edge(START, "consult")
    graph: Any = builder.compile()
    meter = Meter("case", Limits(calls=1))

    async def run(context: Context) -> Any:
        with journal(trace_file), metering(meter):
            match way:
                case "ainvoke":
                    return await graph.ainvoke({}, context=context)
                case "invoke":
                    return await asyncio.to_thread(graph.invoke, {}, context=context)
                case "invoke inside another graph":  # in a thread of LangGraph's
                    outer = StateGraph(Consultation, context_schema=Context)
                    outer.add_node("inner", lambda state: graph.invoke({}, context=context)).add_edge(START, "inner")
                    return await outer.compile().ainvoke({}, context=context)
            return graph.invoke({}, context=context)

    with FakeServer(answer=good) as server:
        context = Context(models={"default": spec(server)}, trace_file=str(trace_file))
        first, again = await run(context), await run(context)
        assert len(server.requests) == 1
        with pytest.raises(LimitError):
            await run(context.model_copy(update={"temperature": 1.0}))
    assert first == again and first["opinion"] == OPINION and len(first["trace"].calls) == 1
    assert meter.spent.calls == 1


async def test_what_is_replayed_is_not_counted_again_and_not_held_to_the_limits(trace_file: Path) -> None:
    with FakeServer(answer=good) as server:
        settings = served(server, trace_file=str(trace_file))
        await put(settings)
        meter = Meter.of([recorded(trace_file)], "case", Limits(calls=1))
        with journal(trace_file), metering(meter):
            opinion, _ = await put(settings)
    assert opinion == OPINION and meter.spent.calls == 1 and meter.spent.tokens == recorded(trace_file).tokens


async def test_a_failed_call_that_is_asked_again_is_one_call_for_the_limits(trace_file: Path) -> None:
    with FakeServer(answer=good, faults=["500"]) as server:
        settings = served(server, trace_file=str(trace_file), max_attempts=1)
        await fail(settings, ModelError)
        meter = Meter.of([recorded(trace_file)], "case", Limits(calls=1))
        with journal(trace_file), metering(meter):
            opinion, _ = await put(settings)
    assert opinion == OPINION
    assert meter.spent.calls == Meter.of([recorded(trace_file)], "case").spent.calls == 1
    assert meter.spent.tokens == recorded(trace_file).tokens


async def test_no_key_of_the_environment_stands_in_the_trace(monkeypatch: pytest.MonkeyPatch, trace_file: Path) -> None:
    monkeypatch.setenv("WARDROUND_API_KEY", "key-of-the-ward")
    with FakeServer(answer=good) as server, journal(trace_file):
        await put(served(server, trace_file=str(trace_file)))
        assert server.requests[0].headers["authorization"] == "Bearer key-of-the-ward"
    assert b"key-of-the-ward" not in bytes_of(trace_file) != b""


def answers() -> dict[str, Any]:
    """Every type that a role of ours answers in, by its prompt, and by its stage where each has another."""
    found: dict[str, Any] = {}
    for name, module in sorted(sys.modules.items()):
        for role in vars(module).values() if name.partition(".")[0] in ("nodes", "scoring") else ():
            if not isinstance(role, Role):
                continue
            there = {at: SUBJECTS[at].answer for at in role.stages if at in SUBJECTS}
            there |= {at: STAGES[at].decision for at in role.stages if at in STAGES}
            if role.answer in (Decision, BaseModel):
                found |= {f"{role.prompt} {at}": kind for at, kind in there.items()}
            elif role.answer.__pydantic_generic_metadata__["parameters"]:
                generic: Any = role.answer
                found |= {f"{role.prompt} {at}": generic[kind] for at, kind in there.items()}
            else:
                found[role.prompt] = role.answer
    return found


@pytest.mark.parametrize("kind", [pytest.param(kind, id=name) for name, kind in sorted(answers().items())])
def test_an_answer_of_any_role_comes_out_of_the_record_as_it_went_in(kind: Any) -> None:
    for seed in range(5):
        value = sample(answer_schema(kind, "en"), random.Random(seed))
        try:
            answer: BaseModel = kind.model_validate(value)
        except ValueError:  # the type asks for more than its schema says
            continue
        assert kind.model_validate(answer.model_dump(mode="json")) == answer
        assert kind.model_validate_json(answer.model_dump_json()) == answer
