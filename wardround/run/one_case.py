"""Run one case through a graph and score it; whatever goes wrong becomes its termination reason."""

import time
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from cases import Case
from cases.notes import Note
from cases.sexes import SexBoundError
from graphs.state_graph import Graph
from llm import AskError, side_by_side
from llm.errors import CacheError, LimitError, RefusedError
from llm.events import tell, telling_of
from llm.journal import journal
from llm.limits import Meter, metering
from llm.role import is_judging
from llm.trace import Trace, TraceError, merge_traces
from nodes.context import Context
from nodes.node import DROPPED_SEAT
from nodes.state.chart import repeating
from nodes.workflow.admission import as_played
from nodes.workflow.case_retrieval import add_to_memory
from retrieval import CaseMemoryError, EmbeddingModelError
from scoring.consultation import ConsultationAnswers
from scoring.mvme.disease_entities import split_case
from scoring.suite import SUITES
from wardround.config.experiment import Experiment
from wardround.config.selection import Item, StoredItem
from wardround.run.checkpoints import run_thread
from wardround.run.faults import contain_tasks, contained, describe_fault, termination_of, why_unanswered
from wardround.run.outages import outlasting
from wardround.run.tasks import TASKS
from wardround.store.durable_lines import TO_RESUME, RunStoppedError
from wardround.store.result import Result
from wardround.store.traces import read_trace


class Attempt(NamedTuple):
    """One case (or note) in one epoch, and its position in the order of the run."""

    position: int
    stored: StoredItem
    epoch: int

    @property
    def key(self) -> tuple[str, int]:
        """What identifies it in the run: case id and epoch."""
        return self.stored.id, self.epoch

    @property
    def item(self) -> Item:
        """The case or note."""
        return self.stored.item


@dataclass(frozen=True)
class Outcome:
    """How a case ended, and what the memory of the run should learn from it."""

    result: Result
    course: BaseModel | None = None


async def run_case(
    experiment: Experiment, graph: Graph, attempt: Attempt, context: Context, trace_file: Path, meter: Meter
) -> Outcome:
    """Run one case, or resume it, and score it.

    A case that reaches a limit is scored with what it has. Its judges are outside its limits, so that it can be scored;
    their use counts for the run only. A note (rather than a case with an answer key) needs a suite that looks at the
    answers alone. All cases share ``meter``.

    Raises:
        RunStoppedError: a server refuses every question, or the embedding model cannot be loaded, or the response
            cache not be used, so no other case would succeed; or the trace cannot be written, so the answers of other
            cases would be lost too.
    """
    contain_tasks()
    started = time.perf_counter()
    item = attempt.item
    limits = experiment.limits
    overrides = {"position": attempt.position, "trace_file": str(trace_file)}
    context = context.in_epoch(attempt.epoch).model_copy(update=overrides)
    thread = thread_of(attempt, context.run)
    outcome: dict[str, Any]
    course = None
    outline = Trace()
    try:
        with journal(trace_file), telling_of(case_id=item.id, epoch=attempt.epoch):
            tell("case_started")
            own_calls = (call for call in read_trace(trace_file).calls if not is_judging(call.stage))
            case_meter = Meter.of([Trace(calls=tuple(own_calls))], "case", limits.case, limits.roles)
            limit_error = None
            try:
                with metering(case_meter, meter):
                    final = await outlasting(
                        lambda: contained(_run_graph(experiment, graph, item, thread, context)), context.max_outage
                    )
            except LimitError as error:
                limit_error = error  # the case is scored with what it has
                final = dict((await graph.aget_state({"configurable": {"thread_id": thread}})).values)
            outline = final.get("trace") or outline
            with metering(meter.without_limits()):
                outcome = await contained(_scored(experiment, item, final, context))
        if limit_error is not None:
            outcome |= {"termination": limit_error.reason, "error": why_unanswered(limit_error)}
        elif context.grow != "off":
            course = final["follow_up"].course
    except (RefusedError, EmbeddingModelError, CacheError) as error:
        raise RunStoppedError(f"{error}; {TO_RESUME}") from error
    except TraceError as error:
        raise RunStoppedError(f"{trace_file}: cannot be written: {error.strerror}; {TO_RESUME}") from error
    except AskError as error:
        outcome = failure(experiment, attempt, error.reason, why_unanswered(error))
    except SexBoundError as error:
        outcome = failure(experiment, attempt, "sex_bound", str(error))
    except CaseMemoryError as error:
        outcome = failure(experiment, attempt, "memory_error", str(error))
    except Exception as error:
        outcome = failure(experiment, attempt, termination_of(error), describe_fault(error))
    outcome |= {"seconds": time.perf_counter() - started, "language": context.language or item.language}
    return Outcome(result_of(attempt, trace_file, outline, **outcome), course)


def failure(experiment: Experiment, attempt: Attempt, termination: str, error: str) -> dict[str, Any]:
    """Return the result line's content for a failed case, with the scores that its answer key could not give anyway."""
    item = experiment.to_score(attempt.item)
    missing = SUITES[experiment.scored_by].without_reference(item) if isinstance(item, Case) else {}
    return {"termination": termination, "error": error, "unscored": dict(missing)}


def result_of(attempt: Attempt, trace_file: Path, outline: Trace | None = None, **outcome: Any) -> Result:
    """Return the result line of a case: how it ended, with what its trace says it used."""
    trace = merge_traces(outline, read_trace(trace_file))  # a line of the trace may have been damaged since
    return Result(
        case_id=attempt.stored.id,
        epoch=attempt.epoch,
        tokens=trace.tokens,
        cost=trace.cost,
        calls=trace.asked,
        uncounted=sum(call.is_uncounted for call in trace.calls),
        models=trace.models,
        dropped_seats=len(_dropped_seats(trace)),
        unanswered=_unanswered(trace) if outcome["termination"] == "completed" else {},
        unnamed_results=sum(len((event.content or {}).get("unnamed", ())) for event in trace.events),
        **outcome,
    )


def thread_of(attempt: Attempt, run: str) -> str:
    """Return the thread id of a case's checkpoints; it starts with the run's, as runs may share a database."""
    return f"{run}/{attempt.stored.id}#{attempt.epoch}"


async def _run_graph(experiment: Experiment, graph: Graph, item: Item, thread: str, context: Context) -> dict[str, Any]:
    """Return the final state; a case that was finished but not scored is not run again."""
    beginning = {"note" if isinstance(item, Note) else "case": item}
    final, was_finished = await run_thread(graph, thread, beginning, context, TASKS[experiment.graph].last)
    if was_finished and context.grow != "off":
        await add_to_memory(final["follow_up"].course, context)
    return final


async def _scored(experiment: Experiment, item: Any, final: dict[str, Any], context: Context) -> dict[str, Any]:
    """Score a finished case, and return what its result line contains."""
    task = TASKS[experiment.graph]
    answers = task.answers(final)
    if isinstance(item, Case):
        item = as_played(item, context)
    judging: list[Awaitable[Any]] = [SUITES[experiment.scored_by].score(experiment.to_score(item), answers, context)]
    if experiment.data.splitter == "model" and isinstance(answers, ConsultationAnswers):
        judging.append(split_case(answers.diagnosis, item.key.diagnosis, context, item.language))
    scores, *_ = await side_by_side(judging)
    stages, rounds = task.ends(final)
    return {
        "termination": "completed",
        "scores": scores.values,
        "unscored": scores.unscored,
        "stages": stages,
        "rounds": rounds,
        "repeating": _repeating(final),
        "answers": answers,
    }


def _repeating(final: dict[str, Any]) -> list[str] | None:
    """Return who repeated one turn to the end of a dialogue (any intern's); None if nobody spoke."""
    interns = [one.dialogue for one in final.get("consultations", ())]
    spoken = [one for one in interns or [final.get("dialogue")] if one and isinstance(one, list)]
    return sorted({speaker for dialogue in spoken for speaker in repeating(dialogue)}) if spoken else None


def _dropped_seats(trace: Trace) -> list[str]:
    """Return the calls of seats that were dropped; a seat asked again after a kill may have answered then."""
    failed = {call.id for call in trace.calls if call.error}
    events = (event for event in trace.events if event.event == DROPPED_SEAT)
    return [event.content["call"] for event in events if event.content["call"] in failed]


def _unanswered(trace: Trace) -> dict[str, int]:
    """Count, by role, the failed calls of a completed case that no other record tells of: neither seats nor judges.

    Such are a plug-in's that its own code went on without.
    """
    dropped = {*_dropped_seats(trace)}
    failed = (call for call in trace.calls if call.error and call.id not in dropped)
    return dict(sorted(Counter(call.role for call in failed if not is_judging(call.stage)).items()))
