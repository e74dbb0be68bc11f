"""Where a sweep is stored: a directory per run, and the order of the runs."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from cases.readable import unpiped
from wardround.config.experiment import ConfigurationError
from wardround.config.experiment_file import Sweep
from wardround.store.manifest import is_run
from wardround.store.provenance import write_json

ORDER = "sweep.json"


def default_directory(sweep: Sweep) -> Path:
    """Return the default directory of a sweep; the same sweep always gets the same one."""
    identities = [_with_relative_paths(experiment.identity) for experiment in sweep.runs.values()]
    text = json.dumps(identities[0] if sweep.single else identities, sort_keys=True)
    return Path("runs") / f"{sweep.name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _with_relative_paths(identity: dict[str, Any]) -> dict[str, Any]:
    """Return an identity in which paths below the working directory are relative, however they were written."""

    def relative(given: Any) -> Any:
        if isinstance(given, list):
            return [relative(each) for each in given]
        path = Path(os.path.abspath(given)) if isinstance(given, str) else None
        return str(path.relative_to(Path.cwd())) if path and path.is_relative_to(Path.cwd()) else given

    data = identity["data"]
    return {**identity, "data": {**data, **{name: relative(data[name]) for name in ("cases", "notes", "terms")}}}


def write_order(sweep: Sweep, root: Path) -> None:
    """Write the order of a sweep's runs beside them: tables compare the others with the first.

    Raises:
        ConfigurationError: a file of this name is there that no sweep wrote, or the directory is a run's.
        OSError: the directory cannot be written.
    """
    if is_run(root):
        raise ConfigurationError(f"{root}: has a run, which would hide those of a sweep; choose another --out")
    if (root / ORDER).exists() and not run_order(root):
        raise ConfigurationError(f"{root}: has a {ORDER} that no sweep wrote; move it, or choose another --out")
    write_json(root / ORDER, {"name": sweep.name, "runs": list(sweep.runs)}, indent=2)


def run_order(root: Path) -> list[str]:
    """Return the names of a sweep's runs in order; an empty list if the order was not written."""
    try:
        return [str(name) for name in json.loads(unpiped(root / ORDER).read_text("utf-8"))["runs"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
