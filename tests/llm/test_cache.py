import json
import os
import random
import shutil
import sqlite3
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm import CacheError, Limits, Meter, ModelSettings, ModelSpecError, ask, metering
from llm.cache import CachedAnswer, open_cache
from llm.errors import AnswerError
from llm.journal import journal
from llm.trace import read_calls
from tests.llm.examinee import EXAMINEE, GOOD, OPINION, View, fail, put, served, spec
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.processes import Forked

REMEDY = "delete it with its -wal and -shm files"
PICTURE = Path(__file__).parents[2] / "cases" / "builtin" / "images" / "surgery-01.png"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def good(request: ChatRequest) -> dict[str, Any]:
    return GOOD


async def test_the_cache_is_off_unless_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with FakeServer() as server:
        await put(served(server))
        await put(served(server))
        assert len(server.requests) == 2 and files_in(tmp_path) == []


async def test_an_answer_is_asked_for_once_and_then_costs_nothing(file: Path) -> None:
    with FakeServer(answer=good, faults=["500"]) as server:
        settings = served(server, cache=str(file), prices={spec(server): (1.0, 1.0)})
        first, asked = await put(settings)
        second, found = await put(settings)
        assert len(server.requests) == 2
    assert first == second == OPINION
    assert not asked.cached and asked.attempts == 2 and (asked.cost or 0) > 0
    assert found.cached and (found.attempts, found.cost) == (0, 0.0)
    assert (found.input_tokens, found.output_tokens) == (asked.input_tokens, asked.output_tokens)


async def test_a_hit_is_recorded_in_full_like_any_other_call(file: Path, tmp_path: Path) -> None:
    trace_file = tmp_path / "trace.jsonl"
    with FakeServer(answer=good) as server:
        await put(served(server, cache=str(file)))
        with journal(trace_file):
            await put(served(server, cache=str(file), trace_file=str(trace_file)))
            await put(served(server, cache=str(file), trace_file=str(trace_file)))
        assert len(server.requests) == 1
    (line,) = trace_file.read_text("utf-8").splitlines()
    (call,) = read_calls([line]).calls
    assert call.cached and call.answer == OPINION.model_dump(mode="json") and call.messages is not None


async def test_only_valid_answers_are_kept(file: Path) -> None:
    with FakeServer(answer=good, faults=["cut_json", "cut_json"]) as server:
        settings = served(server, cache=str(file))
        await fail(settings, AnswerError)
        opinion, call = await put(settings)
    assert opinion == OPINION and not call.cached


@pytest.mark.parametrize("changed", [{"epoch": 1}, {"seed": 2}, {"temperature": 1.0}, {"scope": "elsewhere"}])
async def test_another_epoch_seed_or_place_is_asked_for_an_answer_of_its_own(
    file: Path, changed: dict[str, Any]
) -> None:
    with FakeServer(answer=good) as server:
        await put(served(server, cache=str(file)))
        _, call = await put(served(server, cache=str(file), **changed))
    assert not call.cached


async def test_two_seats_with_the_very_same_question_are_both_asked(file: Path) -> None:
    with FakeServer(answer=good) as server:
        for place in ("seat 1", "seat 2", "seat 1"):
            await ask(EXAMINEE, View(), served(server, cache=str(file)), language="en", place=place)
        assert len(server.requests) == 2


async def test_a_picture_counts_by_what_it_shows_and_not_by_its_name(file: Path, tmp_path: Path) -> None:
    same, other = tmp_path / "renamed.png", tmp_path / "surgery-01.png"
    shutil.copy(PICTURE, same)
    other.write_bytes(PICTURE.read_bytes() + b"\0")
    with FakeServer(answer=good) as server:
        settings = served(server, cache=str(file))
        await put(settings, pictures=[str(PICTURE)])
        _, renamed = await put(settings, pictures=[str(same)])
        _, changed = await put(settings, pictures=[str(other)])
    assert renamed.cached and not changed.cached


async def test_a_hit_is_not_held_to_the_limits_and_not_counted(file: Path) -> None:
    meter = Meter("case", Limits(calls=0, tokens=0))
    with FakeServer(answer=good) as server:
        await put(served(server, cache=str(file)))
        with metering(meter):
            opinion, call = await put(served(server, cache=str(file)))
    assert opinion == OPINION and call.cached and (meter.spent.calls, meter.spent.tokens) == (0, 0)


async def test_rules_are_not_kept(file: Path) -> None:
    await put(ModelSettings(cache=str(file)))
    assert files_in(file.parent) == []


async def test_no_key_of_the_environment_stands_in_the_cache(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setenv("WARDROUND_API_KEY", "key-of-the-ward")
    with FakeServer(answer=good) as server:
        await put(served(server, cache=str(file)))
    written = b"".join(path.read_bytes() for path in file.parent.glob("cache.sqlite*"))
    assert b"It fits." in written and b"key-of-the-ward" not in written


# Files that cannot be used


@pytest.fixture
def notes(file: Path) -> Iterator[Path]:
    file.write_text("my notes " * 400, encoding="utf-8")
    yield file
    assert file.read_text("utf-8").startswith("my notes")


async def test_a_file_that_is_no_database_is_one_clear_error_and_nothing_is_sent(notes: Path) -> None:
    with FakeServer() as server:
        with pytest.raises(
            CacheError, match=rf"response cache .*cache\.sqlite cannot be used \(.*not a database.*{REMEDY}"
        ):
            await put(served(server, cache=str(notes)))
        assert server.requests == []
    assert issubclass(CacheError, ModelSpecError)


@pytest.mark.parametrize("table", ["answers", "checkpoints"])
def test_the_database_of_something_else_is_refused_and_left_alone(file: Path, table: str) -> None:
    with sqlite3.connect(file) as database:
        database.execute(f"CREATE TABLE {table} (question TEXT, text TEXT)")
    with pytest.raises(CacheError, match=REMEDY):
        open_cache(str(file)).find("key")
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [(table,)]


def test_a_folder_in_the_way_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match=REMEDY):
        open_cache(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_an_unwritable_file_is_found_out_at_once(file: Path) -> None:
    open_cache(str(file)).keep("key", "model", CachedAnswer("{}", 1, 1))
    file.chmod(stat.S_IREAD)
    file.parent.chmod(stat.S_IREAD | stat.S_IEXEC)
    try:
        with pytest.raises(CacheError):
            open_cache(str(file) + "-other")
    finally:
        file.parent.chmod(stat.S_IRWXU)


def test_a_cache_that_was_deleted_is_made_anew(file: Path) -> None:
    open_cache(str(file)).keep("key", "model", CachedAnswer("{}", 1, 1))
    for path in file.parent.glob("cache.sqlite*"):
        path.unlink()
    assert open_cache(str(file)).find("key") is None
    open_cache(str(file)).keep("key", "model", CachedAnswer("{}", 1, 1))
    assert file.exists()


@pytest.mark.parametrize("changed", ["'{\"level\": 2}'", "CAST(x'ff22' AS TEXT)", "x'00'"])
def test_an_entry_that_was_changed_in_the_file_is_asked_again_and_the_others_are_not(
    file: Path, caplog: pytest.LogCaptureFixture, changed: str
) -> None:
    for key in ("key", "other"):
        open_cache(str(file)).keep(key, "model", CachedAnswer('{"level": 1}', 1, 1))
    with sqlite3.connect(file) as database:
        database.execute(f"UPDATE answers SET answer = {changed} WHERE key = 'key'")
    assert open_cache(str(file)).find("key") is None
    assert f"{file}: an entry is damaged; its question is asked again" in caplog.text
    open_cache(str(file)).keep("key", "model", CachedAnswer('{"level": 3}', 1, 1))
    assert open_cache(str(file)).find("key") == CachedAnswer('{"level": 3}', 1, 1)
    assert open_cache(str(file)).find("other") == CachedAnswer('{"level": 1}', 1, 1)


def answer_of(number: int) -> CachedAnswer:
    return CachedAnswer(json.dumps({"level": number, "reason": "because " * 20}), number, 7)


@cache
def filled() -> bytes:
    """A cache file with forty answers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cache.sqlite"
        for number in range(40):
            open_cache(str(file)).keep(f"key {number}", "model", answer_of(number))
        with sqlite3.connect(file) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), damage=st.integers(0, 64))
def test_a_damaged_file_gives_the_right_answer_or_none_or_an_error_and_never_a_wrong_one(
    seed: int, damage: int
) -> None:
    rng = random.Random(seed)
    content = bytearray(filled())
    for _ in range(damage):
        content[rng.randrange(len(content))] = rng.randrange(256)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cache.sqlite"
        file.write_bytes(content)
        for number in range(40):
            try:
                found = open_cache(str(file)).find(f"key {number}")
            except CacheError:
                assert damage
                continue
            assert found == answer_of(number) or (damage and found is None)


# Several at once


def write_much() -> None:
    file, name = sys.argv[1:]
    for number in range(200):
        open_cache(file).keep(f"{name} {number}", "model", CachedAnswer(f'{{"level": {number}}}', number, 1))
        open_cache(file).keep("shared", "model", CachedAnswer('{"level": 1}', 1, 1))


@pytest.mark.slow
def test_several_processes_and_threads_share_one_file(file: Path) -> None:
    writers = [Forked([file, name], program=write_much) for name in "ab"]

    def write(name: str) -> None:
        for number in range(100):
            open_cache(str(file)).keep(f"{name} {number}", "model", CachedAnswer("{}", number, 1))

    threads = [threading.Thread(target=write, args=(name,)) for name in "cd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [writer.ended().returncode for writer in writers] == [0, 0]
    for name, count in {"a": 200, "b": 200, "c": 100, "d": 100}.items():
        kept = [open_cache(str(file)).find(f"{name} {number}") for number in range(count)]
        assert [found.input_tokens for found in kept if found] == list(range(count))
    assert open_cache(str(file)).find("shared") == CachedAnswer('{"level": 1}', 1, 1)


def begin_at_a_time() -> None:
    file, start, name = sys.argv[1:]
    time.sleep(max(0.0, float(start) - time.time()))
    open_cache(file).keep(name, "model", CachedAnswer("{}", 1, 1))


@pytest.mark.slow
def test_several_processes_may_make_the_file_in_the_same_moment(file: Path) -> None:
    start = time.time() + 1
    openers = [Forked([file, start, name], program=begin_at_a_time) for name in "abcd"]
    assert [opener.ended().returncode for opener in openers] == [0] * 4
    assert all(open_cache(str(file)).find(name) for name in "abcd")
