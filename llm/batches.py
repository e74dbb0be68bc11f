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
_OVER = ("completed", "failed", "expired", "cancelled")
_PASSING = (408, 429, 500, 502, 503, 504)
_OF_A_BODY = ("host", "connection", "content-length", "content-type", "transfer-encoding", "accept-encoding")
_PATH = "/chat/completions"

_log = logging.getLogger(__name__)


class _QueueFullError(Exception):
    """The service takes no further batch of this account before another has ended."""


class BatchTransport(httpx2.AsyncBaseTransport):
    """An HTTP transport that answers requests for completions from batches, and lets others through.

    Args:
        file: JSON lines of the batches sent, each with its requests; made if new. Of one run: what stands in it is
            answered by the batch that it was sent with.
    """

    def __init__(self, file: str) -> None:
        self._file = Path(file).expanduser()
        self._sent: dict[str, list[tuple[str, str]]] | None = None  # by request: its batches, the oldest first
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
        if earlier := self._sent.get(key):
            batch, place = earlier.pop(0)
            if (known := (await self._answered(batch)).get(place)) is not None:
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
                batch = await self._send(places, [body for _, body, _ in asked])
                await asyncio.to_thread(self._note, batch, places)
                try:
                    answers = await self._answered(batch)
                    break
                except _QueueFullError:
                    await asyncio.sleep(_POLLS[2])
                finally:
                    self._answers.pop(batch, None)
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
        lines = [
            json.dumps({"custom_id": place, "method": "POST", "url": f"/v1{_PATH}", "body": json.loads(body)})
            for place, body in zip(places, bodies, strict=True)
        ]
        content = {"file": ("questions.jsonl", "\n".join(lines).encode() + b"\n", "application/jsonl")}
        uploaded = await self._call("POST", "/files", data={"purpose": "batch"}, files=content)
        wanted = {"input_file_id": uploaded["id"], "endpoint": f"/v1{_PATH}", "completion_window": "24h"}
        made = await self._call("POST", "/batches", json=wanted)
        _log.info("batch %s: %d questions", made["id"], len(places))
        return str(made["id"])

    async def _answered(self, batch: str) -> dict[str, httpx2.Response]:
        """The answers of a batch by place, when it is over; whoever asks first waits for all."""
        if batch not in self._answers:
            self._answers[batch] = asyncio.create_task(self._wait_for(batch))
        return await asyncio.shield(self._answers[batch])

    async def _wait_for(self, batch: str) -> dict[str, httpx2.Response]:
        pause, growth, longest = _POLLS
        while True:
            try:
                state = await self._call("GET", f"/batches/{batch}")
                if state["status"] in _OVER:
                    return await self._read(state)
            except httpx2.HTTPStatusError as error:
                if error.response.status_code == HTTPStatus.NOT_FOUND:
                    return {}  # no longer kept: its questions are asked anew
                raise
            await asyncio.sleep(pause)
            pause = min(longest, pause * growth)

    async def _read(self, state: dict[str, Any]) -> dict[str, httpx2.Response]:
        answers = {}
        for name in ("output_file_id", "error_file_id"):
            if not state.get(name):
                continue
            for line in (await self._get(f"/files/{state[name]}/content")).splitlines():
                answer = json.loads(line)
                given = answer.get("response")
                if given:
                    answers[answer["custom_id"]] = httpx2.Response(given["status_code"], json=given["body"])
        if state["status"] == "failed":
            faults = (state.get("errors") or {}).get("data") or [{}]
            if faults[0].get("code") == "token_limit_exceeded":  # too much of the account's is under way
                raise _QueueFullError
            refused = _refusal(400, f"the batch was refused: {faults[0].get('message', 'no reason given')}")
            raise httpx2.HTTPStatusError("refused", request=httpx2.Request("GET", self._base), response=refused)
        return answers

    async def _call(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self._get(path, method, **content))
        return found

    async def _get(self, path: str, method: str = "GET", **content: Any) -> str:
        """The body of a reply; a server that is away or overrun is waited for."""
        assert self._client is not None
        pause, growth, longest = _POLLS
        waited = 0.0
        while True:
            try:
                response = await self._client.request(method, f"{self._base}{path}", **content)
                response.raise_for_status()
                return response.text
            except (httpx2.TransportError, httpx2.HTTPStatusError) as error:
                refused = isinstance(error, httpx2.HTTPStatusError) and error.response.status_code not in _PASSING
                if refused or waited > _AWAY:
                    raise
            await asyncio.sleep(pause)
            waited += pause
            pause = min(longest, pause * growth)

    def _noted(self) -> dict[str, list[tuple[str, str]]]:
        sent: dict[str, list[tuple[str, str]]] = defaultdict(list)
        if self._file.exists():
            for line in self._file.read_text("utf-8").split("\n"):
                try:
                    noted = json.loads(line)
                except ValueError:  # cut off by a kill
                    continue
                for place in noted["requests"]:
                    sent[place.partition("-")[2]].append((noted["batch"], place))
        return sent

    def _note(self, batch: str, places: list[str]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as out:
            out.write("\n" + json.dumps({"batch": batch, "requests": places}))  # a line that was cut off ends here
            out.flush()
            os.fsync(out.fileno())


def _refusal(status: int, words: str) -> httpx2.Response:
    return httpx2.Response(status, json={"error": {"message": words, "type": "batch_error"}})
