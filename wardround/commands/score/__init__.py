"""``wardround score SUITE SRC``: score transcripts and outputs, whatever made them.

There is one file per command; they are imported, with the scoring code, only when a command is called.
"""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand
from typer.main import get_group

from wardround.commands.exit_codes import Commands
from wardround.commands.plugin_options import add_shared_options

if TYPE_CHECKING:
    from wardround.commands.score.output import Scores

_PLUGIN = "--plugin="


def scoring_functions() -> "dict[str, Callable[..., Scores]]":
    """Return the functions by the names of their commands: one per family of suites, and one per other suite.

    The others score runs only; those of plug-ins are among them.
    """
    from scoring.suite import SUITES
    from wardround.commands.score.aie import aie
    from wardround.commands.score.aie_simulator import aie_simulator
    from wardround.commands.score.clini_eval import clini_eval
    from wardround.commands.score.consensus import consensus
    from wardround.commands.score.icd10 import icd10
    from wardround.commands.score.mcq import mcq
    from wardround.commands.score.medpmc import medpmc
    from wardround.commands.score.mvme import mvme
    from wardround.commands.score.pairwise import aie_pairwise
    from wardround.commands.score.replies import replies
    from wardround.commands.score.rescored import rescoring_by
    from wardround.commands.score.simulator import simulator

    families = (
        mcq, mvme, icd10, consensus, aie, aie_simulator, aie_pairwise, medpmc, simulator, replies, clini_eval,
    )  # fmt: skip
    of_files = {score.__name__: score for score in families}
    of_runs = {name: rescoring_by(suite) for name, suite in SUITES.items() if name not in of_files}
    return {name.replace("_", "-"): score for name, score in {**of_runs, **of_files}.items()}


class _Scores(Commands):
    """One command per scoring function."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the help."""
        return list(scoring_functions())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command and its arguments; a plug-in that is named after it may have added it."""
        if self.get_command(ctx, args[0]) is None:
            from cases.validation import nearest
            from wardround.plugins import load_plugins

            after = [value for option, value in itertools.pairwise(args) if option == "--plugin"]
            load_plugins([*after, *(each.removeprefix(_PLUGIN) for each in args if each.startswith(_PLUGIN))])
            if self.get_command(ctx, args[0]) is None:
                known = nearest(args[0], scoring_functions())
                remedy = "" if known.endswith("?") else "; for a suite of a plug-in, add --plugin FILE"
                ctx.fail(f"No such command {args[0]!r}: {known}{remedy}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """Return a command by name; the others are not made."""
        from wardround.commands.score.output import command

        cmd_name = cmd_name.replace("_", "-")  # a suite's own name
        if (score := scoring_functions().get(cmd_name)) is None:
            return None
        app = typer.Typer(rich_markup_mode=None)
        app.command(cmd_name)(command(score))
        add_shared_options(app)
        return get_group(app).commands[cmd_name]  # type: ignore[return-value]


score_app = typer.Typer(cls=_Scores, no_args_is_help=True, rich_markup_mode=None)


@score_app.callback()
def score() -> None:
    """Score runs, and transcripts or outputs from elsewhere. Choose sound or published definitions with --mode."""
