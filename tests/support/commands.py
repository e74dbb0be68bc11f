"""Run the command line inside the test's process."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from wardround.cli import app


def wardround(*arguments: object) -> Result:
    """Run `wardround` with these arguments, and return its output and exit code."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def metrics(file: Path, *arguments: object) -> dict[str, Any]:
    """Return the scores that a command writes with `--json`; the command must succeed."""
    result = wardround(*arguments, "--json", file)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))["metrics"]
    return found
