"""``wardround experiments``: list and show the built-in experiment files, and print their JSON schema."""

import json
from itertools import takewhile
from typing import Annotated

from typer import Argument

from wardround.commands.exit_codes import group_of_commands
from wardround.commands.options import check_known
from wardround.printing import echo

experiments_app = group_of_commands("Show built-in experiment files, and their JSON schema.")


@experiments_app.command("list")
def list_files() -> None:
    """List the built-in experiment files. `wardround run NAME` runs one."""
    from wardround.library import library_files

    for name, file in library_files().items():
        lines = takewhile(lambda line: line.startswith("# "), file.read_text("utf-8").splitlines())
        description, stop, _ = " ".join(line.removeprefix("# ") for line in lines).partition(". ")
        echo(f"{name:32}{description}{stop.strip()}")


@experiments_app.command()
def show(name: Annotated[str, Argument(help="Name of a built-in experiment file.")]) -> None:
    """Print a built-in experiment file, to save and edit."""
    from wardround.library import library_files

    files = library_files()
    check_known("built-in experiment", [name], files)
    echo(files[name].read_text("utf-8"), nl=False)


@experiments_app.command()
def schema() -> None:
    """Print the JSON schema of experiment files."""
    from wardround.config.sweeping import experiment_schema

    echo(json.dumps(experiment_schema(), indent=2))
