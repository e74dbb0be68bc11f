"""The command line. Each command does its own heavy imports, so that `wardround --help` is fast."""

import atexit
import gc
import logging
import os
import re
import sys
from io import TextIOWrapper
from typing import Annotated

import typer
from dotenv import dotenv_values

from wardround.commands.cases import cases_app
from wardround.commands.compare import compare
from wardround.commands.consult import consult
from wardround.commands.dev import UNTRACED, dev
from wardround.commands.doctor import doctor
from wardround.commands.exit_codes import BAD_INPUT, INTERRUPTED, Commands, end_gently
from wardround.commands.experiments import experiments_app
from wardround.commands.export import export_app
from wardround.commands.floors import floors
from wardround.commands.graph import graph, known_graphs
from wardround.commands.judges import judges
from wardround.commands.memory import memory_app
from wardround.commands.plugin_options import NO_EGRESS, add_shared_options, names_in_help
from wardround.commands.rate import rate
from wardround.commands.reconstruct import reconstruct
from wardround.commands.report import report
from wardround.commands.reproduce import reproduce
from wardround.commands.run import known_names, run
from wardround.commands.score import score_app
from wardround.commands.tables import tables
from wardround.commands.tune import tune
from wardround.commands.view import view
from wardround.printing import Plain, echo, reason

ENVIRONMENT_FILE = ".env"
# The file may come with a downloaded folder, so it may set keys only, never where they are sent or what code is
# loaded. WARDROUND_TOKEN is excluded: it guards our own server.
_KEY = re.compile(r"(?!WARDROUND_TOKEN$)(?:.*_)?(?:KEY|TOKEN|SECRET|PASSWORD)(?:_.*)?")
_STEERING = re.compile(r"WARDROUND_.*|OLLAMA_HOST|.*_(?:BASE_URL|API_BASE|API_URL|ENDPOINT|PROXY)", re.IGNORECASE)


def _tell_version(wanted: bool) -> None:
    """Print the installed version and exit."""
    if wanted:
        from importlib.metadata import version

        echo(f"wardround {version('wardround')}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run clinical multi-agent workflows as LangGraph state graphs. Research software: not for care."""


app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)
app.callback()(root)
app.command(cls=names_in_help(known_names))(run)
for command in (reproduce, compare, tables, floors, report, view, doctor, consult, rate, judges, reconstruct, tune):
    app.command()(command)
app.command(cls=names_in_help(known_graphs))(graph)
app.command()(dev)
groups = {"experiments": experiments_app, "cases": cases_app, "memory": memory_app, "score": score_app}
for name, group in {**groups, "export": export_app}.items():
    app.add_typer(group, name=name)
add_shared_options(app)


def write_as_escapes_what_a_terminal_lacks() -> None:
    """Escape what the terminal's encoding lacks, so that no character of a case ends a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """Run the command line, with the keys that a ``.env`` file of the working directory adds to the environment."""
    write_as_escapes_what_a_terminal_lacks()
    try:
        read_environment_file()
    except (OSError, ValueError) as error:
        echo(f"error: {ENVIRONMENT_FILE}: {reason(error)}", err=True)
        sys.exit(BAD_INPUT)
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Plain())
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    end_gently()
    atexit.register(gc.freeze)  # skip garbage collection at exit
    os.environ.update(UNTRACED)
    if any(name.lower().endswith("_proxy") for name in os.environ):
        from llm.egress import keep_loopback_direct

        keep_loopback_direct()
    if NO_EGRESS in sys.argv or os.environ.get("WARDROUND_NO_EGRESS"):  # before a plug-in is loaded
        from llm.egress import close_egress

        close_egress()
    try:
        app()
    except KeyboardInterrupt:  # before a command is reached, which says more
        echo("interrupted", err=True)
        sys.exit(INTERRUPTED)


def read_environment_file() -> None:
    """Set the keys that the ``.env`` file gives and the environment lacks; empty values are skipped.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not text, or sets a variable that may only be set in the environment.
    """
    # No interpolation: a value must not pull in another variable of the environment.
    for name, value in dotenv_values(ENVIRONMENT_FILE, interpolate=False).items():
        if value and _KEY.fullmatch(name):
            os.environ.setdefault(name, value)
        elif value and name not in os.environ and _STEERING.fullmatch(name):
            raise ValueError(f"{name} cannot be set in this file, which may set keys only; set it in your shell")
    logging.getLogger("dotenv.main").setLevel(logging.ERROR)  # Chroma reads the file again and would log each odd line
