"""The command line within the process of a test."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from wardround.cli import app


def wardround(*arguments: object) -> Result:
    """What `wardround` prints with these arguments, and how it ends."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def metrics(file: Path, *arguments: object) -> dict[str, Any]:
    """The scores that a command writes with `--json`, which has to end well."""
    told = wardround(*arguments, "--json", file)
    assert told.exit_code == 0, told.output
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))["metrics"]
    return found
