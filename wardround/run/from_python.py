"""Run an experiment or a sweep from Python, inside or outside a running event loop."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases.validation import in_a_line
from llm.errors import ModelSpecError
from llm.model_objects import with_specs
from wardround.config.command_line import parse_settings
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.experiment_file import Sweep, check_experiment, only_run, read_sweep
from wardround.library import find_file
from wardround.run.own_loop import in_own_loop
from wardround.run.runner import run_experiment as run_it
from wardround.run.sweep import default_directory
from wardround.run.whole_sweep import check_all, make_and_write_tables, shared_cluster, warnings_of

_log = logging.getLogger(__name__)


def run_experiment(
    experiment: str | Path | Mapping[str, Any] | Experiment | None = None,
    out: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    plugins: Sequence[str | Path] = (),
) -> dict[str, Any]:
    """Run an experiment, as ``wardround run`` does; a run that was started in the same directory is resumed.

    What the command prints of models without a price or seed is logged as a warning.

    Args:
        experiment: a file or the name of a built-in one (of one run; `run_sweep` runs several), its sections as a
            mapping, or an `Experiment`; if None, the built-in cases, offline.
        out: the run directory; ``runs/<name>-<fingerprint>`` if None.
        settings: override a file's settings, by key as in ``--set``: ``{"data.limit": 2, "feedback": "off"}``.
        models: override a file's model map: specs, or LangChain chat models.
        plugins: loaded in addition to those that a file names.

    Returns:
        The summary, as in ``summary.json``.

    Raises:
        InputError: a file, setting, model, memory, plug-in or prompt cannot be used (mostly a `ConfigurationError`);
            nothing was run.
        RuntimeError: the run had to stop, since a server refuses every question or the disk is full; the same call
            resumes it.
    """
    directory = _folder(out)
    if isinstance(experiment, Mapping):
        experiment = check_experiment(experiment)
    if not isinstance(experiment, Experiment):
        file = find_file(Path(experiment)) if experiment is not None else None
        experiment = only_run(_read(file, settings, models, plugins, "run_experiment"), file)
    elif settings or models or plugins:
        raise ConfigurationError("settings, models and plugins override an experiment file; set them in the experiment")
    try:
        _ = experiment.context  # which an `Experiment` that somebody makes does not check
    except ValidationError as error:
        raise ConfigurationError(f"experiment: workflow: {in_a_line(error)}") from error
    sweep = Sweep(experiment.name, {"": experiment})
    _warn(sweep)
    return in_own_loop(run_it(experiment, directory or default_directory(sweep)))


def run_sweep(
    experiment: str | Path,
    out: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    plugins: Sequence[str | Path] = (),
) -> dict[str, dict[str, Any]]:
    """Run every run of a file, as ``wardround run`` does: ``wr.run_sweep("medchain_table_3", "runs/table_3")``.

    All runs are checked before the first begins; runs that were started in the same directory are resumed. The tables
    that the file names, or the scores if it names none, are written into its folder ``tables``; what the command prints
    of models without a price or seed, and of tables that do not fit, is logged as a warning.

    Args:
        experiment: a file or the name of a built-in one (``wardround experiments list``).
        out: the directory of the runs, one folder each; ``runs/<name>-<fingerprint>`` if None.
        settings: override the file's settings in each run, by key as in ``--set``.
        models: override the file's model map: specs, or LangChain chat models.
        plugins: loaded in addition to those that the file names.

    Returns:
        The summary of each run by its name, in the file's order; of a file with one run, by "".

    Raises:
        InputError, RuntimeError: as :func:`run_experiment`.
    """
    if not isinstance(experiment, str | Path):
        given = f"run_sweep: experiment: expected a file or the name of a built-in one, not {type(experiment).__name__}"
        raise ConfigurationError(f"{given}; write its sections to a file, or run one experiment with run_experiment")
    sweep = _read(find_file(Path(experiment)), settings, models, plugins, "run_sweep")
    root = _folder(out) or default_directory(sweep)
    _warn(sweep)
    check_all(sweep, root)
    with shared_cluster(sweep):
        summaries = {name: in_own_loop(run_it(one, root / name)) for name, one in sweep.runs.items()}
    for made in make_and_write_tables(sweep, root):
        if made.reason:
            _log.warning("table %s left out: %s", made.name, made.reason)
    return summaries


def _warn(sweep: Sweep) -> None:
    for warning in warnings_of(sweep):
        _log.warning("%s", warning)


def _folder(out: str | Path | None) -> Path | None:
    if out == "":  # as a path it would be the working directory
        raise ConfigurationError("out: is empty; give a folder for the run, or None for one in runs/")
    return None if out is None else Path(out)


def _read(
    file: Path | None,
    settings: Mapping[str, Any] | None,
    models: Mapping[str, Any] | None,
    plugins: Sequence[str | Path],
    caller: str,
) -> Sweep:
    if isinstance(plugins, str | Path):  # a text would be read letter by letter
        raise ConfigurationError(f"plugins = {str(plugins)!r}; expected a list, [{str(plugins)!r}]")
    if not isinstance(models, Mapping | None):
        raise ConfigurationError(f"models = {models!r:.80}; expected a dict by role, such as {{'patient': 'offline'}}")
    try:
        specs = with_specs(models)
    except ModelSpecError as error:
        raise ConfigurationError(f"{caller}: {error}") from error
    return read_sweep(file, parse_settings(settings or {}), specs, [str(plugin) for plugin in plugins], caller)
