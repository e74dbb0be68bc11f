import asyncio
import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm import Call, Event, Trace, merge_traces
from llm.journal import journal
from llm.trace import collecting_calls, file_event, read_calls, record


def call(id: str = "rehearsal/examinee", **update: Any) -> Call:
    fields: dict[str, Any] = {
        "id": id,
        "role": "examinee",
        "stage": "rehearsal",
        "model": "openai:any",
        "prompt": "en/judges/claims",
        "prompt_hash": "0" * 16,
        "started": 1.0,
        "seconds": 0.5,
        "messages": [{"role": "user", "content": "胸腔积液?"}],
        "answer": {"accepted": True},
    }
    return Call.model_validate(fields | update)


CALLS = st.builds(
    call,
    id=st.sampled_from("abc"),
    started=st.sampled_from([0.0, 1.0, 2.0]),
    attempts=st.integers(0, 2),
    answer=st.sampled_from([None, {"level": 1}, {"level": 2}]),
)
EVENTS = st.builds(
    lambda id, started, content: Event(id=id, event="seen", stage="rehearsal", started=started, content=content),
    st.sampled_from("abc"),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([None, "x"]),
)
TRACES = st.builds(
    lambda calls, events: merge_traces(Trace(calls=tuple(calls), events=tuple(events)), None),
    st.lists(CALLS, max_size=6),
    st.lists(EVENTS, max_size=4),
)


@given(TRACES, TRACES)
def test_merging_does_not_depend_on_which_branch_finished_first(left: Trace, right: Trace) -> None:
    assert merge_traces(left, right) == merge_traces(right, left)


@pytest.mark.slow
@given(TRACES, TRACES, TRACES)
def test_merging_does_not_depend_on_the_grouping(one: Trace, two: Trace, three: Trace) -> None:
    assert merge_traces(merge_traces(one, two), three) == merge_traces(one, merge_traces(two, three))


@pytest.mark.slow
@given(TRACES, TRACES)
def test_merging_again_changes_nothing_and_loses_no_call(left: Trace, right: Trace) -> None:
    merged = merge_traces(left, right)
    assert merge_traces(merged, right) == merge_traces(merged, merged) == merged
    ids = [call.id for call in merged.calls]
    assert sorted(ids) == sorted({call.id for call in (*left.calls, *right.calls)})
    assert [call.started for call in merged.calls] == sorted(call.started for call in merged.calls)
    assert {event.id for event in merged.events} == {event.id for event in (*left.events, *right.events)}


@given(TRACES)
def test_no_trace_is_the_empty_trace(trace: Trace) -> None:
    assert merge_traces(None, trace) == merge_traces(trace, None) == trace
    assert merge_traces(None, None) == Trace()


def test_of_two_calls_at_one_place_the_later_one_counts() -> None:
    early, late = call(started=1.0, input_tokens=7), call(started=2.0, input_tokens=9)
    assert merge_traces(Trace(calls=(late,)), Trace(calls=(early,))).calls == (late,)


def test_tokens_seconds_and_costs_are_summed() -> None:
    calls = (
        call("a", input_tokens=10, output_tokens=1, cost=0.25),
        call("b", input_tokens=5, output_tokens=2, cost=0.5),
    )
    trace = Trace(calls=calls)
    assert (trace.tokens, trace.cost, trace.seconds) == (18, 0.75, 1.0)


def test_a_trace_shows_how_much_it_holds_and_not_every_prompt() -> None:
    assert repr([Trace(calls=(call("a", input_tokens=10),))]) == "[Trace(calls=1, events=0, tokens=10)]"


def test_one_call_without_a_price_makes_the_sum_unknown_and_no_call_costs_nothing() -> None:
    assert Trace(calls=(call("a", cost=0.25), call("b", cost=None))).cost is None
    assert Trace().cost == 0


def test_models_are_named_by_role() -> None:
    calls = (call("a", model="human"), call("b", model="offline"), call("c", role="aide", model="human"))
    assert Trace(calls=calls).models == {"aide": ["human"], "examinee": ["human", "offline"]}


def test_the_file_gets_the_whole_record_and_the_state_its_outline(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    whole = call(error="model_error: gone", input_tokens=3)
    with collecting_calls() as calls:
        record(whole, str(file))
    assert read_calls(file.open(encoding="utf-8")).calls == (whole,)
    assert calls == [whole.model_copy(update={"messages": None, "answer": None})]


def test_without_a_file_the_state_gets_the_whole_record() -> None:
    with collecting_calls() as calls:
        record(call(), None)
    assert calls == [call()]


def test_calls_of_tasks_that_the_block_starts_are_gathered_and_others_are_not() -> None:
    async def note(id: str) -> None:
        record(call(id), None)

    async def both() -> tuple[list[Call], list[Call]]:
        async def branch(*ids: str) -> list[Call]:
            with collecting_calls() as calls:
                await asyncio.gather(*(note(id) for id in ids))
            return calls

        record(call("outside"), None)
        left, right = await asyncio.gather(branch("a", "b"), branch("c"))
        return left, right

    left, right = asyncio.run(both())
    assert [item.id for item in left] == ["a", "b"] and [item.id for item in right] == ["c"]


@pytest.mark.parametrize("kept", [1, 40, -2])
def test_a_last_line_cut_off_by_a_kill_is_left_out(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "trace.jsonl"
    record(call("a"), str(file))
    line = call("b").model_dump_json()
    file.write_text(file.read_text("utf-8") + line[:kept], encoding="utf-8")
    assert [item.id for item in read_calls(file.open(encoding="utf-8")).calls] == ["a"]


@pytest.mark.parametrize("kept", [1, 40, -2])
def test_the_calls_after_a_line_cut_off_by_a_kill_are_not_lost_with_it(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "trace.jsonl"
    record(call("a"), str(file))
    file.write_text(file.read_text("utf-8") + call("b").model_dump_json()[:kept], encoding="utf-8")
    record(call("c"), str(file))
    record(call("d"), str(file))
    assert [item.id for item in read_calls(file.open(encoding="utf-8")).calls] == ["a", "c", "d"]


def test_an_event_stands_among_the_calls_of_the_file_and_is_none_of_them(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    whole = Event(id="bank/turn1", event="released_memory", stage="saps", content={"released": ["发热"]})
    record(call("a"), str(file))
    kept = file_event(whole, str(file))
    record(call("b"), str(file))
    trace = read_calls(file.open(encoding="utf-8"))
    assert [item.id for item in trace.calls] == ["a", "b"] and trace.events == (whole,)
    assert kept.events == (whole.model_copy(update={"content": None}),) and file_event(whole, None).events == (whole,)
    assert trace.models == {"examinee": ["openai:any"]}


def test_entries_that_older_files_hold_as_calls_of_nobody_are_still_read() -> None:
    line = call("saps/released_memory/turn1", role="released_memory", model="offline", attempts=0).model_dump_json()
    assert [item.role for item in read_calls([line + "\n"]).calls] == ["released_memory"]


@pytest.mark.parametrize(
    "line", ['{"id": "a"}', "[" * 10_000, "3", '"\\ud83d"', '{"id": "\\ud83d"}', '{"a": ' + "9" * 5_000 + "}"]
)
def test_a_line_that_cannot_be_read_is_left_out_and_those_around_it_are_not(tmp_path: Path, line: str) -> None:
    file = tmp_path / "trace.jsonl"
    record(call("a"), str(file))
    file.write_text(file.read_text("utf-8") + line + "\n", encoding="utf-8")
    record(call("b"), str(file))
    assert [item.id for item in read_calls(file.open(encoding="utf-8")).calls] == ["a", "b"]


def test_a_line_that_was_changed_after_it_was_written_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    record(call("a", input_tokens=7), str(file))
    file.write_text(file.read_text("utf-8").replace('"input_tokens":7', '"input_tokens":8'), encoding="utf-8")
    assert read_calls(file.open(encoding="utf-8")).calls == ()


def test_a_field_of_another_version_is_left_out_of_the_record_that_has_it() -> None:
    line = json.dumps(json.loads(call("a").model_dump_json()) | {"pauses": 3})
    assert read_calls([line]).calls == (call("a"),)


def test_half_a_character_in_a_record_is_written_as_a_sign_for_it(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    record(call(answer={"a\udfff": ["\ud83d", "\ud83d\ude00"]}), str(file))
    assert read_calls(file.open(encoding="utf-8")).calls[0].answer == {"a\ufffd": ["\ufffd", "\U0001f600"]}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_cases_in_flight_hold_no_trace_open(tmp_path: Path) -> None:
    """A process may have some hundred files open, and a run as many cases in flight."""
    before = len(os.listdir("/proc/self/fd"))
    with ExitStack() as cases:
        for number in range(20):
            file = tmp_path / f"{number}.jsonl"
            cases.enter_context(journal(file))
            record(call(), str(file))
        assert len(os.listdir("/proc/self/fd")) == before
    written = [file.read_text("utf-8") for file in tmp_path.glob("*.jsonl")]
    assert len(written) == 20 and all(len(read_calls(lines.splitlines()).calls) == 1 for lines in written)
