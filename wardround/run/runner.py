"""Run an experiment: many cases through a graph, each scored once, no result lost."""

import asyncio
import gc
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from llm.events import tell
from llm.prices import unpriced
from nodes.context import Context
from prompts import laid_over
from retrieval import Memory, RememberedCase, builtin_counts, open_memory, warn_of_languages, warn_of_other_languages
from retrieval.embedding_models import fingerprint
from scoring.suite import SUITES
from wardround.analysis.summary import summarise_results
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.preflight import check_languages, check_lengths, check_prompts, check_servers
from wardround.config.selection import Selection, StoredItem, select
from wardround.run.engines.local import run_here
from wardround.run.engines.work import RunCases
from wardround.run.one_case import Attempt, Outcome
from wardround.run.postgres import check_postgres
from wardround.run.tasks import TASKS
from wardround.run.trial import try_out
from wardround.store.durable_lines import TO_RESUME, RunStoppedError
from wardround.store.manifest import is_run
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory

_log = logging.getLogger(__name__)

OnResult = Callable[[Result, int, int], None]


async def run_experiment(
    experiment: Experiment, out: Path, on_result: OnResult | None = None, selection: Selection | None = None
) -> dict[str, Any]:
    """Run what is left of an experiment, summarise all of it, and return the summary as in ``summary.json``.

    A run of the same experiment in ``out`` is resumed. ``on_result`` is called with each result, the number done and
    the total. A ``selection`` of the experiment that was made before is not made again.

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
        return await _run(experiment, out, on_result, selection or select(experiment.data))


async def check_resumable(experiment: Experiment, out: Path, selection: Selection) -> None:
    """Do nothing if ``out`` holds no run, or one of this experiment and selection.

    Raises:
        ConfigurationError: it holds another run; names the differences.
        CaseMemoryError: the case memory cannot be opened.
        EmbeddingModelError: the embedding model cannot be loaded.
    """
    if is_run(out):
        with laid_over(experiment.prompts):
            context = _context(experiment, selection)
            remembered = await _remembered(context, selection.items, opened=False)
            RunDirectory(out).check(experiment, selection.items, _beside(context, remembered))


async def _run(experiment: Experiment, out: Path, on_result: OnResult | None, selection: Selection) -> dict[str, Any]:
    items, context = await _checked(experiment, selection)
    is_new = not is_run(out)
    remembered = await _remembered(context, items, opened=is_new)
    beside = _beside(context, remembered)
    if is_new:  # on resume, opening the directory refuses plug-ins or prompts other than those tried out
        await try_out(experiment, context, items)
    async with _engine(experiment, context, items) as run_cases:
        with RunDirectory(out).opened(experiment, items, beside) as directory:
            finished = directory.resume(growing=context.grow != "off", retry_failed=experiment.run.retry_failed)
            context = context.model_copy(update={"run": directory.run})
            left = [
                Attempt(position, item, epoch)
                for epoch in range(experiment.epochs)
                for position, item in enumerate(items, start=epoch * len(items))
                if (item.id, epoch) not in finished
            ]
            if left and directory.begun_by:
                _log.warning(
                    "%s: %s began this run; the cases that are left run with this program, whose rules may differ",
                    out,
                    directory.begun_by,
                )
            if remembered is not None and left:
                await asyncio.to_thread(_restore, context, directory, finished)
            recorder = _Recorder(directory, len(finished), len(finished) + len(left), on_result)
            failed = sum(not result.scored for result in directory.results())
            tell("run_started", directory=str(out), done=recorder.done, failed=failed, total=recorder.total)
            stopped: RunStoppedError | None = None
            try:
                await run_cases(directory, context, left, partial(recorder.record, stop=experiment.run.fail_on_error))
            except RunStoppedError as error:
                stopped = error  # summarise what was done, if it can still be written
            summary = summarise_results(directory.results(), SUITES[experiment.scored_by])
            summary["not_attempted"] = recorder.total - summary["attempted"]
            directory.write_summary(summary)
            counts = ("attempted", "scored", "failed", "not_attempted")
            tell("run_ended", directory=str(out), **{count: summary[count] for count in counts})
            if stopped is not None:
                raise stopped
    return summary


async def _checked(experiment: Experiment, selected: Selection) -> tuple[Sequence[StoredItem], Context]:
    """Return the selected cases and the context of the graph, if nothing stands against running them."""
    context = _context(experiment, selected)
    languages = {item.language for item in selected.items}
    check_languages(languages, context)
    asks_a_judge = any(metric.asks for metric in SUITES[experiment.scored_by].own_metrics)
    check_prompts(TASKS[experiment.graph].graph(context), languages, context, with_judges=asks_a_judge)
    check_lengths(selected.items, context)
    await check_servers(context)
    if experiment.limits_cost and (unknown := unpriced(context.models, context)):
        raise ConfigurationError(
            f"limits: the cost is limited, but no price is known for {', '.join(unknown)}; set it in [workflow.prices]"
        )
    if experiment.run.checkpoints is not None:
        await check_postgres(experiment.run.checkpoints)
    return selected.items, context


def _context(experiment: Experiment, selected: Selection) -> Context:
    """Return the context of the graph, with the sub-departments of the cases unless the experiment sets them."""
    context = experiment.context
    if context.sub_departments is not None:
        return context
    return context.model_copy(update={"sub_departments": selected.sub_departments})


def _beside(context: Context, remembered: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the results depend on besides the experiment and its cases, for the manifest."""
    return {"sub_departments": context.sub_departments, **(remembered or {})}


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


class _Recorder:
    """Records each case that ends, and tells of it with the mean of each score so far over the cases that have it."""

    def __init__(self, directory: RunDirectory, done: int, total: int, on_result: OnResult | None) -> None:
        self.done, self.total = done, total
        self._directory, self._on_result = directory, on_result
        self._scores: dict[str, list[float]] = defaultdict(list)

    def record(self, outcome: Outcome, *, stop: bool) -> None:
        """Record how a case ended; if ``stop``, stop the run at one that failed."""
        result = outcome.result
        if outcome.course is not None:
            self._directory.remember(outcome.course)
        self._directory.add(result)
        self.done += 1
        self._tell(result)
        if self._on_result:
            self._on_result(result, self.done, self.total)
        if stop and not result.scored:
            raise RunStoppedError(
                f"{result.case_id} failed ({result.termination}: {result.error}), and run.fail_on_error is set; "
                f"{TO_RESUME}"
            )

    def _tell(self, result: Result) -> None:
        for name, value in result.scores.items():
            if value is not None:
                self._scores[name].append(value)
        reported = ("case_id", "epoch", "termination", "error", "scores", "seconds", "tokens", "cost", "calls")
        means = {name: sum(values) / len(values) for name, values in self._scores.items()}
        facts = result.model_dump(include=set(reported)) | {"scored": result.scored}
        tell("case_ended", **facts, done=self.done, total=self.total, scores_so_far=means)


def _engine(
    experiment: Experiment, context: Context, items: Sequence[StoredItem]
) -> AbstractAsyncContextManager[RunCases]:
    """Return the engine of the run. The Ray engine refuses what it cannot run before anything is written."""
    if experiment.run.engine == "local":
        return nullcontext(partial(run_here, experiment))
    from wardround.run.engines.ray import open_cluster

    return open_cluster(experiment, context, items)


async def _remembered(context: Context, items: Sequence[StoredItem], *, opened: bool) -> dict[str, Any] | None:
    """Return what the manifest says of the case memory; None if the run uses none.

    That is the number of its verified cases by department; of a memory that is not built in, a hash of them; and of an
    embedding model in a folder, a hash of its files. The memory is opened for it, before anything is written; the
    built-in one only if ``opened``, as a finished run needs none.
    """
    if not context.retrieval and context.grow == "off":
        return None
    counts = builtin_counts(context.memory)
    model = {"embedding": digest} if (digest := fingerprint(context.embedding)) else {}
    if counts is not None and not opened:
        return {"memory": counts, **model}
    memory = await asyncio.to_thread(open_memory, context.memory, context.embedding)
    languages = {item.language for item in items}
    if counts is not None:  # it holds no case of a test split
        warn_of_other_languages(context.memory, languages)
        return {"memory": counts, **model}
    warn_of_languages(context.embedding, languages)
    remembered = await asyncio.to_thread(_verified_counts, memory, items)
    if not remembered and context.grow == "off":
        raise ConfigurationError(
            f"workflow.memory: {context.memory} contains no remembered cases; build it (`wardround memory build`), or "
            "set retrieval = false"
        )
    return {"memory": remembered, "memory_content": await asyncio.to_thread(memory.content_hash), **model}


def _verified_counts(memory: Memory, items: Sequence[StoredItem]) -> dict[str, int]:
    """Count the verified cases in the memory by department.

    Raises:
        ConfigurationError: the memory holds cases of the run's test split (or of no split) with their answer keys.
    """
    tested = [item.id for item in items if not item.is_note and item.split in (None, "test")]
    if known := sorted(memory.holds(tested)):
        raise ConfigurationError(
            f"workflow.memory: {memory.location} contains {len(known)} of the cases of this run ({known[0]}, ...) with "
            "their answer keys; build it from the train split (`wardround cases split`, `wardround memory build`)"
        )
    return {department: count.verified for department, count in sorted(memory.stats().items()) if count.verified}


def _restore(context: Context, directory: RunDirectory, finished: set[tuple[str, int]]) -> None:
    """Open the memory, and restore a resumed run's pseudo-cases to it, which are those of its record."""
    memory = open_memory(context.memory, context.embedding)
    if context.grow != "off":
        ids = {case_id for case_id, _ in finished}
        courses = [RememberedCase.model_validate_json(line) for line in directory.remembered()]
        memory.for_run(directory.run).restore(course for course in courses if course.id in ids)
