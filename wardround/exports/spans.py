"""Export runs as OpenTelemetry spans (GenAI semantic conventions), for Jaeger, Grafana, Langfuse, Phoenix and others.

Each case is a trace: stages are its spans, calls are spans below them, each score is an event. Prompts and answers are
left out unless asked for. Ids are derived from the run's and the case's, so that sending twice gives the same trace.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm.specs import WITHOUT_MODEL, ModelSpec
from llm.trace import Call
from wardround.config.experiment import ConfigurationError
from wardround.store.provenance import write_json_lines
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import Tracer

# Providers that the conventions call otherwise than LangChain.
_PROVIDERS = {
    "anthropic_bedrock": "aws.bedrock",
    "azure_ai": "azure.ai.inference",
    "azure_openai": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock_converse": "aws.bedrock",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "ibm": "ibm.watsonx.ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
}


def write_spans(runs: Sequence[RecordedRun], to: str, *, content: bool = False) -> int:
    """Write spans to a file, or send them to a server; return the number of cases.

    The file is OTLP in JSON Lines, as collectors read it. If the ``http`` address of a collector has no path,
    ``/v1/traces`` is added. With ``content``, prompts and answers are included.

    Raises:
        ImportError: OpenTelemetry is not installed.
        ConfigurationError: the collector does not accept them.
        OSError: the file cannot be written.
    """
    cases = ((run, result) for run in runs for result in run.results)
    spans_by_case = (_spans(run, result, content) for run, result in cases)
    return _send(spans_by_case, to) if "://" in to else _write(spans_by_case, Path(to))


def _write(cases: Iterator[Sequence["ReadableSpan"]], file: Path) -> int:
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    # OTLP's JSON differs from Protobuf's: enumerations are numbers, and ids hexadecimal.
    messages = (MessageToDict(encode_spans(spans), use_integers_for_enums=True) for spans in cases)
    return write_json_lines(file, map(_with_hex_ids, messages))


def _with_hex_ids(message: dict[str, Any]) -> dict[str, Any]:
    """Convert the spans' ids from base64."""
    scopes = (scope for resource in message["resourceSpans"] for scope in resource["scopeSpans"])
    for span in (span for scope in scopes for span in scope["spans"]):
        span |= {key: base64.b64decode(span[key]).hex() for key in ("traceId", "spanId", "parentSpanId") if key in span}
    return message


def _send(cases: Iterator[Sequence["ReadableSpan"]], to: str) -> int:
    import requests
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    session = requests.Session()
    session.max_redirects = 0  # data meant for one server must not go to another
    address = to.rstrip("/")
    exporter = OTLPSpanExporter(address if address.count("/") > 2 else f"{address}/v1/traces", session=session)
    sent = 0
    for spans in cases:
        if exporter.export(spans) is not SpanExportResult.SUCCESS:
            raise ConfigurationError(
                f"{to}: does not accept the spans ({sent} cases were sent); check that it is an OTLP collector"
            )
        sent += 1
    return sent


def _tracing(run: RecordedRun, result: Result) -> "tuple[Tracer, InMemorySpanExporter]":
    """Return a tracer of the program that ran a case, whose ids depend on the case alone, and what keeps its spans."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    case_key = f"{run.id}/{result.case_id}/{result.epoch}"

    class Ids(IdGenerator):
        def __init__(self) -> None:
            self._numbers = count()

        def generate_trace_id(self) -> int:
            return _id(case_key, 16)

        def generate_span_id(self) -> int:
            return _id(f"{case_key}#{next(self._numbers)}", 8)

    exporter = InMemorySpanExporter()
    version = result.program.removeprefix("wardround ") or run.versions.get("wardround", "")
    resource = Resource({"service.name": "wardround", "service.version": version, "wardround.run": run.name})
    provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, id_generator=Ids(), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("wardround"), exporter


def _spans(run: RecordedRun, result: Result, content: bool) -> Sequence["ReadableSpan"]:
    from opentelemetry import trace

    tracer, exporter = _tracing(run, result)
    calls = run.trace(result).calls

    @contextmanager
    def open_span(
        name: str, span_calls: Sequence[Call], attributes: Mapping[str, Any], **more: Any
    ) -> Iterator[tuple[Any, int]]:
        """Open a span that lasts as long as its calls, in which others may be opened; yield it and its end."""
        start = _nanoseconds(min((call.started for call in span_calls), default=0.0))
        ended = _nanoseconds(max((call.ended for call in span_calls), default=0.0))
        span = tracer.start_span(name, start_time=start, attributes=attributes, **more)
        with trace.use_span(span):
            yield span, ended
        span.end(ended)

    case_attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": run.experiment.graph,
        "gen_ai.conversation.id": f"{result.case_id}/{result.epoch}",
        "wardround.case_id": result.case_id,
        "wardround.epoch": result.epoch,
        "wardround.termination": result.termination,
    }
    with open_span(f"invoke_agent {run.experiment.graph}", calls, case_attributes) as (span, ended):
        for name, value in result.scores.items():
            if value is not None:
                score = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": value}
                span.add_event("gen_ai.evaluation.result", score, ended)
        if not result.scored:
            span.set_status(trace.StatusCode.ERROR, (content and result.error) or result.termination)
        for stage, group in groupby(calls, key=lambda call: call.stage):
            stage_calls = list(group)
            with open_span(stage, stage_calls, {"wardround.stage": stage}):
                for call in stage_calls:
                    _call(call, run.spec_of(call.model), content, open_span)
    return exporter.get_finished_spans()


def _call(call: Call, spec: ModelSpec, content: bool, open_span: Any) -> None:
    from opentelemetry.trace import SpanKind, StatusCode

    is_model = call.model not in WITHOUT_MODEL
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat" if is_model else "invoke_agent",
        "gen_ai.provider.name": _PROVIDERS.get(spec.provider, spec.provider) if is_model else "wardround",
        "gen_ai.request.model": spec.name if is_model else call.model,
        "gen_ai.agent.name": call.role,
        "wardround.call": call.id,
        "wardround.prompt": call.prompt,
        "wardround.prompt_hash": call.prompt_hash,
        "wardround.attempts": call.attempts,
        "wardround.cached": call.cached,
    }
    if not call.is_uncounted:
        attributes["gen_ai.usage.input_tokens"] = call.input_tokens
        attributes["gen_ai.usage.output_tokens"] = call.output_tokens
        if call.cost is not None:
            attributes["wardround.cost"] = call.cost
    if content:
        messages = [_message(one) for one in call.messages or ()]
        attributes["gen_ai.input.messages"] = json.dumps(messages, ensure_ascii=False)
    if content and call.answer is not None:
        answer = call.answer if isinstance(call.answer, str) else json.dumps(call.answer, ensure_ascii=False)
        message = {"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}
        attributes["gen_ai.output.messages"] = json.dumps([message], ensure_ascii=False)
    if call.error is not None:
        attributes["error.type"] = call.error.partition(":")[0]
    kind = SpanKind.CLIENT if is_model else SpanKind.INTERNAL
    name = f"chat {spec.name}" if is_model else f"invoke_agent {call.role}"
    with open_span(name, [call], attributes, kind=kind) as (span, _):
        if call.error is not None:
            # It may quote the answer that could not be read.
            span.set_status(StatusCode.ERROR, call.error if content else attributes["error.type"])


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    text = str(message.get("content", f"[picture {message.get('image')}]"))
    return {"role": message["role"], "parts": [{"type": "text", "content": text}]}


def _id(name: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:size])


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000) * 1000
