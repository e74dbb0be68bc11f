"""Score a finished run again with other judges; neither doctor nor patient is asked."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from cases import Case
from cases.validation import in_a_line
from llm import ModelSettings
from llm.blocks import ModelBlock
from llm.errors import AskError, CacheError
from llm.limits import Meter, metering
from llm.model_objects import with_specs
from llm.scopes import holding
from llm.specs import HUMAN, check_models
from llm.trace import Trace, TraceError, collecting_calls
from nodes.context import Context
from scoring.suite import SUITES, Suite
from wardround.analysis.summary import summarise_results
from wardround.config.experiment import ConfigurationError, judging_roles, suites_of
from wardround.config.preflight import check_servers
from wardround.run.faults import PLUGIN_ERROR, describe_fault, termination_of
from wardround.run.tasks import TASKS
from wardround.store.recorded_run import RecordedRun
from wardround.store.rekeyed import RekeyedRun, run_to_score
from wardround.store.result import Result

_AT_ONCE = 8
_KEPT_SETTINGS = {
    *("language", "temperature", "seed", "timeout", "max_attempts", "max_connections", "max_tokens", "prices", "model"),
    *("patient", "send_pictures", "pictures_in_dialogue"),
}


_judged_with: ContextVar[Mapping[str, Any]] = ContextVar("judged_with", default=MappingProxyType({}))


@contextmanager
def judged_with(settings: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Meter]:
    """Ask all judges in this block with these settings of calls, over those of the runs that they judge.

    Yields:
        A meter of what they use.
    """
    with holding(_judged_with, settings), metering(meter := Meter("run")):
        yield meter


def settings_of_judges(
    models: Mapping[str, str], recorded: Mapping[str, ModelBlock] = MappingProxyType({})
) -> dict[str, Any]:
    """Return these models, and the settings of the block that this is called in, over a run's ``recorded`` models.

    Raises:
        ConfigurationError: a model has neither a spec of its own nor a recorded one, or its settings contradict it.
    """
    given = _judged_with.get()
    blocks = dict(recorded)
    for name, keys in given.get("model", {}).items():
        merged = {**(blocks[name].model_dump(exclude_unset=True) if name in blocks else {}), **keys}
        if "spec" not in merged:
            raise ConfigurationError(
                f"--set model.{name}: no model of this name is recorded; add --set model.{name}.spec=SPEC"
            )
        try:
            blocks[name] = ModelBlock.model_validate(merged)
        except ValidationError as error:
            raise ConfigurationError(f"--set model.{name}: {in_a_line(error)}") from error
    return {**given, "model": blocks, "models": dict(models)}


async def context_for(run: RecordedRun, models: Mapping[str, str]) -> Context:
    """Return a context for questions about a finished run: its language, temperature and retries, and these models.

    What `judged_with` gives takes precedence over the run's.

    Raises:
        ConfigurationError: a person is among the models, or a server is not reached.
        ModelSpecError: a model cannot be used.
    """
    if HUMAN in models.values():
        raise ConfigurationError("models: a person cannot judge a finished run; name a model or 'offline'")
    given = settings_of_judges({"default": "offline", **models}, run.experiment.model)
    check_models(models, given["model"])
    settings = run.experiment.context.model_dump(include=_KEPT_SETTINGS, exclude_unset=True)
    with run.in_its_words():
        context = Context.model_validate({**settings, **given})
    await check_servers(context)
    return context


async def rescore(
    path: str | Path,
    models: Mapping[str, Any] | None = None,
    suite: str | None = None,
    cases: str | Path | None = None,
) -> tuple[list[Result], dict[str, Any]]:
    """Judge the answers of a run again: ``await wr.rescore(RUN)``, or ``asyncio.run(wr.rescore(RUN))`` in a script.

    Args:
        path: the run directory; it is only read.
        models: the judges' models (``claim_extractor``, ``claim_judge``, ``diagnosis_judge``, or ``default``), as specs
            or LangChain chat models; judges without one are offline rules, whoever judged the run.
        suite: a suite other than the run's own, such as ``aie`` for a consultation that was scored by MVME.
        cases: a file of the run's cases with corrected answer keys, by which to score; the summary then has ``keys``.

    Returns:
        The results with their new scores and who judged them, and their summary.

    Raises:
        ConfigurationError: no run, its cases have changed, or the suite or ``cases`` do not fit.
        InputError: the case file cannot be read, or a model cannot be used.
    """
    return await score_again(run_to_score(Path(path), cases), models, suite)


async def score_again(
    run: RecordedRun, models: Mapping[str, Any] | None, suite: str | None
) -> tuple[list[Result], dict[str, Any]]:
    """Judge the answers of an opened run; see :func:`rescore`."""
    name = suite or run.experiment.scored_by
    if name not in (fitting := suites_of(run.experiment.graph)):
        graph = run.experiment.graph
        raise ConfigurationError(f"a run of graph {graph!r} can be scored by {', '.join(fitting)}, not by {name}")
    new_suite = SUITES[name]
    context, judges = await context_for(run, with_specs(models or {})), judging_roles()
    for role in models or {}:
        if role != "default" and role.rpartition(".")[2] not in judges:
            raise ConfigurationError(f"models.{role}: only judges are asked again: {', '.join(judges)}")
    semaphore = asyncio.Semaphore(_AT_ONCE)

    async def judged_again(result: Result) -> Result:
        item = run.experiment.to_score(run.item_of(*result.key))
        if not result.scored:
            return result.model_copy(update={"unscored": _without_reference(new_suite, item)})
        async with semaphore:
            settings: ModelSettings = context.in_epoch(result.epoch)  # as in the run: the same judges score alike
            answers = result.answers or TASKS[run.experiment.graph].answers({})
            with collecting_calls() as calls:
                outcome = await _scored(new_suite, item, answers, settings)
        models = {role: names for role, names in result.models.items() if role not in judges}
        return result.model_copy(update={**outcome, "models": models | Trace(calls=tuple(calls)).models})

    with run.in_its_words():
        judged = list(await asyncio.gather(*(judged_again(result) for result in run.each_answered())))
    keys = {"keys": run.keys_told} if isinstance(run, RekeyedRun) else {}
    return judged, summarise_results(judged, new_suite) | keys


async def _scored(suite: Suite, item: Any, answers: Any, settings: ModelSettings) -> dict[str, Any]:
    """Return the scores of one case, or how a plug-in's suite failed: other cases are scored all the same."""
    try:
        scores = await suite.score(item, answers, settings)
    except (AskError, CacheError, TraceError):
        raise
    except Exception as error:
        if (termination := termination_of(error)) != PLUGIN_ERROR:
            raise
        failed = {"termination": termination, "error": describe_fault(error)}
        return {**failed, "scores": {}, "unscored": _without_reference(suite, item)}
    return {"scores": dict(scores.values), "unscored": dict(scores.unscored)}


def _without_reference(suite: Suite, item: Any) -> dict[str, str]:
    return dict(suite.without_reference(item)) if isinstance(item, Case) else {}
