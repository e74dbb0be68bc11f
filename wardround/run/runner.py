"""Run an experiment: many cases through a graph, each scored once, no result lost."""

import asyncio
import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from llm.events import tell
from llm.prices import unpriced
from nodes.context import Context
from prompts import laid_over
from retrieval import BUILTIN, Memory, RememberedCase, open_memory, warn_of_languages
from scoring.suite import SUITES
from wardround.analysis.summary import summarise_results
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.preflight import check_languages, check_lengths, check_own_prompts, check_servers
from wardround.config.selection import Held, select
from wardround.run.checkpoints import check_checkpoints
from wardround.run.engines.local import run_here
from wardround.run.engines.work import RunCases
from wardround.run.one_case import Attempt, Outcome
from wardround.run.tasks import TASKS
from wardround.run.trial import try_out
from wardround.store.durable_lines import RunStoppedError
from wardround.store.manifest import is_run
from wardround.store.run_directory import Result, RunDirectory

OnResult = Callable[[Result, int, int], None]


async def run_experiment(experiment: Experiment, out: Path, on_result: OnResult | None = None) -> dict[str, Any]:
    """Run what is left of an experiment, summarise all of it, and return the summary as in ``summary.json``.

    A run of the same experiment in ``out`` is resumed. ``on_result`` is called with each result, the number done and
    the total.

    Raises:
        ConfigurationError: bad configuration or data, or the directory holds another run (nothing was run).
        CaseFileError: the case file cannot be used.
        ModelSpecError: a model cannot be used.
        CaseMemoryError: the case memory cannot be opened.
        EmbeddingModelError: the embedding model cannot be loaded.
        RunStoppedError: the run directory can no longer be written, a server refuses all questions, or a case failed
            although ``run.fail_on_error`` is set; run it again to resume.
    """
    with laid_over(experiment.prompts), _less_garbage_collection():
        return await _run(experiment, out, on_result)


async def _run(experiment: Experiment, out: Path, on_result: OnResult | None) -> dict[str, Any]:
    selected = select(experiment.data)
    context = experiment.context
    if context.sub_departments is None:
        context = context.model_copy(update={"sub_departments": selected.sub_departments})
    languages = {item.language for item in selected.items}
    check_languages(languages, context)
    check_own_prompts(TASKS[experiment.graph].graph(context), languages, context)
    check_lengths(selected.items, context)
    await check_servers(context)
    if experiment.limits_cost and (unknown := unpriced(context.models, context)):
        raise ConfigurationError(
            f"limits: the cost is limited, but no price is known for {', '.join(unknown)}; set it in [workflow.prices]"
        )
    await check_checkpoints(experiment.run.checkpoints)
    memory = await _memory_of(context)
    if memory and not context.memory.startswith(BUILTIN):  # the built-in memory documents its languages
        warn_of_languages(context.embedding, languages)
    remembered = await asyncio.to_thread(_verified_counts, memory, selected.items) if memory else None
    if remembered == {} and context.grow == "off":
        raise ConfigurationError(
            f"workflow.memory: {context.memory} contains no remembered cases; build it (`wardround memory build`), or "
            "set retrieval = false"
        )
    if not is_run(out):  # on resume, opening the directory refuses plug-ins or prompts other than those tried out
        await try_out(experiment, context, selected.items)
    async with _engine(experiment, context, selected.items) as run_cases:
        with RunDirectory(out).opened(experiment, selected.items, remembered) as directory:
            finished = directory.resume(growing=context.grow != "off", retry_failed=experiment.run.retry_failed)
            context = context.model_copy(update={"run": directory.run})
            if memory and context.grow != "off":
                await asyncio.to_thread(_restore, memory.for_run(directory.run), directory, finished)
            left = [attempt for attempt in _attempts(experiment, selected.items) if attempt.key not in finished]
            total = len(finished) + len(left)
            done = len(finished)
            reporter = _Reporter()
            tell("run_started", directory=str(out), done=done, total=total)

            def finish(outcome: Outcome) -> None:
                nonlocal done
                if outcome.course is not None:
                    directory.remember(outcome.course)
                directory.add(outcome.result)
                done += 1
                reporter.case(outcome.result, done, total)
                if on_result:
                    on_result(outcome.result, done, total)
                if experiment.run.fail_on_error and not outcome.result.scored:
                    failed = outcome.result
                    raise RunStoppedError(
                        f"{failed.case_id} failed ({failed.termination}: {failed.error}), and run.fail_on_error is "
                        "set; fix this, then run the same command again to resume"
                    )

            stopped: RunStoppedError | None = None
            try:
                await run_cases(directory, context, left, finish)
            except RunStoppedError as error:
                stopped = error  # summarise what was done, if it can still be written
            summary = summarise_results(directory.results(), SUITES[experiment.scored_by])
            summary["not_attempted"] = total - summary["attempted"]
            directory.write_summary(summary)
            counts = ("attempted", "scored", "failed", "not_attempted")
            tell("run_ended", directory=str(out), **{count: summary[count] for count in counts})
            if stopped is not None:
                raise stopped
    return summary


@contextmanager
def _less_garbage_collection() -> Iterator[None]:
    """Collect garbage seldom, and only among new objects: imports leave a million objects and no garbage."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class _Reporter:
    """Emits an event for each case that ends, with the mean of each score so far over the cases that have it."""

    def __init__(self) -> None:
        self._scores: dict[str, list[float]] = defaultdict(list)

    def case(self, result: Result, done: int, total: int) -> None:
        for name, value in result.scores.items():
            if value is not None:
                self._scores[name].append(value)
        reported = ("case_id", "epoch", "termination", "error", "scores", "seconds", "tokens", "cost", "calls")
        means = {name: sum(values) / len(values) for name, values in self._scores.items()}
        facts = result.model_dump(include=set(reported)) | {"scored": result.scored}
        tell("case_ended", **facts, done=done, total=total, scores_so_far=means)


def _engine(experiment: Experiment, context: Context, items: Sequence[Held]) -> AbstractAsyncContextManager[RunCases]:
    """Return the engine of the run. The Ray engine refuses what it cannot run before anything is written."""
    if experiment.run.engine == "local":
        return nullcontext(partial(run_here, experiment))
    from wardround.run.engines.ray import open_cluster

    return open_cluster(experiment, context, items)


def _attempts(experiment: Experiment, items: Sequence[Held]) -> Iterator[Attempt]:
    for epoch in range(experiment.epochs):
        for position, item in enumerate(items, start=epoch * len(items)):
            yield Attempt(position, item, epoch)


async def _memory_of(context: Context) -> Memory | None:
    """Open the case memory before anything is written; None if the workflow uses none."""
    if not context.retrieval and context.grow == "off":
        return None
    return await asyncio.to_thread(open_memory, context.memory, context.embedding)


def _verified_counts(memory: Memory, items: Sequence[Held]) -> dict[str, int]:
    """Count the verified cases in the memory by department.

    Raises:
        ConfigurationError: the memory holds cases of the run's test split (or of no split) with their answer keys.
    """
    tested = [item.id for item in items if not item.of_note and item.split in (None, "test")]
    if not memory.location.startswith(BUILTIN) and (known := sorted(memory.holds(tested))):
        raise ConfigurationError(
            f"workflow.memory: {memory.location} contains {len(known)} of the cases of this run ({known[0]}, ...) with "
            "their answer keys; build it from the train split (`wardround cases split`, `wardround memory build`)"
        )
    return {department: count.verified for department, count in sorted(memory.stats().items()) if count.verified}


def _restore(memory: Memory, directory: RunDirectory, finished: set[tuple[str, int]]) -> None:
    """Restore a resumed run's pseudo-cases to the memory."""
    ids = {case_id for case_id, _ in finished}
    courses = [RememberedCase.model_validate_json(line) for line in directory.remembered()]
    memory.add(course for course in courses if course.id in ids)
