"""A provider's batch interface in OpenAI's form, behind the same client: what is asked side by side goes as one batch.

Questions are collected until none has come for a moment, uploaded as a file, and answered when the batch is done, which
may take a day. Whoever asks waits as for any answer: retries, forms, limits and records are the same. Which batch holds
which question stands in a file, so that a run that was killed finds its batches again instead of paying twice.
"""

import asyncio
import hashlib
import json
import logging
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2

from llm.transport import ENCODINGS, held

SECONDS = 90_000.0  # that an answer may take: the day of a batch, and an hour
AT_ONCE = 100_000  # questions that may wait for batches
_QUIET = 2.0  # seconds without a further question after which a batch is sent
_LARGEST, _BYTES = 1_000, 100 * 2**20  # questions of one batch, and their bytes (a service takes 200 MB)
_MOST = 256 * 2**20  # bytes of the answers of one batch
_POLLS = (1.0, 1.5, 60.0)  # seconds until the first look, by how much longer each time, and the longest
_AWAY = 1_800.0  # seconds for which a server may not answer, with a batch under way or to be sent
_LAG = 60.0  # for which a listing of batches may lack one that was made
_OVER = ("completed", "failed", "expired", "cancelled")
_PASSING = (408, 409, 425, 429)  # and from 500 on
_REFUSED = (425, 429)  # with which nothing was taken
_DOWNLOADS = 3  # of a file whose last line is cut off
_OF_A_BODY = ("host", "connection", "content-length", "content-type", "transfer-encoding", "accept-encoding")
_PATH = "/chat/completions"

_log = logging.getLogger(__name__)


class _QueueFullError(Exception):
    """The service takes no further batch of this account before another has ended."""


class BatchTransport(httpx2.AsyncBaseTransport):
    """An HTTP transport that answers requests for completions from batches, and lets others through.

    Args:
        file: JSON lines of the files uploaded, each with its requests, and of the batches made of them; made if new.
            Of one run: what stands in it is answered by the batch that it was sent with.
    """

    def __init__(self, file: str) -> None:
        self._file = Path(file).expanduser()
        self._sent: dict[str, list[tuple[str, str]]] | None = None  # by request: its files and places, the oldest first
        self._made: dict[str, str] = {}  # the batch of a file
        self._waiting: list[tuple[str, bytes, asyncio.Future[httpx2.Response]]] = []
        self._answers: dict[str, asyncio.Task[dict[str, httpx2.Response]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._client: httpx2.AsyncClient | None = None
        self._base = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to a request, when its batch is done."""
        body = await request.aread()
        base, found, _ = str(request.url).partition(_PATH)
        if self._client is None:
            kept = {name: value for name, value in request.headers.items() if name not in _OF_A_BODY}
            hooks: dict[str, list[Any]] = {"response": [partial(held, most=_MOST)]}
            self._client = httpx2.AsyncClient(event_hooks=hooks, headers={**kept, **ENCODINGS}, timeout=60.0)
            self._base = base
        if not found:
            return await self._client.send(httpx2.Request(request.method, request.url, content=body))
        key = hashlib.sha256(base.encode() + body).hexdigest()[:32]
        if self._sent is None:
            self._sent = await asyncio.to_thread(self._noted)
        while earlier := self._sent.get(key):
            name, place = earlier.pop(0)
            with suppress(_QueueFullError):
                if (known := (await self._answered(name)).get(place)) is not None:
                    return known
        future: asyncio.Future[httpx2.Response] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, body, future))
        self._collect(0.0 if len(self._waiting) >= _LARGEST else _QUIET)
        return await future

    async def aclose(self) -> None:
        """Close the connections; batches go on, and are found again."""
        if self._client is not None:
            await self._client.aclose()

    def _collect(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._begin)

    def _begin(self) -> None:
        size = taken = 0
        for _, body, _ in self._waiting[:_LARGEST]:
            size += len(body)
            if taken and size > _BYTES:
                break
            taken += 1
        now, self._waiting = self._waiting[:taken], self._waiting[taken:]
        if self._waiting:
            self._collect(0.0)
        live = [one for one in now if not one[2].done()]  # else its wait was broken off
        if live:
            task = asyncio.create_task(self._run(live))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, asked: list[tuple[str, bytes, asyncio.Future[httpx2.Response]]]) -> None:
        """One batch, from its upload to the answers; what goes wrong with all of it is everybody's answer."""
        try:
            places = [f"{number}-{key}" for number, (key, _, _) in enumerate(asked)]
            while True:
                name = await self._send(places, [body for _, body, _ in asked])
                try:
                    answers = await self._answered(name)
                    break
                except _QueueFullError:
                    await asyncio.sleep(_POLLS[2])
                finally:
                    self._answers.pop(name, None)
        except httpx2.HTTPStatusError as error:
            refused = (error.response.status_code, error.response.content)
            answers = {place: httpx2.Response(refused[0], content=refused[1]) for place in places}
        except Exception as error:
            for _, _, future in asked:
                if not future.done():
                    future.set_exception(error)
            return
        for place, (_, _, future) in zip(places, asked, strict=True):
            if not future.done():
                future.set_result(answers.get(place) or _refusal(500, "the batch ended without this answer"))

    async def _send(self, places: list[str], bodies: list[bytes]) -> str:
        """The file of the questions, of which a batch was made; it is noted first, so that its batch can be found."""
        lines = [
            json.dumps({"custom_id": place, "method": "POST", "url": f"/v1{_PATH}", "body": json.loads(body)})
            for place, body in zip(places, bodies, strict=True)
        ]
        content = {"file": ("questions.jsonl", "\n".join(lines).encode() + b"\n", "application/jsonl")}
        name = str((await self._get("/files", "POST", data={"purpose": "batch"}, files=content))["id"])
        await asyncio.to_thread(self._note, {"file": name, "requests": places})
        wanted = {"input_file_id": name, "endpoint": f"/v1{_PATH}", "completion_window": "24h"}
        made = await self._get("/batches", "POST", unless=partial(self._batch_of, name), json=wanted)
        self._made[name] = str(made["id"])
        await asyncio.to_thread(self._note, {"file": name, "batch": made["id"]})
        _log.info("batch %s: %d questions", made["id"], len(places))
        return name

    async def _batch_of(self, name: str) -> dict[str, Any] | None:
        """The batch that was made of a file, though nothing tells of it; None if there is none, nor comes to be listed.

        A listing may lag behind what was made, and whoever made it may have been killed in this very moment.
        """
        pause, growth, longest = _POLLS
        waited = 0.0
        while True:
            try:
                if (found := await self._listed(name)) or waited >= _LAG:
                    return found
            except httpx2.HTTPStatusError:  # a server that lists none
                return None
            if not waited:
                _log.info("file %s: no batch of it is listed yet; looking for it for %.0f s", name, _LAG)
            await asyncio.sleep(pause)
            waited += pause
            pause = min(longest, pause * growth)

    async def _listed(self, name: str) -> dict[str, Any] | None:
        wanted: dict[str, Any] = {"limit": 100}
        while True:
            page = await self._get("/batches", params=wanted)
            listed = page.get("data") or []
            if found := next((batch for batch in listed if batch.get("input_file_id") == name), None):
                return dict(found)
            if not listed or not page.get("has_more"):
                return None
            wanted["after"] = listed[-1]["id"]

    async def _answered(self, name: str) -> dict[str, httpx2.Response]:
        """The answers of a file's batch by place, when it is over; whoever asks first waits for all."""
        if name not in self._answers:
            self._answers[name] = asyncio.create_task(self._wait_for(name))
        return await asyncio.shield(self._answers[name])

    async def _wait_for(self, name: str) -> dict[str, httpx2.Response]:
        pause, growth, longest = _POLLS
        batch = self._made.get(name) or (await self._batch_of(name) or {}).get("id")
        while batch:
            try:
                state = await self._get(f"/batches/{batch}")
                if state.get("status") in _OVER:
                    return await self._read(state)
            except httpx2.HTTPStatusError as error:
                if error.response.status_code == HTTPStatus.NOT_FOUND:
                    break  # no longer kept: its questions are asked anew
                raise
            await asyncio.sleep(pause)
            pause = min(longest, pause * growth)
        return {}

    async def _read(self, state: dict[str, Any]) -> dict[str, httpx2.Response]:
        answers: dict[str, httpx2.Response] = {}
        for name in ("error_file_id", "output_file_id"):
            for answer in await self._lines(state[name]) if state.get(name) else ():
                given = answer.get("response") or {}
                if "status_code" in given and "body" in given:  # as ASCII: half a character has no other bytes
                    content = json.dumps(given["body"]).encode()
                    heads = {"content-type": "application/json"}
                    reply = httpx2.Response(given["status_code"], headers=heads, content=content)
                    answers[str(answer.get("custom_id"))] = reply
        if state["status"] == "failed":
            faults = (state.get("errors") or {}).get("data") or [{}]
            if faults[0].get("code") == "token_limit_exceeded":  # too much of the account's is under way
                raise _QueueFullError
            refused = _refusal(400, f"the batch was refused: {faults[0].get('message', 'no reason given')}")
            raise httpx2.HTTPStatusError("refused", request=httpx2.Request("GET", self._base), response=refused)
        return answers

    async def _lines(self, name: str) -> list[dict[str, Any]]:
        """The lines of a file that can be read, which is got again where it seems cut off."""
        found: list[dict[str, Any] | None] = []
        for _ in range(_DOWNLOADS):
            text = await self._get(f"/files/{name}/content", read=str)
            found = [_object(line) for line in text.split("\n") if line.strip()]
            if found[-1:] != [None]:
                break
        return [line for line in found if line is not None]

    async def _get(
        self,
        path: str,
        method: str = "GET",
        *,
        read: Callable[[str], Any] = lambda text: _reply(text),
        unless: Callable[[], Awaitable[Any]] | None = None,
        **content: Any,
    ) -> Any:
        """What a reply holds; a server that is away, overrun or cut short is waited for.

        Args:
            path: behind the server's address.
            method: of HTTP.
            read: what is made of a reply's text; a ValueError if it is none.
            unless: before a request that may have been taken is sent again, tells what came of it.
            content: of the request.
        """
        assert self._client is not None
        pause, growth, longest = _POLLS
        waited = 0.0
        while True:
            try:
                response = await self._client.request(method, f"{self._base}{path}", **content)
                response.raise_for_status()
                return read(response.text)
            except (httpx2.TransportError, httpx2.HTTPStatusError, ValueError) as error:
                status = error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else _PASSING[0]
                if (status not in _PASSING and status < HTTPStatus.INTERNAL_SERVER_ERROR) or waited > _AWAY:
                    raise
                refused = status in _REFUSED or isinstance(error, httpx2.ConnectError)
            await asyncio.sleep(pause)
            waited += pause
            pause = min(longest, pause * growth)
            if unless is not None and not refused and (found := await unless()):
                return found

    def _noted(self) -> dict[str, list[tuple[str, str]]]:
        sent: dict[str, list[tuple[str, str]]] = defaultdict(list)
        if self._file.exists():
            for line in self._file.read_text("utf-8").split("\n"):
                try:
                    noted = json.loads(line)
                except ValueError:  # cut off by a kill
                    continue
                name = noted.get("file") or noted["batch"]  # older lines name the batch alone
                if "batch" in noted:
                    self._made[name] = noted["batch"]
                for place in noted.get("requests", ()):
                    sent[place.partition("-")[2]].append((name, place))
        return sent

    def _note(self, what: dict[str, Any]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as out:
            out.write("\n" + json.dumps(what))  # a line that was cut off ends here
            out.flush()
            os.fsync(out.fileno())


def _reply(text: str) -> dict[str, Any]:
    """What the interface says of a file, a batch or several; a ValueError if it is a page, or an error with a 200."""
    found = _object(text)
    if found is None or not ("id" in found or "data" in found):
        raise ValueError(f"no reply of a batch interface: {text[:200]!r}")
    return found


def _object(line: str) -> dict[str, Any] | None:
    """The object of a line; None if it is none."""
    with suppress(ValueError):
        found = json.loads(line)
        return found if isinstance(found, dict) else None
    return None


def _refusal(status: int, words: str) -> httpx2.Response:
    return httpx2.Response(status, json={"error": {"message": words, "type": "batch_error"}})
