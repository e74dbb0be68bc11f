"""Running an experiment: many cases through the graph, each scored once, nothing lost."""

import asyncio
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from cases import Case
from evaluation.clinical_workflow import score_clinical_workflow
from experiments.checkpoints import open_checkpoints
from experiments.configuration import Experiment, select_cases
from experiments.preflight import check_servers
from experiments.run_directory import Result, RunDirectory
from experiments.summary import summarise_results
from graphs.clinical_workflow import builder
from models import AskError
from models.trace import Trace, read_calls
from nodes.context import Context
from retrieval import CaseMemoryError, EmbeddingModelError, RememberedCase, open_memory

Graph = CompiledStateGraph[Any, Any, Any, Any]
OnResult = Callable[[Result, int, int], None]


async def run_experiment(experiment: Experiment, out: Path, on_result: OnResult | None = None) -> dict[str, Any]:
    """Run what is left of an experiment and summarise all of it.

    Args:
        experiment: what to run.
        out: the run directory; a run of the same experiment there is taken up where it stopped.
        on_result: told each result with the number done and the number of all.

    Returns:
        The summary, as it stands in ``summary.json``.

    Raises:
        ConfigurationError: bad configuration or data, or the directory holds another run (nothing was run).
        CaseFileError: the case file cannot be used.
        ModelSpecError: a model cannot be used.
        CaseMemoryError: the case memory cannot be opened.
    """
    cases = select_cases(experiment.data)
    context = experiment.context
    await check_servers(context)
    with RunDirectory(out).opened(experiment, cases) as directory:
        done = [result for result in directory.results() if result.final]
        directory.keep(done)
        if context.retrieval:
            context = await _with_memory(context, directory, {result.case_id for result in done})
        finished = {(result.case_id, result.epoch) for result in done}
        tasks = [
            (position, case, epoch)
            for epoch in range(experiment.epochs)
            for position, case in enumerate(cases, start=epoch * len(cases))
            if (case.id, epoch) not in finished
        ]
        async with open_checkpoints(directory.checkpoints) as checkpointer:
            graph = builder.compile(name="Clinical workflow", checkpointer=checkpointer)
            queue = iter(tasks)
            total = len(done) + len(tasks)

            async def work() -> None:
                for position, case, epoch in queue:
                    seen = context.model_copy(
                        update={
                            "position": position,
                            "trace_file": str(directory.trace_file(case.id, epoch)),
                        }
                    )
                    result = await _run_case(graph, checkpointer, case, epoch, seen, directory)
                    directory.add(result)
                    done.append(result)
                    if on_result:
                        on_result(result, len(done), total)

            # Pseudo-cases in the order of the run mean that no case starts before the one ahead of it has finished.
            workers = 1 if context.grow == "in_order" else experiment.run.concurrency
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, len(tasks))):
                    group.create_task(work())
        summary = summarise_results(done)
        directory.write_summary(summary)
    return summary


async def _run_case(
    graph: Graph,
    checkpointer: BaseCheckpointSaver[str],
    case: Case,
    epoch: int,
    context: Context,
    directory: RunDirectory,
) -> Result:
    """One case to its end; whatever goes wrong is its termination reason, never a lost case."""
    started = time.perf_counter()
    thread = f"{case.id}#{epoch}"
    config: Any = {"configurable": {"thread_id": thread}}
    outcome: dict[str, Any]
    try:
        under_way = await graph.aget_state(config)
        entry = None if under_way.next else {"case": case}
        final = await graph.ainvoke(entry, config, context=context, durability="async")
        scores = await score_clinical_workflow(case, final, context)
        outcome = {
            "termination": "completed",
            "scores": scores.model_dump(exclude={"unscored"}),
            "unscored": dict(scores.unscored),
            **_outcome(final),
        }
        if context.grow != "off":
            directory.remember(final["follow_up"].course)
    except AskError as error:
        outcome = {"termination": error.reason, "error": " ".join([str(error), *getattr(error, "__notes__", [])])}
    except (CaseMemoryError, EmbeddingModelError) as error:
        outcome = {"termination": "memory_error", "error": str(error)}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome = {
            "termination": "internal_error",
            "error": f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})",
        }
    await checkpointer.adelete_thread(thread)
    trace = _trace(Path(context.trace_file or ""))
    return Result(
        case_id=case.id,
        epoch=epoch,
        tokens=trace.tokens,
        cost=trace.cost,
        calls=len(trace.calls),
        models=trace.models,
        seconds=time.perf_counter() - started,
        **outcome,
    )


def _outcome(final: dict[str, Any]) -> dict[str, Any]:
    """What a result line keeps of the final state."""
    return {
        "stages": {record.stage: record.ended for record in final["decisions"]},
        "rounds": {record.stage: len(record.rounds) for record in final["decisions"]},
        "answers": {
            "referral": final["referral"].model_dump(mode="json"),
            "orders": [*final["physical_orders"], *final["auxiliary_orders"]],
            "reports": final.get("reports", {}),
            "diagnosis": final["diagnosis"].names,
            "treatment": final["treatment"].items,
        },
    }


def _trace(file: Path) -> Trace:
    if not file.is_file():
        return Trace()
    with file.open(encoding="utf-8") as lines:
        return read_calls(lines)


async def _with_memory(context: Context, directory: RunDirectory, finished: Sequence[str] | set[str]) -> Context:
    """Open the memory before the first case, and give it back the pseudo-cases of a run that is taken up."""
    run = str(directory.path.resolve())
    memory = (await asyncio.to_thread(open_memory, context.memory, context.embedding)).for_run(run)
    if context.grow != "off":
        courses = [RememberedCase.model_validate_json(line) for line in directory.remembered()]
        kept = [course for course in courses if course.id in finished]
        if kept:
            await asyncio.to_thread(memory.add, kept)
    return context.model_copy(update={"run": run})
