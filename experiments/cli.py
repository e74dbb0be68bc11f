"""The command line. Heavy imports are paid by the command that needs them: `wardround --help` answers at once."""

import os

import typer

from experiments.commands.cases import cases_app
from experiments.commands.compare import compare
from experiments.commands.consult import consult
from experiments.commands.dev import dev
from experiments.commands.experiments import experiments_app
from experiments.commands.graph import graph
from experiments.commands.memory import memory_app
from experiments.commands.reconstruct import reconstruct
from experiments.commands.report import report
from experiments.commands.run import run
from experiments.commands.score import score_app
from experiments.commands.tables import tables
from experiments.commands.tune import tune

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
