"""A local server that speaks the OpenAI chat protocol, answers any JSON schema and fails on demand.

Real sockets on the loopback device, so that the real client with its retries and time-outs is what is tested::

    with FakeServer(faults=["429", None, "cut_json"]) as server:
        ChatOpenAI(base_url=server.base_url, api_key="x", model="any")
        server.requests[0].fault, server.max_in_flight

From a shell, ``python -m tests.support.fake_server --faults 429=0.1,cut_json=0.05`` prints the base URL and serves
until it is stopped.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from http.client import responses as phrases
from types import TracebackType
from typing import Any, Literal, Self, get_args

from tests.support.fake_batches import FakeBatches
from tests.support.manners import Manner, in_the_manner
from tests.support.schema_sampler import sample, violate

Mode = Literal["json_schema", "json_object", "tools", "text"]
Failure = Literal[
    "401",  # invalid key, quoted in the message
    "402",
    "403",
    "407",  # of a proxy
    "no_model",  # 404, naming the model
    "no_quota",  # 429 without end
    "too_long",  # 400: the prompt is longer than the model's context
    "blind",  # 400: no image input
    "no_room",  # 400: like too_long, in llama-server's words
    "no_mmproj",  # 500: no image input, in llama-server's words
    "400_key",  # an invalid key, reported by a proxy
    "429",  # too many requests, with Retry-After
    "500",
    "502",
    "503",
    "page",  # an HTML page with 200
    "trickle",  # the answer byte by byte, for as long as `hold`
    "half_closed",  # half an answer, then the connection is closed
    "streamed",  # events, although not requested
    "commented",  # comments of a stream, which keep the connection alive, before a plain answer
    "timeout",  # the connection is held, then closed without an answer
    "disconnect",  # the connection is closed at once
    "cut_json",  # the answer stops half-way, finish_reason "length"
    "schema_violation",  # valid JSON with wrong types and a missing field
    "empty_choice",  # no choice at all
    "null_content",  # a choice without content
    "chatter",  # JSON inside prose and a code fence, also instead of a tool call
    "refusal",
]
Fault = Failure | Manner
FAULTS: tuple[Fault, ...] = (*get_args(Failure), *get_args(Manner))
MODES: tuple[Mode, ...] = get_args(Mode)

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


@dataclass
class ChatRequest:
    """A request for a completion, and how it was answered."""

    index: int
    time_in: float
    model: str
    messages: list[dict[str, Any]]
    mode: Mode
    schema: Mapping[str, Any] | None  # answer schema, wherever the request gives it
    name: str  # answer type: name of the schema or the tool
    stream: bool
    body: Mapping[str, Any]
    headers: Mapping[str, str]  # names in lower case
    time_out: float | None = None  # None while it is being answered
    fault: Fault | None = None
    status: int | None = None  # None if the connection was closed without an answer

    @cached_property
    def text(self) -> str:
        """The text of all messages, without images."""
        return "\n".join(_texts(self.messages))

    @cached_property
    def digest(self) -> str:
        """A hash of the messages, which seeds the answer."""
        return digest_of(self.messages)


def digest_of(messages: Any) -> str:
    """Return the hash of a request's messages."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


Answer = Callable[[ChatRequest], Mapping[str, Any] | str | None]
Faults = Sequence[Fault | None] | Callable[[ChatRequest], Fault | None]


@dataclass
class FaultPlan:
    """Draw faults with given probabilities, seeded by the messages and how often they were sent before.

    The same requests get the same faults in any order and at any concurrency, and a retry is a new draw. A plan has
    state: use a new one for each server.
    """

    seed: int
    shares: Mapping[Fault, float]
    _sent: Counter[str] = field(default_factory=Counter, init=False, repr=False)

    def __post_init__(self) -> None:
        if unknown := set(self.shares) - set(FAULTS):
            raise ValueError(f"unknown faults: {', '.join(sorted(unknown))}; known are {', '.join(FAULTS)}")
        if sum(self.shares.values()) > 1 + 1e-9:
            raise ValueError("the shares sum to more than 1")

    def __call__(self, request: ChatRequest) -> Fault | None:
        self._sent[request.digest] += 1
        draw = random.Random(f"{self.seed}:{request.digest}:{self._sent[request.digest]}").random()
        for fault, share in self.shares.items():
            draw -= share
            if draw < 0:
                return fault
        return None


class FakeServer:
    """The server, in its own thread; a context manager.

    Args:
        answer: returns the answer to a request: a dict (sent as JSON or tool arguments), a string (sent unchanged), or
            None for the default, a sample of the requested schema seeded by a hash of the messages.
        faults: the faults of the supported requests in order of arrival, none after the end of the list; or a function
            of the request, such as a :class:`FaultPlan`.
        supports: supported forms of typed answers; other forms are rejected as by vLLM or llama_cpp.server.
        refuses_with: the status of such a rejection.
        refusal: returns the status and the message or whole body with which to reject a request, or None.
        ignores: forms to ignore: the answer depends only on the messages.
        latency: seconds before each answer, or a function of the request that returns them.
        retry_after: the Retry-After of a 429, in seconds.
        hold: seconds for which a "timeout" holds the connection.
        models: names that ``/v1/models`` lists; None: that path does not exist. Requests may name any model.
        patterns: further names that it lists only if asked for patterns, as LiteLLM does.
        port: 0 for a free one.
    """

    def __init__(
        self,
        *,
        answer: Answer | None = None,
        faults: Faults = (),
        supports: Collection[str] = MODES,
        refuses_with: int = 400,
        refusal: Callable[[ChatRequest], tuple[int, str | Mapping[str, Any]] | None] | None = None,
        ignores: Collection[str] = (),
        latency: float | Callable[[ChatRequest], float] = 0.0,
        retry_after: float = 0.05,
        hold: float = 5.0,
        models: Sequence[str] | None = ("fake-model",),
        patterns: Sequence[str] = (),
        port: int = 0,
    ) -> None:
        if unknown := {*supports, *ignores} - set(MODES):
            raise ValueError(f"unknown forms: {', '.join(sorted(unknown))}; known are {', '.join(MODES)}")
        self.answer = answer
        self.faults = faults
        self.supports = frozenset(supports)
        self.refuses_with = refuses_with
        self.refusal = refusal
        self.ignores = frozenset(ignores)
        self.latency = latency
        self.retry_after = retry_after
        self.hold = hold
        self.models = models
        self.patterns = patterns
        self.port = port
        self.requests: list[ChatRequest] = []
        self.batches = FakeBatches(self._answer_batch_line)
        self.in_flight = 0
        self.max_in_flight = 0
        self._supported = 0
        self._held_from: int | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None

    @property
    def base_url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start listening; returns when connections are accepted."""
        listening: Future[int] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(listening)), daemon=True)
        self._thread.start()
        self.port = listening.result()

    def stop(self) -> None:
        """Close all connections and the port."""
        if self._thread is None or self._loop is None or self._stopped is None:
            return
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()
        self._thread = None

    def hold_answers(self, after: int) -> None:
        """Hold all answers except the next ``after``, to keep a client waiting half-way."""
        self._held_from = len(self.requests) + after

    def is_holding(self) -> bool:
        """Return whether those were answered and another request is waiting."""
        return self._held_from is not None and len(self.requests) > self._held_from

    def release(self) -> None:
        """Answer the waiting requests, and stop holding."""
        self.read_all()
        self._held_from = None

    def read_all(self) -> None:
        """Read all requests sent so far, including those still in the sockets from clients that have ended."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(_run_loop(), self._loop).result()

    async def _serve(self, listening: "Future[int]") -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        conversations: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            conversation = asyncio.create_task(self._converse(reader, writer))
            conversations.add(conversation)
            conversation.add_done_callback(conversations.discard)

        try:
            server = await asyncio.start_server(accept, "127.0.0.1", self.port, backlog=1024, limit=2**20)
        except OSError as error:
            listening.set_exception(error)
            return
        listening.set_result(server.sockets[0].getsockname()[1])
        await self._stopped.wait()
        server.close()
        for conversation in conversations:
            conversation.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, kept alive for any number of requests."""
        try:
            while (received := await _receive(reader)) is not None:
                method, target, headers, body = received
                await self._route(method, target, headers, body, _Response(writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _route(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, response: "_Response"
    ) -> None:
        path, _, query = target.partition("?")
        if (method, path) == ("POST", "/v1/chat/completions"):
            await self._complete(headers, body, response)
        elif (method, path) == ("GET", "/v1/models") and self.models is not None:
            names = [*self.models, *(self.patterns if query == "return_wildcard_routes=true" else ())]
            listed = [{"id": name, "object": "model", "created": 0, "owned_by": "fake"} for name in names]
            await response.send(200, {"object": "list", "data": listed})
        elif path.startswith(("/v1/files", "/v1/batches")):
            await response.send(*await self.batches.route(method, path, body))
        else:
            await response.send(404, _error(404, "Not Found", "NotFoundError"))

    def _answer_batch_line(self, body: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
        """Return the answer to a line of a batch: faults become statuses, and a lost connection means no answer."""
        request = _parse(body, {"batch": "yes"}, len(self.requests))
        self.requests.append(request)
        request.fault = self._next_fault(request)
        if request.fault in ("disconnect", "timeout"):
            return None
        if request.fault in ("429", "500", "503"):
            return int(request.fault), _error(int(request.fault), HTTPStatus(int(request.fault)).phrase)
        if self.refusal and (refused := self.refusal(request)):
            status, said = refused
            return status, _error(status, said) if isinstance(said, str) else said
        choices = self._choices(request)
        completion = {"id": f"chatcmpl-{request.index}", "created": 0, "model": request.model, "choices": choices}
        completion |= {"object": "chat.completion", "usage": _usage(request, choices)}
        return 200, in_the_manner(request.fault, completion)

    async def _complete(self, headers: Mapping[str, str], body: bytes, response: "_Response") -> None:
        try:
            request = _parse(json.loads(body), headers, len(self.requests))
        except (ValueError, KeyError, TypeError) as error:
            await response.send(400, _error(400, f"malformed request: {error!r}"))
            return
        self.requests.append(request)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            await self._reply(request, response)
        finally:
            self.in_flight -= 1
            request.time_out = time.monotonic()

    async def _reply(self, request: ChatRequest, response: "_Response") -> None:
        if request.mode not in self.supports:
            request.status = self.refuses_with
            await response.send(self.refuses_with, _error(self.refuses_with, _UNSUPPORTED[request.mode]))
            return
        if self.refusal and (refused := self.refusal(request)):
            request.status, message = refused
            await response.send(
                request.status, _error(request.status, message) if isinstance(message, str) else message
            )
            return
        request.fault = self._next_fault(request)
        while self._held_from is not None and request.index >= self._held_from:  # noqa: ASYNC110 - another thread ends it
            await asyncio.sleep(0.002)
        await asyncio.sleep(self.latency(request) if callable(self.latency) else self.latency)
        match request.fault:
            case "401":
                request.status = 401
                refused = f"Incorrect API key provided: {request.headers.get('authorization')}"
                await response.send(401, _error(401, refused, "AuthenticationError"))
            case str() if request.fault in _MESSAGES:
                request.status, message = _MESSAGES[request.fault]
                await response.send(request.status, _error(request.status, message))
            case "429" | "500" | "502" | "503":
                request.status = int(request.fault)
                headers = {"Retry-After": f"{self.retry_after:g}"} if request.fault == "429" else {}
                phrase = HTTPStatus(request.status).phrase
                await response.send(request.status, _error(request.status, phrase, "ServerError"), headers)
            case "timeout":
                await asyncio.sleep(self.hold)
                response.hang_up()
            case "disconnect":
                response.hang_up()
            case _:
                await self._answer(request, response)

    async def _answer(self, request: ChatRequest, response: "_Response") -> None:
        try:
            choices = self._choices(request)
        except Exception as error:  # any error of the test's answer function
            request.status = 500
            await response.send(500, _error(500, f"the answer function raised {error!r}", "ServerError"))
            return
        request.status = 200
        completion = {
            "id": f"chatcmpl-{request.digest[:12]}-{request.index}",
            "created": 0,
            "model": request.model,
            "usage": _usage(request, choices),
        }
        completion = in_the_manner(request.fault, {**completion, "object": "chat.completion", "choices": choices})
        match request.fault:
            case "page":
                await response.send(200, "<html><body>Please log in.</body></html>", {"Content-Type": "text/html"})
            case "trickle":
                await response.drip(json.dumps(completion), self.hold)
            case "half_closed":
                await response.half(json.dumps(completion))
            case "commented":
                await response.send(200, f": PROCESSING\n\n: PROCESSING\n\n{json.dumps(completion)}")
            case _ if request.stream or request.fault == "streamed":
                await response.stream(_chunks(request, completion))
            case _:
                await response.send(200, completion)

    def _next_fault(self, request: ChatRequest) -> Fault | None:
        if callable(self.faults):
            return self.faults(request)
        place, self._supported = self._supported, self._supported + 1
        return self.faults[place] if place < len(self.faults) else None

    def _choices(self, request: ChatRequest) -> list[dict[str, Any]]:
        if request.fault == "empty_choice":
            return []
        if request.mode in self.ignores:
            request = replace(request, mode="text", schema=_schema_in(request.text))
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        if request.fault == "null_content":
            return [choice]
        if request.fault == "refusal":
            message["refusal"] = "I'm sorry, I can't help with that."
            return [choice]
        given = self.answer(request) if self.answer else None
        value = _default_answer(request) if given is None else given
        if request.fault == "schema_violation":
            value = violate(value, request.schema or {})
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if request.fault == "cut_json":
            text, choice["finish_reason"] = text[: len(text) // 2], "length"
        if request.fault == "chatter":
            text = f"Certainly! Here is the answer:\n\n```json\n{text}\n```\n\nTell me if anything is unclear."
        elif request.mode == "tools" and not isinstance(value, str):
            call = {"name": request.name, "arguments": text}
            message["tool_calls"] = [{"id": f"call_{request.index}", "type": "function", "function": call}]
            choice["finish_reason"] = "tool_calls" if request.fault != "cut_json" else "length"
            return [choice]
        message["content"] = text
        return [choice]


# Messages of vLLM without the feature, and of llama_cpp.server for an unknown format.
_UNSUPPORTED: Mapping[Mode, str] = {
    "json_schema": "[{'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}]",
    "json_object": "response_format of type 'json_object' is not supported by this server",
    "tools": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "text": "a plain completion is not supported by this server",
}


# Messages of OpenAI and others.
_MESSAGES: Mapping[str, tuple[int, str]] = {
    "402": (402, "Insufficient credits"),
    "403": (403, "Project does not have access"),
    "407": (407, "Proxy Authentication Required"),
    "no_model": (404, "The model `fake-model` does not exist or you do not have access to it."),
    "no_quota": (429, "You exceeded your current quota, please check your plan and billing details."),
    "too_long": (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"),
    "blind": (400, "At most 0 image(s) may be provided in one request."),
    "no_room": (400, "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it"),
    "no_mmproj": (
        500,
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    ),
    "400_key": (400, "litellm.AuthenticationError: OpenAIException - Incorrect API key provided"),
}


class _Response:
    """Writer of one HTTP response."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(
        self, status: int, payload: Mapping[str, Any] | str, headers: Mapping[str, str] | None = None
    ) -> None:
        body = (payload if isinstance(payload, str) else json.dumps(payload)).encode()
        self._head(status, {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})})
        self._writer.write(body)
        await self._writer.drain()

    async def stream(self, events: Iterator[Mapping[str, Any]]) -> None:
        """Send server-sent events in chunked transfer encoding."""
        self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for data in (*(json.dumps(event) for event in events), "[DONE]"):
            line = f"data: {data}\n\n".encode()
            self._writer.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            await self._writer.drain()
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def drip(self, body: str, seconds: float) -> None:
        """Send a body byte by byte over ``seconds``."""
        self._head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
        for byte in body.encode():
            self._writer.write(bytes([byte]))
            await self._writer.drain()
            await asyncio.sleep(seconds / len(body))

    async def half(self, body: str) -> None:
        """Send half of a body, then close this side of the connection."""
        self._head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
        self._writer.write(body[: len(body) // 2].encode())
        self._writer.write_eof()
        await self._writer.drain()

    def hang_up(self) -> None:
        """Close the connection without an answer."""
        self._writer.transport.abort()
        raise ConnectionAbortedError

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [
            f"HTTP/1.1 {status} {phrases.get(status, 'Unknown')}",
            *(f"{key}: {value}" for key, value in headers.items()),
        ]
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


async def _run_loop() -> None:
    """Run the event loop more often than needed to read a request from its socket."""
    for _ in range(100):
        await asyncio.sleep(0)


async def _receive(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes] | None:
    """Return the next request's method, target, headers and body; None if the client has closed."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return method, target, headers, body


def _parse(body: Mapping[str, Any], headers: Mapping[str, str], index: int) -> ChatRequest:
    messages = body["messages"]
    if not (isinstance(messages, list) and messages):
        raise ValueError("messages must be a list of at least one message")
    mode, schema, name = _answer_form(body, messages)
    return ChatRequest(
        index=index,
        time_in=time.monotonic(),
        model=body["model"],
        messages=messages,
        mode=mode,
        schema=schema,
        name=name,
        stream=bool(body.get("stream")),
        body=body,
        headers=headers,
    )


def _answer_form(body: Mapping[str, Any], messages: list[dict[str, Any]]) -> tuple[Mode, Mapping[str, Any] | None, str]:
    """Return the form in which a typed answer is requested, with its schema and name."""
    response_format = body.get("response_format") or {}
    if response_format.get("type") == "json_schema":
        return "json_schema", response_format["json_schema"]["schema"], response_format["json_schema"]["name"]
    if response_format.get("type") == "json_object":
        return "json_object", response_format.get("schema", {"type": "object"}), "json_object"
    choice = body.get("tool_choice")
    if body.get("tools") and choice != "none" and messages[-1].get("role") != "tool":
        tools = {tool["function"]["name"]: tool["function"] for tool in body["tools"]}
        name = choice["function"]["name"] if isinstance(choice, Mapping) else next(iter(tools))
        return "tools", tools[name].get("parameters", {"type": "object"}), name
    return "text", _schema_in("\n".join(_texts(messages))), "text"


def _schema_in(text: str) -> Mapping[str, Any] | None:
    """Return the last JSON schema in a code fence of the text."""
    for block in reversed(_FENCE.findall(text)):
        try:
            found = json.loads(block)
        except ValueError:
            continue
        if isinstance(found, dict) and {"properties", "$ref", "$defs", "anyOf", "enum"} & found.keys():
            return found
    return None


def _texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content") or ""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from (block["text"] for block in blocks if block.get("type") == "text")


def _default_answer(request: ChatRequest) -> Any:
    if request.schema is None:
        return f"Answer {request.digest[:8]}."
    return sample(request.schema, random.Random(request.digest))


def _usage(request: ChatRequest, choices: list[dict[str, Any]]) -> dict[str, int]:
    """Estimate tokens as four characters each."""
    prompt = len(request.text) // 4 + 1
    completion = sum(len(json.dumps(choice["message"])) // 4 + 1 for choice in choices)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _chunks(request: ChatRequest, completion: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the completion as a stream: role, content in pieces, end, and usage if requested."""
    frame = {**completion, "object": "chat.completion.chunk"}
    usage, choices = frame.pop("usage"), frame.pop("choices")

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    for choice in choices:
        message = choice["message"]
        yield chunk({"role": "assistant", "content": ""})
        for piece in _pieces(message["content"] or ""):
            yield chunk({"content": piece})
        if message["refusal"]:
            yield chunk({"refusal": message["refusal"]})
        for call in message.get("tool_calls", ()):
            yield chunk({"tool_calls": [{**call, "index": 0, "function": {**call["function"], "arguments": ""}}]})
            for piece in _pieces(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        yield chunk({}, choice["finish_reason"])
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**frame, "choices": [], "usage": usage}


def _pieces(text: str, size: int = 12) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _error(status: int, message: str, kind: str = "BadRequestError") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}


def _parse_faults(text: str, seed: int) -> Faults:
    """Parse ``429,none,cut_json`` (faults by request) or ``429=0.1,500=0.05`` (probabilities)."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if any("=" in part for part in parts):
        shares = {name: float(share) for name, _, share in (part.partition("=") for part in parts)}
        return FaultPlan(seed, shares)  # type: ignore[arg-type]  # FaultPlan checks the names
    if unknown := set(parts) - {*FAULTS, "none"}:
        raise ValueError(f"unknown faults: {', '.join(sorted(unknown))}; known are {', '.join(FAULTS)}, none")
    return [None if part == "none" else part for part in parts]  # type: ignore[misc]  # checked above


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted or terminated; prints the base URL first."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.fake_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 (default): a free one")
    parser.add_argument("--faults", default="", help=f"429,none,500 or 429=0.1,500=0.05; of {', '.join(FAULTS)}")
    parser.add_argument("--seed", type=int, default=0, help="of the faults given as shares")
    parser.add_argument("--supports", default=",".join(MODES), help="forms of typed answers (default: %(default)s)")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--retry-after", type=float, default=0.05, help="seconds that a 429 asks for")
    parser.add_argument("--hold", type=float, default=5.0, help="seconds that a time-out holds the connection")
    parser.add_argument("--models", default="fake-model", help="names listed by /v1/models; empty: no such path")
    options = parser.parse_args(arguments)
    try:
        server = FakeServer(
            faults=_parse_faults(options.faults, options.seed),
            supports=options.supports.split(","),
            latency=options.latency,
            retry_after=options.retry_after,
            hold=options.hold,
            models=options.models.split(",") if options.models else None,
            port=options.port,
        )
    except ValueError as error:
        parser.error(str(error))
    stopped = threading.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda *_: stopped.set())
    with server:
        print(server.base_url, flush=True)
        stopped.wait()


if __name__ == "__main__":
    main()
