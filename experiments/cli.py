"""The command line. Heavy imports are paid by the command that needs them: `wardround --help` answers at once."""

import os
import sys

import typer

from experiments.commands.cases import cases_app
from experiments.commands.dev import dev
from experiments.commands.graph import graph
from experiments.commands.memory import memory_app
from experiments.commands.run import run

app = typer.Typer(
    help="Clinical multi-agent workflows as LangGraph state graphs. Research software: not for care.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.add_typer(cases_app, name="cases")
app.add_typer(memory_app, name="memory")
app.command()(graph)
app.command()(dev)


def main() -> None:
    """Run the command line; nothing is traced to outside services unless that was switched on."""
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ.setdefault(name, "false")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("interrupted; run the same command again to go on", err=True)
        sys.exit(130)
