"""OpenAI's batch interface behind the usual client: concurrent questions are collected into one batch.

A batch is uploaded as a file once no further question has come for a moment, and is answered when it is done, which may
take a day. Callers wait as for any answer; retries, forms, limits and records stay the same. A file records which batch
holds which question, so that a killed run finds its batches again instead of paying twice, and which answers are spent
on a failed call, so that its question is asked anew.
"""

import asyncio
import errno
import hashlib
import json
import logging
import math
import os
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from http import HTTPStatus
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from cases.vocabulary import patterns
from llm.errors import AskError, BatchFileError, LimitError
from llm.scopes import holding
from llm.server_quirks import put_right
from llm.transport import ENCODINGS, restrict_response

SECONDS = 90_000.0  # until an answer must have come: the 24 hours of a batch, and an hour
AT_ONCE = 100_000  # questions that may wait for batches at the same time
_QUIET = 2.0  # without a further question before a batch is sent
_MAX_QUESTIONS, _BYTES = 1_000, 100 * 2**20  # questions and bytes of one batch at most (a service takes 200 MB)
_MAX_ANSWER_BYTES = 256 * 2**20  # bytes of the answers of one batch at most
_POLLS = (1.0, 1.5, 60.0)  # seconds until the first poll, growth factor, and the longest pause
_MAX_OUTAGE = 1_800.0  # seconds that the server may be unreachable while a batch is sent or under way
_LAG = 60.0  # seconds that a new batch may be missing from the listing
_ENDED = ("completed", "failed", "expired", "cancelled")
_TRANSIENT = (408, 409, 425, 429)  # and any status from 500
_SAME_FAULT = 5  # equal 500s, as of a server that has files but nowhere to keep them
_BEHIND = patterns("llm", "servers")["behind"]  # a 500 of a gateway whose server is away
_OF_THE_QUESTION = (200, 400, 404, 413, 422)  # what a line of an earlier batch may say of a question
_NOT_ACCEPTED = (425, 429)  # the server has accepted nothing
_DOWNLOADS = 3  # attempts for a file whose last line is cut off
_BODY_HEADERS = ("host", "connection", "content-length", "content-type", "transfer-encoding", "accept-encoding")
_PATH = "/chat/completions"
_BEGIN = '{"file"'  # how each line of a file begins

_log = logging.getLogger(__name__)


class _QueueFullError(Exception):
    """The service accepts no further batch of this account until another has ended."""


class _Read(NamedTuple):
    """The answer to a question, and where it stands."""

    file: str
    place: str
    response: httpx2.Response


_reading: ContextVar[list[tuple["BatchTransport", _Read]] | None] = ContextVar("answers_of_batches", default=None)


@contextmanager
def spent_if_failed() -> Iterator[None]:
    """Record the answers read inside the block as spent if a call fails in it: its record counts them already."""
    with holding(_reading, []) as answers:
        try:
            yield
        except LimitError:  # the question continues where it is once the limit is raised
            raise
        except AskError:
            for transport, answer in answers or ():
                transport._record({"file": answer.file, "spent": [answer.place]})
            raise


class BatchTransport(httpx2.AsyncBaseTransport):
    """An HTTP transport that answers completion requests through batches and forwards all others.

    Args:
        file: JSON lines that record the uploaded files with their requests, and the batches made of them; created if
            missing. It belongs to one run: requests found in it are answered by their recorded batch.
    """

    def __init__(self, file: str) -> None:
        self._file = Path(os.path.expanduser(file))
        self._sent: dict[str, list[tuple[str, str]]] | None = None  # request key -> its files and places, oldest first
        self._made: dict[str, str] = {}  # file -> its batch
        self._waiting: list[tuple[str, bytes, asyncio.Future[_Read]]] = []
        self._answers: dict[str, asyncio.Task[dict[str, httpx2.Response]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._client: httpx2.AsyncClient | None = None
        self._base = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer to a request when its batch is done."""
        body = await request.aread()
        base, found, _ = str(request.url).partition(_PATH)
        if self._client is None:
            headers = {name: value for name, value in request.headers.items() if name not in _BODY_HEADERS}
            hooks: dict[str, list[Any]] = {"response": [partial(restrict_response, most=_MAX_ANSWER_BYTES)]}
            self._client = httpx2.AsyncClient(event_hooks=hooks, headers={**headers, **ENCODINGS}, timeout=60.0)
            self._base = base
        if not found:
            return await self._client.send(httpx2.Request(request.method, request.url, content=body))
        key = hashlib.sha256(base.encode() + body).hexdigest()[:32]
        if self._sent is None:
            self._sent = await asyncio.to_thread(self._read_file)
        while earlier := self._sent.get(key):
            name, place = earlier.pop(0)
            with suppress(_QueueFullError):
                known = (await self._answers_of(name)).get(place)
                # Key, account or server may be in order again.
                if known is not None and known.status_code in _OF_THE_QUESTION:
                    return self._read_by_call(_Read(name, place, known))
        future: asyncio.Future[_Read] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, body, future))
        self._schedule(0.0 if len(self._waiting) >= _MAX_QUESTIONS else _QUIET)
        return self._read_by_call(await future)

    def _read_by_call(self, answer: _Read) -> httpx2.Response:
        if (answers := _reading.get()) is not None:
            answers.append((self, answer))
        return answer.response

    async def aclose(self) -> None:
        """Close the connections; batches continue and are found again."""
        if self._client is not None:
            await self._client.aclose()

    def _schedule(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def _start(self) -> None:
        sizes = accumulate(len(body) for _, body, _ in self._waiting[:_MAX_QUESTIONS])
        taken = max(1, sum(size <= _BYTES for size in sizes))
        batch, self._waiting = self._waiting[:taken], self._waiting[taken:]
        if self._waiting:
            self._schedule(0.0)
        live = [question for question in batch if not question[2].done()]  # the others were cancelled
        if live:
            task = asyncio.create_task(self._run(live))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, questions: list[tuple[str, bytes, asyncio.Future[_Read]]]) -> None:
        """Run one batch from upload to answers; an error of the whole batch becomes the answer to each question."""
        name = ""
        try:
            places = [f"{number}-{key}" for number, (key, _, _) in enumerate(questions)]
            while True:
                name = await self._send(places, [body for _, body, _ in questions])
                try:
                    answers = await self._answers_of(name)
                    break
                except _QueueFullError:
                    await asyncio.sleep(_POLLS[2])
                finally:
                    self._answers.pop(name, None)
        except httpx2.HTTPStatusError as error:
            refused = (error.response.status_code, error.response.content)
            answers = {place: httpx2.Response(refused[0], content=refused[1]) for place in places}
        except Exception as error:
            for _, _, future in questions:
                if not future.done():
                    future.set_exception(error)
            return
        for place, (_, _, future) in zip(places, questions, strict=True):
            if not future.done():
                response = answers.get(place) or _error_response(500, "the batch ended without this answer")
                future.set_result(_Read(name, place, response))

    async def _send(self, places: list[str], bodies: list[bytes]) -> str:
        """Upload the questions, create a batch of the file and return the file's id.

        The file is recorded before the batch is created, so that the batch can be found after a kill.
        """
        lines = [
            json.dumps({"custom_id": place, "method": "POST", "url": f"/v1{_PATH}", "body": json.loads(body)})
            for place, body in zip(places, bodies, strict=True)
        ]
        content = {"file": ("questions.jsonl", "\n".join(lines).encode() + b"\n", "application/jsonl")}
        name = str((await self._request("/files", "POST", data={"purpose": "batch"}, files=content))["id"])
        await asyncio.to_thread(self._record, {"file": name, "requests": places})
        wanted = {"input_file_id": name, "endpoint": f"/v1{_PATH}", "completion_window": "24h"}
        made = await self._request("/batches", "POST", unless=partial(self._find_batch, name), json=wanted)
        self._made[name] = str(made["id"])
        await asyncio.to_thread(self._record, {"file": name, "batch": made["id"]})
        _log.info("batch %s: %d questions", made["id"], len(places))
        return name

    async def _find_batch(self, name: str) -> dict[str, Any] | None:
        """Find the unrecorded batch of a file; None if the server lists none within `_LAG` seconds.

        The process may have been killed right after creating the batch, and a listing may lag behind.
        """
        async for waited in _pauses(_LAG):
            try:
                if found := await self._find_listed(name):
                    return found
            except httpx2.HTTPStatusError:  # the server cannot list batches
                break
            if not waited:
                _log.info("file %s: no batch is listed for it yet; checking for %.0f s", name, _LAG)
        return None

    async def _find_listed(self, name: str) -> dict[str, Any] | None:
        wanted: dict[str, Any] = {"limit": 100}
        while True:
            page = await self._request("/batches", params=wanted)
            listed = page.get("data") or []
            if found := next((batch for batch in listed if batch.get("input_file_id") == name), None):
                return dict(found)
            if not listed or not page.get("has_more"):
                return None
            wanted["after"] = listed[-1]["id"]

    async def _answers_of(self, name: str) -> dict[str, httpx2.Response]:
        """Return the answers of a file's batch by place, once it has ended; concurrent callers share one wait."""
        if name not in self._answers:
            self._answers[name] = asyncio.create_task(self._wait_for(name))
        return await asyncio.shield(self._answers[name])

    async def _wait_for(self, name: str) -> dict[str, httpx2.Response]:
        batch = self._made.get(name) or (await self._find_batch(name) or {}).get("id")
        if not batch:
            return {}
        async for waited in _pauses():
            state = await self._request(f"/batches/{batch}", missing={})
            if state.get("status") in _ENDED:
                return await self._read(state)
            if not state and waited >= _LAG:
                break  # the batch was deleted: its questions are sent again
        return {}

    async def _read(self, state: dict[str, Any]) -> dict[str, httpx2.Response]:
        answers: dict[str, httpx2.Response] = {}
        for name in ("error_file_id", "output_file_id"):
            for answer in await self._download_lines(state[name]) if state.get(name) else ():
                place, given = str(answer.get("custom_id")), answer.get("response")
                if not isinstance(given, dict) or not isinstance(status := given.get("status_code"), int):
                    continue
                if "body" in given and (place not in answers or status == HTTPStatus.OK):
                    content = json.dumps(given["body"]).encode()  # ASCII: half a surrogate pair has no UTF-8 bytes
                    if status == HTTPStatus.OK:  # as of an answer that comes by itself
                        status, content = put_right(content) or (status, content)
                    heads = {"content-type": "application/json"}
                    answers[place] = httpx2.Response(status, headers=heads, content=content)
        if state["status"] == "failed":
            faults = (state.get("errors") or {}).get("data") or [{}]
            if faults[0].get("code") == "token_limit_exceeded":  # the account has too many tokens enqueued
                raise _QueueFullError
            refused = _error_response(400, f"the batch was refused: {faults[0].get('message', 'no reason given')}")
            raise httpx2.HTTPStatusError("refused", request=httpx2.Request("GET", self._base), response=refused)
        return answers

    async def _download_lines(self, name: str) -> list[dict[str, Any]]:
        """Download a file and return its readable lines, none if it is gone; retry if its end seems cut off."""
        found: list[dict[str, Any] | None] = []
        for _ in range(_DOWNLOADS):
            text = await self._request(f"/files/{name}/content", read=str, missing="")
            found = [_object(line) for line in text.split("\n") if line.strip()]
            if found[-1:] != [None]:
                break
        return [line for line in found if line is not None]

    async def _request(
        self,
        path: str,
        method: str = "GET",
        *,
        read: Callable[[str], Any] | None = None,
        unless: Callable[[], Awaitable[Any]] | None = None,
        missing: Any = None,
        **content: Any,
    ) -> Any:
        """Send a request and return the parsed reply; retry while the server is unreachable, busy or cuts replies off.

        ``read`` raises ValueError for a text that is no reply. ``unless`` is called before a request that may have been
        accepted is sent again; its result, if any, is returned instead. ``missing``, if given, is returned for a 404.
        """
        assert self._client is not None
        refused, faults = True, Counter[str]()
        async for waited in _pauses():
            if unless is not None and not refused and (found := await unless()):
                return found
            try:
                response = await self._client.request(method, f"{self._base}{path}", **content)
                response.raise_for_status()
                return (read or _parse_reply)(response.text)
            except (httpx2.TransportError, httpx2.HTTPStatusError, ValueError) as error:
                status = error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else _TRANSIENT[0]
                if status == HTTPStatus.NOT_FOUND and missing is not None:
                    return missing
                if (status not in _TRANSIENT and status < HTTPStatus.INTERNAL_SERVER_ERROR) or waited > _MAX_OUTAGE:
                    raise
                if status == HTTPStatus.INTERNAL_SERVER_ERROR and isinstance(error, httpx2.HTTPStatusError):
                    faults[error.response.text] += 1
                    if max(faults.values()) >= _SAME_FAULT and not _BEHIND.search(error.response.text):
                        raise  # it is up, and set up without batches, as a gateway may be
                refused = status in _NOT_ACCEPTED or isinstance(error, httpx2.ConnectError)
        raise AssertionError("the pauses never end")

    def _read_file(self) -> dict[str, list[tuple[str, str]]]:
        requests: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for entry in _entries(self._file):
            if "batch" in entry:
                self._made[entry["file"]] = entry["batch"]
            for place in entry.get("requests", ()):
                requests[place.partition("-")[2]].append((entry["file"], place))
            for place in entry.get("spent", ()):
                with suppress(ValueError):  # of a batch that could not be sent
                    requests[place.partition("-")[2]].remove((entry["file"], place))
        return requests

    def _record(self, entry: dict[str, Any]) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as out:
                out.write("\n" + json.dumps(entry))  # the line feed comes first, so that a cut-off line ends here
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise BatchFileError(f"{self._file}: batches cannot be written down: {error.strerror or error}") from None


def check_file(file: Path) -> None:
    """Refuse a file of something else, to which batches would be added.

    Raises:
        ValueError: it holds something else, or cannot be read or written; the message names it and the remedy.
    """
    try:
        for _ in _entries(file):
            pass
        place = next(each for each in (file.absolute(), *file.absolute().parents) if each.exists())
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, "cannot be written")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "holds something else than the batches of a run"
        raise ValueError(f"{file}: {why}; name a new file") from error


def _entries(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a file (none if there is no file), without lines that were cut off by a kill.

    Raises:
        ValueError: another line.
        OSError: it cannot be read.
    """
    lines = file.read_text("utf-8").split("\n") if file.exists() else ()
    for line in filter(None, (line.strip("\0") for line in lines)):  # a power cut may leave zeros
        entry = _object(line)
        if entry is not None and "file" in entry:
            yield entry
        elif entry is not None or not _BEGIN.startswith(line[: len(_BEGIN)]):
            raise ValueError(f"not a batch: {line[:80]!r}")


async def _pauses(most: float = math.inf) -> AsyncIterator[float]:
    """Yield the seconds waited so far, at once and after each longer pause, until they reach ``most``."""
    pause, growth, longest = _POLLS
    waited = 0.0
    yield waited
    while waited < most:
        await asyncio.sleep(pause)
        waited += pause
        pause = min(longest, pause * growth)
        yield waited


def _parse_reply(text: str) -> dict[str, Any]:
    """Parse a reply about a file or batches; ValueError for HTML pages and errors sent with status 200."""
    found = _object(text)
    if found is None or not ("id" in found or "data" in found):
        raise ValueError(f"not a reply of a batch interface: {text[:200]!r}")
    return found


def _object(line: str) -> dict[str, Any] | None:
    """Return the JSON object of a line; None if it is not one."""
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        return found if isinstance(found, dict) else None
    return None


def _error_response(status: int, words: str) -> httpx2.Response:
    return httpx2.Response(status, json={"error": {"message": words, "type": "batch_error"}})
