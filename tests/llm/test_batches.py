"""The provider's batch interface behind the same door."""

import asyncio
import errno
import json
from pathlib import Path
from typing import Any

import pytest

from llm import ModelSettings, ModelSpecError, batches
from llm.chat import chat_client
from llm.errors import AnswerError, ModelError, RefusedError
from llm.journal import journal
from llm.prices import cost_of
from llm.question import Question
from llm.retries import Patience
from tests.llm.examinee import GOOD, OPINION, fail, put
from tests.support.fake_server import FakeServer, Fault


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_QUIET", 0.3)
    monkeypatch.setattr(batches, "_POLLS", (0.01, 1.5, 0.05))
    monkeypatch.setattr(batches, "_LAG", 0.5)


def settings(server: FakeServer, file: Path, **own: Any) -> ModelSettings:
    block = {"spec": f"openai:fake-model@{server.base_url}", "batch": str(file), **own}
    return ModelSettings.model_validate({"model": {"cheap": block}, "models": {"default": "cheap"}})


async def ask(context: ModelSettings, number: int) -> str:
    from langchain_core.messages import HumanMessage

    said: Any = Question(
        kind=dict,
        messages=[HumanMessage(f"question {number}")],
        name="plain",
        schema={},
        words=lambda schema: "",
        fields=lambda schema: "",
        checked=lambda answer: answer,
        read=lambda text, _: text,
    )
    return (await chat_client("cheap", context).ask(said, context, Patience(3))).text


async def several(context: ModelSettings, count: int) -> list[str]:
    return await asyncio.gather(*(ask(context, number) for number in range(count)))


def echo(request: Any) -> str:
    return f"answer to {request.text}"


async def test_what_is_asked_side_by_side_goes_as_one_batch_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    with FakeServer(answer=echo) as server:
        found = await several(settings(server, tmp_path / "b.jsonl"), 100)  # more than may be asked at once
        assert found == [f"answer to question {number}" for number in range(100)]
        assert len(server.batches.batches) == 1 and len(server.requests) == 100
        assert {request.headers.get("batch") for request in server.requests} == {"yes"}


@pytest.mark.parametrize("fault", ["500", "disconnect"])
async def test_a_failed_line_and_one_that_the_batch_lost_go_with_a_further_batch(tmp_path: Path, fault: Fault) -> None:
    with FakeServer(answer=echo, faults=[None, fault]) as server:
        assert await several(settings(server, tmp_path / "b.jsonl"), 3) == [f"answer to question {n}" for n in range(3)]
        assert len(server.batches.batches) == 2 and len(server.requests) == 4


async def test_an_answer_in_a_batch_is_read_whatever_manners_its_server_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_QUIET", 0.05)
    with FakeServer(answer=lambda _: GOOD, faults=["error_200", "counts_in_words", "reasoning"]) as server:
        told = [await put(settings(server, tmp_path / "b.jsonl")) for _ in range(2)]
    assert [(answer, call.attempts, call.repaired) for answer, call in told] == [
        (OPINION, 2, False),
        (OPINION, 1, False),
    ]
    assert all(call.input_tokens > 0 for _, call in told)


@pytest.mark.parametrize(
    ("trouble", "given"),
    [
        ("error_file", "file-gone"),
        ("second", (500, {"error": {"message": "failed"}})),
        ("second", ("200", {})),
        ("gone", 2),
    ],
)
async def test_an_answer_that_came_is_not_paid_again_for_what_is_missing_or_wrong_beside_it(
    tmp_path: Path, trouble: str, given: Any
) -> None:
    with FakeServer(answer=echo) as server:
        setattr(server.batches, trouble, given)
        assert await several(settings(server, tmp_path / "b.jsonl"), 3) == [f"answer to question {n}" for n in range(3)]
        assert len(server.batches.batches) == 1 and len(server.requests) == 3


@pytest.mark.parametrize("text", ["half a character: \ud83d", "a line\u2028that goes on\x85here"])
async def test_no_sign_in_an_answer_loses_the_batch_that_it_is_of(tmp_path: Path, text: str) -> None:
    with FakeServer(answer=lambda request: text if "1" in request.text else "plain") as server:
        server.batches.ascii = "\ud83d" in text
        found = await several(settings(server, tmp_path / "b.jsonl"), 3)
        assert found == ["plain", text.replace("\ud83d", "\ufffd"), "plain"]
        assert len(server.batches.batches) == 1 and len(server.requests) == 3


@pytest.mark.parametrize("trouble", ["lost", "cut", "page"])
async def test_replies_that_are_lost_cut_or_no_replies_send_no_question_twice(tmp_path: Path, trouble: str) -> None:
    with FakeServer(answer=echo) as server:
        setattr(server.batches, trouble, 1)
        assert await several(settings(server, tmp_path / "b.jsonl"), 3) == [f"answer to question {n}" for n in range(3)]
        assert len(server.batches.batches) == 1 and len(server.requests) == 3


async def test_a_batch_whose_reply_was_lost_and_that_is_listed_late_is_not_made_twice(tmp_path: Path) -> None:
    with FakeServer(answer=echo) as server:
        server.batches.lost, server.batches.lag = 1, 4
        assert await several(settings(server, tmp_path / "b.jsonl"), 2) == [f"answer to question {n}" for n in range(2)]
        assert len(server.batches.batches) == 1 and len(server.requests) == 2


async def test_a_batch_that_was_made_in_the_moment_of_a_kill_and_is_listed_late_is_not_made_twice(
    tmp_path: Path,
) -> None:
    file = tmp_path / "b.jsonl"
    with FakeServer(answer=echo) as server:
        server.batches.lag = 4
        context = settings(server, file)
        await killed_while_it_waits(server, context, file, asked=3, sent=1)
        file.write_text(json.dumps(noted_by(file)[0]), "utf-8")  # without the batch that was made
        assert await several(anew(context), 3) == [f"answer to question {number}" for number in range(3)]
        assert len(server.batches.batches) == 1 and len(server.requests) == 3


@pytest.mark.parametrize("kept", ["the batch's name too", "the file alone"])
async def test_a_file_without_a_batch_is_asked_anew_when_no_server_can_lag_so_long(tmp_path: Path, kept: str) -> None:
    file = tmp_path / "b.jsonl"
    with FakeServer(answer=echo) as server:
        context = settings(server, file)
        await killed_while_it_waits(server, context, file, asked=2, sent=1)
        if kept == "the file alone":
            file.write_text(json.dumps(noted_by(file)[0]), "utf-8")
        server.batches.batches.clear()
        assert await several(anew(context), 2) == [f"answer to question {number}" for number in range(2)]
        assert len(server.requests) == 2


@pytest.mark.parametrize("trouble", ["full", "away"])
async def test_a_full_queue_and_a_server_that_is_away_are_waited_for(tmp_path: Path, trouble: str) -> None:
    with FakeServer(answer=echo) as server:
        setattr(server.batches, trouble, 3)
        assert await several(settings(server, tmp_path / "b.jsonl"), 2) == [
            "answer to question 0",
            "answer to question 1",
        ]
        assert len(server.requests) == 2 and len(server.batches.batches) == (4 if trouble == "full" else 1)


async def test_large_questions_go_in_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_BYTES", 300)
    with FakeServer(answer=echo) as server:
        assert await several(settings(server, tmp_path / "b.jsonl"), 5) == [f"answer to question {n}" for n in range(5)]
        assert len(server.batches.batches) > 1


def noted_by(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text("utf-8").split("\n") if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


async def killed_while_it_waits(server: FakeServer, context: ModelSettings, file: Path, asked: int, sent: int) -> None:
    """Ask, and break off when so many batches were sent and noted, of which the last is not over."""
    begun = asyncio.create_task(several(context, asked))
    async with asyncio.timeout(10):
        while sum("batch" in one for one in noted_by(file)) < sent:
            server.batches.polls = 1 if len(server.batches.batches) < sent else 10**6
            await asyncio.sleep(0)
    begun.cancel()
    server.batches.polls = 1


def anew(context: ModelSettings) -> ModelSettings:
    return context.model_copy(update={"timeout": 60.0})  # the same, in a client of its own


@pytest.mark.parametrize("kept", ["all", "not the batch's name"])
async def test_a_killed_run_finds_its_batches_again_and_pays_nothing_twice(tmp_path: Path, kept: str) -> None:
    file = tmp_path / "b.jsonl"
    with FakeServer(answer=echo) as server:
        context = settings(server, file)
        await killed_while_it_waits(server, context, file, asked=5, sent=1)
        if kept != "all":
            file.write_text(json.dumps(noted_by(file)[0]), "utf-8")
        file.write_text(file.read_text("utf-8") + '\n{"file": "cut o', "utf-8")
        assert await several(anew(context), 6) == [f"answer to question {number}" for number in range(6)]
        assert len(server.batches.batches) == 2  # the second for the sixth
        assert len(server.requests) == 6
    assert [len(one["requests"]) for one in noted_by(file) if "requests" in one] == [5, 1]


async def test_a_question_whose_first_batch_lost_it_is_answered_by_its_second_after_a_kill(tmp_path: Path) -> None:
    file = tmp_path / "b.jsonl"
    with FakeServer(answer=echo, faults=["disconnect"]) as server:
        context = settings(server, file)
        await killed_while_it_waits(server, context, file, asked=3, sent=2)
        assert await several(anew(context), 3) == [f"answer to question {number}" for number in range(3)]
        assert len(server.batches.batches) == 2 and len(server.requests) == 4


async def test_a_resumed_run_passes_over_batches_for_which_there_was_no_room(tmp_path: Path) -> None:
    file = tmp_path / "b.jsonl"
    with FakeServer(answer=echo) as server:
        server.batches.full = 10**6
        await killed_while_it_waits(server, settings(server, file), file, asked=2, sent=8)  # more than its attempts
        server.batches.full = 0
        assert await several(anew(settings(server, file)), 2) == ["answer to question 0", "answer to question 1"]
        assert len(server.requests) == 2


async def test_a_question_that_failed_is_asked_anew_after_a_restart_and_each_answer_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_QUIET", 0.05)
    answers: list[dict[str, Any]] = [{"nonsense": 1}, {"nonsense": 2}, GOOD]
    trace = {"trace_file": str(tmp_path / "t.jsonl"), "repairs": 1}
    with FakeServer(answer=lambda request: answers[request.index]) as server:
        context = settings(server, tmp_path / "b.jsonl").model_copy(update=trace)
        with journal(context.trace_file):
            _, failed = await fail(context, AnswerError)
        with journal(context.trace_file):
            answer, call = await put(anew(context))
        assert answer == OPINION and len(server.requests) == 3
    assert (failed.attempts, call.attempts) == (2, 3)
    assert call.input_tokens == failed.input_tokens + len(server.requests[2].text) // 4 + 1


@pytest.mark.parametrize("refused", [(402, "Insufficient credits"), (429, "You exceeded your current quota")])
async def test_a_line_refused_for_the_account_is_asked_anew_after_a_restart(
    tmp_path: Path, refused: tuple[int, str]
) -> None:
    with FakeServer(answer=echo, refusal=lambda _: refused) as server:
        context = settings(server, tmp_path / "b.jsonl")
        with pytest.raises(RefusedError):
            await ask(context, 0)
        server.refusal = None
        assert await ask(anew(context), 0) == "answer to question 0"


async def test_a_batch_that_the_server_refuses_fails_with_its_reason(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.batches.status = "failed"
        with pytest.raises(ModelError, match="no such endpoint"):
            await ask(settings(server, tmp_path / "b.jsonl"), 0)


async def test_a_server_without_batches_is_told_from_an_address_without_a_server(tmp_path: Path) -> None:
    """llama_cpp.server, vLLM and most others answer chats alone."""
    with FakeServer() as server, pytest.raises(RefusedError, match=r"no batch interface .*leave `batch` out"):
        server.batches.refusing = (404, "Not Found")
        await ask(settings(server, tmp_path / "b.jsonl"), 0)


async def test_a_gateway_that_keeps_no_files_is_not_waited_for(tmp_path: Path) -> None:
    with FakeServer() as server, pytest.raises(ModelError, match="files_settings is not set"):
        server.batches.refusing = (500, "files_settings is not set, set it on your config.yaml file.")  # LiteLLM
        await ask(settings(server, tmp_path / "b.jsonl"), 0)


def test_a_batch_costs_half_the_list_price() -> None:
    context = ModelSettings.model_validate(
        {"model": {"cheap": {"spec": "openai:gpt-4o", "batch": "b"}}, "models": {"default": "cheap"}}
    )
    whole, half = (cost_of(name, 1000, 1000, context) for name in ("openai:gpt-4o", "cheap"))
    assert whole and half == whole / 2


def test_a_provider_without_openais_form_is_refused_by_name() -> None:
    from llm.build import build_model

    context = ModelSettings.model_validate({"model": {"c": {"spec": "anthropic:claude", "batch": "b"}}})
    with pytest.raises(ModelSpecError, match=r"model\.c\.batch"):
        build_model("c", context)


@pytest.mark.parametrize(
    "content",
    [b'{"id": "one", "language": "en"}\n', b"[1, 2]\n", b"notes, not JSON\n", b"\xff\xfe\x00", b'{"fi\n{"id": 1}\n'],
    ids=["cases", "a list", "words", "bytes", "cases after a torn line"],
)
def test_a_file_of_something_else_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    from llm.build import build_model

    (tmp_path / "cases.jsonl").write_bytes(content)
    with (
        FakeServer() as server,
        pytest.raises(ModelSpecError, match=r"cheap\.batch: .*cases\.jsonl.*a new file"),
    ):
        build_model("cheap", settings(server, tmp_path / "cases.jsonl"))
    assert (tmp_path / "cases.jsonl").read_bytes() == content


def test_a_file_with_a_torn_line_is_one_of_batches(tmp_path: Path) -> None:
    from llm.build import build_model

    sent = '{"file": "f", "requests": ["0-key"]}'
    for length in range(1, len(sent)):
        (tmp_path / "b.jsonl").write_text(f"\n{sent}\n{sent[:length]}\n{sent}")
        batches.check_file(tmp_path / "b.jsonl")
    (tmp_path / "b.jsonl").write_text(f"\n{sent}\0\0\0\n{sent}")  # as a power cut leaves it
    assert len(list(batches._entries(tmp_path / "b.jsonl"))) == 2
    with FakeServer() as server:
        build_model("cheap", settings(server, tmp_path / "b.jsonl"))


@pytest.mark.parametrize("entries", [0, 1])
async def test_a_batch_that_cannot_be_written_down_is_sent_once_and_stops_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    file, left = tmp_path / "batches.jsonl", [1] * entries

    def until_full(number: int) -> None:
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        left.pop()

    with FakeServer(answer=echo) as server:
        context = settings(server, file)
        with monkeypatch.context() as full:
            full.setattr("llm.batches.os.fsync", until_full)
            with pytest.raises(RefusedError, match=r"batches\.jsonl: .*written down: No space left"):
                await ask(context, 1)
        assert len(server.batches.batches) == entries
        assert await ask(anew(context), 1) == "answer to question 1"
        assert len(server.batches.batches) == len(server.requests) == 1


def test_a_file_that_cannot_be_written_is_refused_before_a_question_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm.batches.os.access", lambda place, _: place != tmp_path)
    with pytest.raises(ValueError, match=r"batches\.jsonl: cannot be written; name a new file"):
        batches.check_file(tmp_path / "new" / "batches.jsonl")
