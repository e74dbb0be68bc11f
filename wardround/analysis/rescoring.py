"""Scoring a finished run again, with other judges: no doctor and no patient is asked anything."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases import Case
from llm import ModelSettings
from llm.specs import HUMAN, check_models
from nodes.context import Context
from scoring.suite import SUITES, Suite
from wardround.analysis.summary import summarise_results
from wardround.config.experiment import ConfigurationError, Experiment, suites_of
from wardround.config.preflight import check_servers
from wardround.config.selection import select_cases
from wardround.run.tasks import TASKS
from wardround.store.manifest import manifest_of
from wardround.store.run_directory import Result, RunDirectory

_AT_ONCE = 8
_KEPT = {"language", "temperature", "seed", "timeout", "max_attempts", "max_connections", "max_tokens", "prices"}


def read_run(path: Path) -> tuple[Experiment, list[Result]]:
    """What was run in a run directory, and its results.

    Raises:
        ConfigurationError: there is no run, or its files cannot be read.
    """
    manifest = path / "manifest.json"
    try:
        experiment = Experiment.model_validate(json.loads(manifest.read_text("utf-8"))["configuration"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        raise ConfigurationError(f"{path}: is not a run directory: {manifest.name} cannot be read ({error})") from error
    results = RunDirectory(path).results()
    if not results:
        raise ConfigurationError(f"{path}: holds no results yet; run it first")
    return experiment, results


async def open_run(path: Path, models: Mapping[str, str]) -> tuple[Context, dict[str, Case], list[Result]]:
    """What asking about a finished run needs: a context of these models, the run's cases by id, and its results.

    Raises:
        ConfigurationError: no run, its cases are no longer what they were, or a person is among the models.
        CaseFileError: the case file cannot be read.
        ModelSpecError: a model cannot be used.
    """
    experiment, results = read_run(path)
    cases = select_cases(experiment.data)
    written = json.loads((path / "manifest.json").read_text("utf-8"))["data"]
    if (now := manifest_of(experiment, cases)["data"]) != written:
        raise ConfigurationError(f"{path}: its cases have changed since ({written} then, {now} now)")
    if HUMAN in models.values():
        raise ConfigurationError("models: a person cannot be asked about a finished run; name a model or 'offline'")
    check_models(models)
    # As in the run: the language, the temperature and the patience with a slow judge.
    kept = experiment.context.model_dump(include=_KEPT)
    context = Context.model_validate({**kept, "models": {"default": "offline", **models}})
    await check_servers(context)
    return context, {case.id: case for case in cases}, results


def suite_of(experiment: Experiment, name: str | None = None) -> Suite:
    """The suite that a run is scored by; another one, if it is named and fits the run's graph.

    Raises:
        ConfigurationError: it does not fit.
    """
    chosen = name or experiment.scored_by
    if chosen not in (fitting := suites_of(experiment.graph)):
        raise ConfigurationError(
            f"a run of graph {experiment.graph!r} is scored by {', '.join(fitting)}, not by {chosen}"
        )
    return SUITES[chosen]


async def rescore(
    path: Path, models: Mapping[str, str], suite: str | None = None
) -> tuple[list[Result], dict[str, Any]]:
    """Judge the answers of a run again.

    Args:
        path: the run directory; it is only read.
        models: the judges' models (``claim_extractor``, ``claim_judge``, ``diagnosis_judge``, or ``default``).
        suite: another than the run's own, such as ``aie`` for a consultation that was scored by MVME.

    Returns:
        The results with their new scores, and their summary.

    Raises:
        ConfigurationError: no run, its cases are no longer what they were, or the suite does not fit.
        CaseFileError: the case file cannot be read.
        ModelSpecError: a model cannot be used.
    """
    experiment, _ = read_run(path)
    chosen = suite_of(experiment, suite)
    context, by_id, results = await open_run(path, models)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def again(result: Result) -> Result:
        if not result.scored:
            return result
        async with gate:
            settings: ModelSettings = context
            answers = result.answers or TASKS[experiment.graph].answers({})
            scores = await chosen.score(by_id[result.case_id], answers, settings)
        return result.model_copy(update={"scores": dict(scores.values), "unscored": dict(scores.unscored)})

    judged = list(await asyncio.gather(*(again(result) for result in results)))
    return judged, summarise_results(judged, chosen)
