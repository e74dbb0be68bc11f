"""Running an experiment: many cases through the graph, each scored once, nothing lost."""

import asyncio
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from cases import Case
from cases.sexes import SexBoundError
from evaluation.clinical_workflow import Answers, score_clinical_workflow
from experiments.checkpoints import open_checkpoints
from experiments.configuration import Experiment, own_sub_departments, select_cases
from experiments.preflight import check_servers
from experiments.run_directory import Result, RunDirectory, RunStoppedError
from experiments.summary import summarise_results
from graphs.clinical_workflow import builder
from models import AskError
from models.trace import Trace, read_calls
from nodes.context import Context
from nodes.librarian import add_to_memory
from retrieval import CaseMemoryError, EmbeddingModelError, Memory, RememberedCase, open_memory

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
        EmbeddingModelError: the embedding model cannot be loaded.
        RunStoppedError: the run directory could no longer be written; run it again to go on.
    """
    cases = select_cases(experiment.data)
    context = experiment.context
    if context.sub_departments is None:
        context = context.model_copy(update={"sub_departments": own_sub_departments(experiment.data)})
    await check_servers(context)
    memory = await _memory_of(context)
    with RunDirectory(out).opened(experiment, cases) as directory:
        done = [result for result in directory.results() if result.final]
        directory.keep(done)
        context = context.model_copy(update={"run": directory.run})
        if memory and context.grow != "off":
            await asyncio.to_thread(_give_back, memory.for_run(directory.run), directory, done)
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
                    trace_file = str(directory.trace_file(case.id, epoch))
                    # Epochs are to differ where a model samples: each gets a seed of its own.
                    seen = context.model_copy(
                        update={"position": position, "trace_file": trace_file, "seed": experiment.seed + epoch}
                    )
                    result = await _run_case(graph, case, epoch, seen, directory)
                    directory.add(result)
                    if result.final:  # one that is tried again goes on where it failed
                        await checkpointer.adelete_thread(_thread(case, epoch))
                    done.append(result)
                    if on_result:
                        on_result(result, len(done), total)

            # Pseudo-cases in the order of the run mean that no case starts before the one ahead of it has finished.
            workers = 1 if context.grow == "in_order" else experiment.run.concurrency
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(workers, len(tasks))):
                        group.create_task(work())
            except ExceptionGroup as group_of_errors:
                raise group_of_errors.exceptions[0] from None
        summary = summarise_results(done)
        directory.write_summary(summary)
    return summary


def _thread(case: Case, epoch: int) -> str:
    return f"{case.id}#{epoch}"


async def _run_case(graph: Graph, case: Case, epoch: int, context: Context, directory: RunDirectory) -> Result:
    """One case to its end; whatever goes wrong is its termination reason, never a lost case."""
    started = time.perf_counter()
    outcome: dict[str, Any]
    try:
        final = await _run_graph(graph, case, _thread(case, epoch), context)
        scores = await score_clinical_workflow(case, final, context)
        outcome = {
            "termination": "completed",
            "scores": scores.model_dump(exclude={"unscored"}),
            "unscored": dict(scores.unscored),
            **_outcome(final),
        }
        if context.grow != "off":
            directory.remember(final["follow_up"].course)
    except RunStoppedError:
        raise
    except AskError as error:
        outcome = {"termination": error.reason, "error": " ".join([str(error), *getattr(error, "__notes__", [])])}
    except SexBoundError as error:
        outcome = {"termination": "sex_bound", "error": str(error)}
    except (CaseMemoryError, EmbeddingModelError) as error:
        outcome = {"termination": "memory_error", "error": str(error)}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome = {
            "termination": "internal_error",
            "error": f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})",
        }
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


async def _run_graph(graph: Graph, case: Case, thread: str, context: Context) -> dict[str, Any]:
    """The final state. A case that was under way goes on at its last node; one that only lacked its scores is done."""
    config: Any = {"configurable": {"thread_id": thread}}
    reached = await graph.aget_state(config)
    if reached.values and not reached.next:
        if context.grow != "off":
            await add_to_memory(reached.values["follow_up"].course, context)
        return dict(reached.values)
    entry = None if reached.next else {"case": case}
    # "async" lets a stage's checkpoint reach the disk before its graph's own: a kill in between loses what lay before.
    final: dict[str, Any] = await graph.ainvoke(entry, config, context=context, durability="sync")
    return final


def _outcome(final: dict[str, Any]) -> dict[str, Any]:
    """What a result line keeps of the final state."""
    return {
        "stages": {record.stage: record.ended for record in final["decisions"]},
        "rounds": {record.stage: len(record.rounds) for record in final["decisions"]},
        "answers": Answers.of(final),
    }


def _trace(file: Path) -> Trace:
    if not file.is_file():
        return Trace()
    # Newlines as written; a line cut off inside a letter is left out like any other.
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        return read_calls(lines)


async def _memory_of(context: Context) -> Memory | None:
    """The case memory, opened before anything is written; None if the workflow uses none."""
    if not context.retrieval and context.grow == "off":
        return None
    return await asyncio.to_thread(open_memory, context.memory, context.embedding)


def _give_back(memory: Memory, directory: RunDirectory, done: Sequence[Result]) -> None:
    """Give the memory back the pseudo-cases of a run that is taken up."""
    finished = {result.case_id for result in done}
    courses = [RememberedCase.model_validate_json(line) for line in directory.remembered()]
    memory.add(course for course in courses if course.id in finished)
