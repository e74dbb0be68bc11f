"""Run directories of ours as sources of scores."""

from pathlib import Path
from typing import TYPE_CHECKING

from wardround.commands.score.output import Mode, Scores, refuse

if TYPE_CHECKING:
    from wardround.store.recorded_run import RecordedRun


def open_recorded(directory: Path) -> "RecordedRun":
    """A run directory; ends the command if it is none, or is a sweep's."""
    from wardround.config.experiment import ConfigurationError
    from wardround.store.recorded_run import find_runs

    try:
        runs = find_runs([directory])
    except ConfigurationError as error:
        refuse(str(error))
    if len(runs) > 1:
        refuse(f"{directory}: holds {len(runs)} runs; name one of them")
    if not runs[0].results:
        refuse(f"{directory}: holds no results yet; run it first")
    return runs[0]


def scores_of_run(directory: Path, suite: str, mode: Mode) -> Scores:
    """A run's answers scored by a suite that asks no judge; ends the command if it does not fit the run."""
    import asyncio

    from cases import CaseFileError
    from llm import ModelSpecError
    from scoring.metrics.statistics import Estimate
    from wardround.analysis.rescoring import rescore
    from wardround.config.experiment import ConfigurationError

    if mode is Mode.PAPER:
        refuse(f"{directory}: runs are scored in the sound mode; paper mode is for the authors' transcripts")
    try:
        results, summary = asyncio.run(rescore(directory, {}, suite))
    except (CaseFileError, ConfigurationError, ModelSpecError) as error:
        refuse(str(error))
    metrics = {name: Estimate.model_validate(score) for name, score in summary["scores"].items()}
    notes = [
        f"{name}: {count} not scored ({reason})"
        for name, reasons in summary["unscored"].items()
        for reason, count in reasons.items()
    ]
    return Scores(suite, mode, len(results), metrics, notes=notes)
