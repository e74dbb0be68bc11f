"""Runs as data frames, for notebooks and statistics of one's own."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cases import CaseFileError
from scoring.clini_eval.dialogue import ReconstructionAnswers
from wardround.config.experiment import ConfigurationError
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.run_directory import Result

if TYPE_CHECKING:
    import pandas


def to_dataframe(run: str | Path | Sequence[str | Path]) -> "pandas.DataFrame":
    """One row a case and epoch, of a run or of several.

    Columns: ``case_id``, ``epoch``, ``termination``, each score under its name (missing where unscored),
    ``unscored.NAME`` (why), ``tokens``, ``cost``, ``seconds``, ``calls``, ``error``, ``rounds.PART``, ``stages.PART``
    (how it ended), ``answers.diagnosis``, one a line, and ``case.department``, by the answer key or, of a note, by who
    reconstructed it (missing where the cases are not those that were run). Several runs, or a sweep, have a first
    column ``run``.

    Args:
        run: a run directory, a sweep's, or a list of either; a run need not be finished.

    Raises:
        ConfigurationError: a directory holds no run.
    """
    import pandas

    one = isinstance(run, str | Path)
    paths = [Path(run)] if isinstance(run, str | Path) else [Path(path) for path in run]
    runs = find_runs(paths)
    named = not one or [found.path for found in runs] != paths
    frame = pandas.DataFrame([row for found in runs for row in _rows(found, named)])
    ordered = [name for name in _order(runs, named) if name in frame]
    return frame[[*ordered, *(name for name in frame.columns if name not in ordered)]]


def _rows(run: RecordedRun, named: bool) -> Iterable[dict[str, Any]]:
    results = sorted(run.each_answered(), key=lambda result: (result.case_id, result.epoch))
    known = _departments(run)
    return [
        {**({"run": run.name} if named else {}), **_row(result), "case.department": _department(result, known)}
        for result in results
    ]


def _departments(run: RecordedRun) -> dict[str, str | None]:
    try:
        return {case.id: case.key.department for case in run.cases.values()}
    except (CaseFileError, ConfigurationError):  # notes, or cases that have changed or gone
        return {}


def _department(result: Result, known: Mapping[str, str | None]) -> str | None:
    answers = result.answers
    if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
        return answers.reconstructed.department
    return known.get(result.case_id)


def _row(result: Result) -> dict[str, Any]:
    return {
        "case_id": result.case_id,
        "epoch": result.epoch,
        "termination": result.termination,
        **result.scores,
        "tokens": result.tokens,
        "cost": result.cost,
        "seconds": result.seconds,
        "calls": result.calls,
        "error": result.error,
        "answers.diagnosis": "\n".join(result.answers.diagnosis) if result.answers else None,
        **{f"rounds.{part}": rounds for part, rounds in result.rounds.items()},
        **{f"stages.{part}": end for part, end in result.stages.items()},
        **{f"unscored.{name}": reason for name, reason in result.unscored.items()},
    }


def _order(runs: Sequence[RecordedRun], named: bool) -> list[str]:
    """The columns that stand first, whatever the first case has."""
    scores = dict.fromkeys(name for run in runs for name in run.suite.columns)
    first = [*(["run"] if named else []), "case_id", "epoch", "termination", *scores]
    return [*first, "tokens", "cost", "seconds", "calls", "error", "answers.diagnosis", "case.department"]
