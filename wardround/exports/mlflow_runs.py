"""Export runs to MLflow: settings as parameters, means as metrics, the summary as an artefact."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wardround.config.experiment import ConfigurationError, flat
from wardround.exports.frames import runs_of
from wardround.store.manifest import MANIFEST
from wardround.store.recorded_run import RecordedRun

_TAG = "wardround.run"
_NOT_IN_A_NAME = re.compile(r"[^\w./: -]+")  # what MLflow refuses in the name of a metric or parameter


def write_mlflow(runs: Sequence[RecordedRun], to: str) -> None:
    """Log runs; a run that was logged before is replaced.

    ``to`` is an SQLite file, created if missing, or the address of a tracking server. Runs are grouped by the name of
    their experiment.

    Raises:
        ImportError: MLflow is not installed.
        ConfigurationError: the server or the file cannot be used.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # must be set before the import
    os.environ["MLFLOW_ALLOW_HTTP_REDIRECTS"] = "false"  # data meant for one server must not go to another
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    file = None if "://" in to else Path(to).resolve()
    try:
        client = MlflowClient(f"sqlite:///{file}" if file else to)
        for run in runs:
            _log(client, run, file and file.parent / "mlartifacts")
    except MlflowException as error:
        raise ConfigurationError(f"{to}: MLflow cannot write there: {str(error).splitlines()[0]}") from error


def _log(client: Any, run: RecordedRun, artifacts: Path | None) -> None:
    name = run.experiment.name
    experiment = client.get_experiment_by_name(name)
    key = experiment.experiment_id if experiment else client.create_experiment(name, artifacts and artifacts.as_uri())
    for earlier in client.search_runs([key], f"tags.`{_TAG}` = '{run.id}'"):
        client.delete_run(earlier.info.run_id)
    started, ended = _first_and_last(run)
    run_id = client.create_run(key, started, {_TAG: run.id}, run.name).info.run_id
    for setting, value in flat(run.manifest["configuration"]).items():
        if value not in (None, []):
            client.log_param(run_id, named(setting), value)
    for column, value in next(runs_of(run)).items():
        if isinstance(value, int | float) and column != "seed":  # which is not measured
            client.log_metric(run_id, named(column), value)
    summary = run.path / "summary.json"
    if summary.is_file():
        client.log_artifact(run_id, str(summary))
    finished = len(run.results) >= run.planned
    client.set_terminated(run_id, "FINISHED" if finished else "KILLED", ended)


def named(name: str) -> str:
    """Return a name as MLflow takes it: ``Avg. _gathering_`` for ``Avg. (gathering)``."""
    return _NOT_IN_A_NAME.sub("_", name)


def _first_and_last(run: RecordedRun) -> tuple[int, int]:
    """Return when the first call was made and the last one ended, in milliseconds; a copied file has another time."""
    calls = [(call.started, call.ended) for _, calls in run.each_trace() for call in calls]
    if not calls:
        return (int((run.path / MANIFEST).stat().st_mtime * 1000),) * 2
    started, ended = zip(*calls, strict=True)
    return int(min(started) * 1000), int(max(ended) * 1000)
