"""One case through a graph to its scores; whatever goes wrong is its termination reason, never a lost case."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from cases.notes import Note
from cases.sexes import SexBoundError
from llm import AskError
from llm.errors import LimitError
from llm.journal import journal
from llm.limits import Limits, Meter, metering
from llm.trace import Trace
from nodes.context import Context
from nodes.workflow.case_retrieval import add_to_memory
from retrieval import CaseMemoryError, EmbeddingModelError
from scoring.suite import Suite
from wardround.config.experiment import JUDGING
from wardround.config.selection import Item
from wardround.run.checkpoints import is_database_error, run_thread
from wardround.run.faults import described, fault
from wardround.run.tasks import Graph, Task
from wardround.store.run_directory import Result
from wardround.store.traces import read_trace


@dataclass(frozen=True)
class Outcome:
    """How a case ended, and what the memory of the run is to learn from it."""

    result: Result
    course: BaseModel | None = None


@dataclass(frozen=True)
class Allowance:
    """What a case may take: its own limits, its roles', and the run's meter, which all cases share."""

    run: Meter
    case: Limits = field(default_factory=Limits)
    roles: Mapping[str, Limits] = field(default_factory=dict)


async def run_case(
    task: Task, graph: Graph, suite: Suite, case: Item, epoch: int, context: Context, allowance: Allowance
) -> Outcome:
    """Run one case, or go on with it at its last checkpoint, and score it.

    A case that reaches a limit is scored with what it has. Its judges are outside of the limits, or it could not be;
    what they take is counted for the run.

    Args:
        task: what the graph belongs to.
        graph: compiled with the run's checkpointer.
        suite: how the answers are scored.
        case: with its answer key; or a note, of a suite that looks at the answers alone.
        epoch: the first is 0.
        context: of this case: its trace file, seed and position are set.
        allowance: what it may take.
    """
    started = time.perf_counter()
    outcome: dict[str, Any]
    course = None
    trace_file = Path(context.trace_file or "")
    try:
        with journal(trace_file):
            meter = Meter.of([_without_judges(read_trace(trace_file))], "case", allowance.case, allowance.roles)
            stopped = None
            try:
                with metering(meter, allowance.run):
                    final = await _run_graph(task, graph, case, thread_of(case, epoch, context), context)
            except LimitError as error:
                stopped = error
                final = await _reached(graph, thread_of(case, epoch, context))
            with metering(allowance.run.without_limits()):
                outcome = await _scored(task, suite, case, final, context)
        if stopped is not None:
            outcome |= {"termination": stopped.reason, "error": described(stopped)}
        elif context.grow != "off":
            course = final["follow_up"].course
    except AskError as error:
        outcome = {"termination": error.reason, "error": described(error)}
    except SexBoundError as error:
        outcome = {"termination": "sex_bound", "error": str(error)}
    except (CaseMemoryError, EmbeddingModelError) as error:
        outcome = {"termination": "memory_error", "error": str(error)}
    except Exception as error:
        outcome = {
            "termination": "checkpoint_error" if is_database_error(error) else "internal_error",
            "error": fault(error),
        }
    trace = read_trace(trace_file)
    result = Result(
        case_id=case.id,
        epoch=epoch,
        tokens=trace.tokens,
        cost=trace.cost,
        calls=len(trace.calls),
        models=trace.models,
        seconds=time.perf_counter() - started,
        **outcome,
    )
    return Outcome(result, course)


def thread_of(case: Item, epoch: int, context: Context) -> str:
    """The name that a case's checkpoints are kept under; runs may share a data base."""
    return f"{context.run}/{case.id}#{epoch}"


async def _run_graph(task: Task, graph: Graph, case: Item, thread: str, context: Context) -> dict[str, Any]:
    """The final state. A case that was under way goes on at its last node; one that only lacked its scores is done."""
    final, before = await run_thread(
        graph, thread, {"note" if isinstance(case, Note) else "case": case}, context, task.last
    )
    if before and context.grow != "off":
        await add_to_memory(final["follow_up"].course, context)
    return final


async def _reached(graph: Graph, thread: str) -> dict[str, Any]:
    """What a case that was stopped had come to."""
    return dict((await graph.aget_state({"configurable": {"thread_id": thread}})).values)


async def _scored(task: Task, suite: Suite, case: Any, final: dict[str, Any], context: Context) -> dict[str, Any]:
    """What a result line keeps of a finished case."""
    answers = task.answers(final)
    scores = await suite.score(case, answers, context)
    stages, rounds = task.ends(final)
    return {
        "termination": "completed",
        "scores": scores.values,
        "unscored": scores.unscored,
        "stages": stages,
        "rounds": rounds,
        "answers": answers,
    }


def _without_judges(trace: Trace) -> Trace:
    return Trace(calls=tuple(call for call in trace.calls if call.stage != JUDGING))
