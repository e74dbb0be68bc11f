"""Run an experiment from Python, inside or outside a running event loop."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases.validation import in_a_line
from llm.errors import ModelSpecError
from llm.model_objects import with_specs
from wardround.config.command_line import parse_settings
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.experiment_file import Sweep, check_experiment, read_experiment
from wardround.library import find_file
from wardround.run.own_loop import in_own_loop
from wardround.run.runner import run_experiment as run_it
from wardround.run.sweep import default_directory


def run_experiment(
    experiment: str | Path | Mapping[str, Any] | Experiment | None = None,
    out: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    plugins: Sequence[str | Path] = (),
) -> dict[str, Any]:
    """Run an experiment, as ``wardround run`` does; a run that was started in the same directory is resumed.

    Args:
        experiment: a file or the name of a built-in one (of one run: ``wardround run`` runs sweeps), its sections as a
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
    if out == "":  # as a path it would be the working directory
        raise ConfigurationError("out: is empty; give a folder for the run, or None for one in runs/")
    if isinstance(plugins, str | Path):  # a text would be read letter by letter
        raise ConfigurationError(f"plugins = {str(plugins)!r}; expected a list, [{str(plugins)!r}]")
    if isinstance(experiment, Mapping):
        experiment = check_experiment(experiment)
    if not isinstance(experiment, Experiment):
        file = find_file(Path(experiment)) if experiment is not None else None
        try:
            specs = with_specs(models)
        except ModelSpecError as error:
            raise ConfigurationError(f"run_experiment: {error}") from error
        experiment = read_experiment(
            file, parse_settings(settings or {}), specs, [str(plugin) for plugin in plugins], "run_experiment"
        )
    elif settings or models or plugins:
        raise ConfigurationError("settings, models and plugins override an experiment file; set them in the experiment")
    try:
        _ = experiment.context  # which an `Experiment` that somebody makes does not check
    except ValidationError as error:
        raise ConfigurationError(f"experiment: workflow: {in_a_line(error)}") from error
    directory = Path(out) if out is not None else default_directory(Sweep(experiment.name, {"": experiment}))
    return in_own_loop(run_it(experiment, directory))
