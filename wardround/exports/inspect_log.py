"""Export runs as logs of Inspect (inspect_ai), for its viewer, data frames and analysis.

Each case and epoch is a sample: its dialogue becomes messages, each score comes with the reason if it is missing, and
each call becomes a model event in the span of its stage, with prompt, answer, tokens and seconds.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from cases import Case
from llm.specs import OFFLINE, WITHOUT_MODEL
from llm.trace import Call
from scoring.case_scores import AVERAGE
from wardround.report.course import dialogue_of
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result

# Providers that Inspect calls otherwise than LangChain.
_PROVIDERS = {
    "anthropic_bedrock": "anthropic/bedrock",
    "azure_ai": "azureai",
    "azure_openai": "openai/azure",
    "bedrock_converse": "bedrock",
    "google_anthropic_vertex": "anthropic/vertex",
    "google_genai": "google",
    "google_vertexai": "google/vertex",
    "huggingface": "hf-inference-providers",
    "mistralai": "mistral",
    "xai": "grok",
}
_PROVENANCE = {"source", "licence", "dataset"}


def write_inspect_logs(runs: Sequence[RecordedRun], out: Path) -> list[Path]:
    """Write ``RUN.eval`` into a folder, one file per run; return the files.

    Characters of a name that a file name should not have become ``_``; runs of which the names are then the same, or
    the same but for letter case, are numbered.

    Raises:
        ImportError: inspect_ai is not installed.
        OSError: a file cannot be written.
    """
    from inspect_ai.log import write_eval_log

    out.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    for run in runs:
        name = re.sub(r"[^\w.-]", "_", run.name)
        numbered = (f"{name}-{number}" for number in count(2))
        free = next(each for each in chain([name], numbered) if each.casefold() not in files)
        files[free.casefold()] = out / f"{free}.eval"
        write_eval_log(inspect_log(run), str(files[free.casefold()]))
    return list(files.values())


def inspect_log(run: RecordedRun) -> Any:
    """Return a run as an ``inspect_ai.log.EvalLog``.

    Its model is the doctor's (of several, the first one's); the metadata have the models of all roles.
    """
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalRevision, EvalSpec, EvalStats

    cases, _ = run.known_cases()
    results = list(run.each_answered())
    samples = [_sample(run, result, cases.get(result.case_id)) for result in results]
    experiment = run.experiment
    models = {role: ",".join(names) for role, names in run.models.items()}
    started = [sample.started_at for sample in samples if sample.started_at]
    ended = [sample.completed_at for sample in samples if sample.completed_at]
    data, manifest, doctor = experiment.data, run.manifest, _doctor(run)
    git = manifest.get("git")  # of our code
    return EvalLog(
        status="success" if len(results) >= run.planned else "started",
        eval=EvalSpec(
            eval_id=run.id,
            run_id=run.id,
            created=min(started, default=_time(0.0).isoformat()),
            task=experiment.name,
            task_id=f"{experiment.name}-{experiment.graph}",
            task_args={"graph": experiment.graph, "suite": run.suite.name, "seed": experiment.seed},
            dataset=EvalDataset(
                name=Path(str(data.notes or data.cases)).name,
                samples=len({result.case_id for result in results}),
                sample_ids=list(dict.fromkeys(_sample_id(result) for result in results)),
            ),
            model=_model(run, doctor),
            model_base_url=run.spec_of(doctor).base_url,
            config=EvalConfig(epochs=experiment.epochs),
            revision=EvalRevision(type="git", origin="", commit=git["commit"], dirty=git["changed"]) if git else None,
            packages=run.versions,
            metadata={
                "models": models,
                "configuration": manifest["configuration"],
                "data": manifest["data"],
                "prompts": manifest.get("prompts"),
            },
        ),
        results=EvalResults(total_samples=run.planned, completed_samples=len(run.scored), scores=list(_means(run))),
        stats=EvalStats(
            started_at=min(started, default=""),
            completed_at=max(ended, default=""),
            model_usage=_summed(usage for sample in samples for usage in sample.model_usage.items()),
            role_usage=_summed(usage for sample in samples for usage in sample.role_usage.items()),
        ),
        samples=samples,
    )


def _sample(run: RecordedRun, result: Result, case: Case | None) -> Any:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser
    from inspect_ai.scorer import Score

    calls, uuid = run.trace(result).calls, _id(run.id, result.case_id, result.epoch)
    messages: list[Any] = [
        ChatMessageAssistant(id=_id(uuid, place), content=turn.text)
        if turn.speaker in ("doctor", "physician")
        else ChatMessageUser(id=_id(uuid, place), content=turn.text, metadata={"speaker": turn.speaker})
        for place, turn in enumerate(dialogue_of(run, result))
    ]
    answer = "\n".join(result.answers.diagnosis) if result.answers else ""
    scores = {name: Score(value=value, answer=answer) for name, value in result.scores.items() if value is not None}
    missing = {name: Score.unscored(explanation=why, answer=answer) for name, why in result.unscored.items()}
    return EvalSample(
        id=_sample_id(result),
        epoch=result.epoch + 1,
        uuid=uuid,
        input=case.patient.chief_complaint if case else "",
        target=list(case.key.diagnosis) if case else "",
        messages=messages,
        output=_output(_id(uuid, "output"), _model(run, _doctor(run)), answer),
        scores={**scores, **missing},
        metadata={
            "termination": result.termination,
            "department": case.key.department if case else None,
            "provenance": case.provenance.model_dump(include=_PROVENANCE) if case else None,
            "stages": result.stages,
            "rounds": result.rounds,
            "answers": result.answers.model_dump(mode="json") if result.answers else None,
        },
        events=list(_events(run, calls, uuid)),
        model_usage=_usage(calls, lambda call: _model(run, call.model)),
        role_usage=_usage(calls, lambda call: call.role),
        started_at=_time(min(call.started for call in calls)).isoformat() if calls else None,
        completed_at=_time(max(call.ended for call in calls)).isoformat() if calls else None,
        total_time=result.seconds,
        error=None
        if result.scored
        else EvalError(message=f"{result.termination}: {result.error}", traceback="", traceback_ansi=""),
    )


def _doctor(run: RecordedRun) -> str:
    """Return the spec of the model that is tested: the doctor's, or else the default."""
    return next(iter(run.models.get("doctor", ())), run.experiment.models.get("default", OFFLINE))


def _model(run: RecordedRun, model: str) -> str:
    """Return a model's name as Inspect writes it (``openai/gpt-4o``); rules are ``none/offline``."""
    if model in WITHOUT_MODEL:
        return f"none/{model}"
    spec = run.spec_of(model)
    return f"{_PROVIDERS.get(spec.provider, spec.provider)}/{spec.name}"


def _id(*parts: object) -> str:
    """Return an id that every export of a run gives to the same part of it."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:22]


def _sample_id(result: Result) -> str:
    """Return the case's id; a NUL would end the sample's name in the log, so that the sample was lost."""
    return result.case_id.replace("\0", "\N{SYMBOL FOR NULL}")


def _events(run: RecordedRun, calls: Sequence[Call], sample: str) -> Iterator[Any]:
    """Yield each call in the span of its stage; ``sample`` is the id of their sample."""
    from inspect_ai.event import SpanBeginEvent, SpanEndEvent

    run_start = min((call.started for call in calls), default=0.0)
    for number, (stage, group) in enumerate(groupby(calls, key=lambda call: call.stage)):
        stage_calls, span = list(group), f"{number}-{stage}"
        start, ended = stage_calls[0].started, max(call.ended for call in stage_calls)
        yield SpanBeginEvent(
            uuid=_id(sample, span),
            id=span,
            span_id=span,
            name=stage,
            type="stage",
            timestamp=_time(start),
            working_start=start - run_start,
        )
        for call in stage_calls:
            yield _event(call, _id(sample, span, call.id), _model(run, call.model), span, run_start)
        end = _id(sample, span, "end")
        yield SpanEndEvent(uuid=end, id=span, span_id=span, timestamp=_time(ended), working_start=ended - run_start)


def _event(call: Call, uuid: str, model: str, span: str, run_start: float) -> Any:
    from inspect_ai.event import ModelEvent
    from inspect_ai.model import GenerateConfig

    answer = call.answer if isinstance(call.answer, str) else json.dumps(call.answer, ensure_ascii=False, indent=1)
    output = _output(_id(uuid, "output"), model, "" if call.answer is None else answer, error=call.error)
    output.usage = _usage([call], lambda call: model).get(model)
    output.time = call.seconds
    return ModelEvent(
        uuid=uuid,
        span_id=span,
        timestamp=_time(call.started),
        working_start=call.started - run_start,
        completed=_time(call.ended),
        working_time=call.seconds,
        model=model,
        role=call.role,
        input=[_message(_id(uuid, place), message) for place, message in enumerate(call.messages or [])],
        tools=[],
        tool_choice="none",
        config=GenerateConfig(),
        output=output,
        retries=max(call.attempts - 1, 0),
        error=call.error,
        cache="read" if call.cached else None,
        metadata={"call": call.id, "stage": call.stage, "prompt": call.prompt, "prompt_hash": call.prompt_hash},
    )


def _output(name: str, model: str, text: str, error: str | None = None) -> Any:
    from inspect_ai.model import ModelOutput

    output = ModelOutput.from_content(model, text, error=error)
    output.message.id = name
    return output


def _message(name: str, message: Mapping[str, Any]) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant}
    text = message.get("content", f"[picture {message.get('image')}]")
    return kinds.get(message["role"], ChatMessageUser)(id=name, content=str(text))


def _usage(calls: Iterable[Call], by: Callable[[Call], str]) -> dict[str, Any]:
    """Return the token usage by such a name, without calls whose servers reported none."""
    from inspect_ai.model import ModelUsage

    def used(call: Call) -> ModelUsage:
        read, written = call.input_tokens, call.output_tokens
        return ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written, total_cost=call.cost)

    return _summed((by(call), used(call)) for call in calls if not call.is_uncounted)


def _summed(usages: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for name, one in usages:
        total[name] = total[name] + one if name in total else one
    return total


def _means(run: RecordedRun) -> Iterator[Any]:
    from inspect_ai.log import EvalMetric, EvalScore

    for name, found in sorted(run.estimates.items(), key=lambda each: each[0] != AVERAGE):  # the headline comes first
        ends = found.ci95 or (None, None)
        metrics = {"mean": found.mean, "stderr": found.se, "ci95_low": ends[0], "ci95_high": ends[1]}
        yield EvalScore(
            name=name,
            scorer=run.suite.name,
            scored_samples=found.n,
            unscored_samples=len(run.scored) - found.n,
            metrics={key: EvalMetric(name=key, value=value) for key, value in metrics.items() if value is not None},
        )


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
