"""Where a sweep is kept: a directory for each run, and the order of them."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from wardround.config.experiment_file import Sweep
from wardround.store.provenance import write_json

ORDER = "sweep.json"


def default_directory(sweep: Sweep) -> Path:
    """Where a sweep goes if nothing is said; the same one comes back to the same place."""
    identities = [_from_here(experiment.identity) for experiment in sweep.runs.values()]
    text = json.dumps(identities[0] if sweep.single else identities, sort_keys=True)
    return Path("runs") / f"{sweep.name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _from_here(identity: dict[str, Any]) -> dict[str, Any]:
    """An identity that does not tell how a file below the working directory was named."""
    data = identity["data"]
    for name in ("cases", "notes"):
        named = data[name]
        if isinstance(named, str) and not (path := os.path.relpath(named)).startswith(os.pardir):
            data = {**data, name: path}
    return {**identity, "data": data}


def write_order(sweep: Sweep, root: Path) -> None:
    """Keep the order of a sweep's runs beside them: the first is what tables compare the others with."""
    write_json(root / ORDER, {"name": sweep.name, "runs": list(sweep.runs)}, indent=2)


def run_order(root: Path) -> list[str]:
    """The names of a sweep's runs in their order; none if it was not kept."""
    try:
        return [str(name) for name in json.loads((root / ORDER).read_text("utf-8"))["runs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
