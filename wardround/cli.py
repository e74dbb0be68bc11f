"""The command line. Heavy imports are paid by the command that needs them: `wardround --help` answers at once."""

import os

import typer

from wardround.commands.cases import cases_app
from wardround.commands.compare import compare
from wardround.commands.consult import consult
from wardround.commands.dev import dev
from wardround.commands.experiments import experiments_app
from wardround.commands.graph import graph
from wardround.commands.memory import memory_app
from wardround.commands.reconstruct import reconstruct
from wardround.commands.report import report
from wardround.commands.run import run
from wardround.commands.score import score_app
from wardround.commands.tables import tables
from wardround.commands.tune import tune

app = typer.Typer(
    help="Clinical multi-agent workflows as LangGraph state graphs. Research software: not for care.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.add_typer(experiments_app, name="experiments")
app.add_typer(cases_app, name="cases")
app.add_typer(memory_app, name="memory")
app.add_typer(score_app, name="score")
app.command()(compare)
app.command()(tables)
app.command()(report)
app.command()(consult)
app.command()(reconstruct)
app.command()(tune)
app.command()(graph)
app.command()(dev)


def main() -> None:
    """Run the command line."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    app()
