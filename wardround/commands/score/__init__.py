"""``wardround score SUITE SRC``: score transcripts and outputs, whatever made them.

There is one file per family of suites; they are imported, with the scoring code, only when a command is called.
"""

from typing import Any

import typer
from typer.core import TyperCommand

from wardround.commands.exit_codes import Commands


class _Scores(Commands):
    """The commands of :mod:`wardround.commands.score.catalogue`, which is imported on first use."""

    @property
    def _known(self) -> dict[str, TyperCommand]:
        from wardround.commands.score.catalogue import commands

        return commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the help."""
        return list(self._known)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """Return a command by name."""
        return self._known.get(cmd_name)


score_app = typer.Typer(cls=_Scores, no_args_is_help=True, rich_markup_mode=None)


@score_app.callback()
def score() -> None:
    """Score runs, and transcripts or outputs from elsewhere. Choose sound or published definitions with --mode."""
