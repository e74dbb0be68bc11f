"""``wardround score SUITE SRC``: score transcripts and outputs from any source.

One file per family of suites. The files, and the scoring code, are imported only when a command is needed.
"""

from typing import Any

import typer
from typer.core import TyperCommand

from wardround.commands.exit_codes import Commands


class _ScoreCommands(Commands):
    """The commands of :mod:`wardround.commands.score.catalogue`, imported on first use."""

    @property
    def _known(self) -> dict[str, TyperCommand]:
        from wardround.commands.score.catalogue import commands

        return commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return list(self._known)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """Return a command by its name."""
        return self._known.get(cmd_name)


score_app = typer.Typer(cls=_ScoreCommands, no_args_is_help=True, rich_markup_mode=None)


@score_app.callback()
def score() -> None:
    """Score transcripts and outputs made anywhere. Soundly, or in the published way."""
