"""``wardround view``: browse many runs in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from wardround.commands.exit_codes import refuse
from wardround.commands.options import Browser, Port
from wardround.commands.printing import echo


def view(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUNS ...", help="Run directories, sweeps, or folders that hold them.")
    ],
    follow: Annotated[bool, typer.Option("--follow", help="Show what runs write while they go on.")] = False,
    port: Port = 0,
    browser: Browser = True,
) -> None:
    """Open a page over many runs, down to every prompt.

    It shows scores, cases, dialogues, decisions and calls, and two runs side by side.
    Runs are only read, finished or not. The page is for this machine alone; Ctrl-C ends it.
    """
    from wardround.view.run_library import Shelf
    from wardround.view.server import Viewer

    for folder in runs:
        if not folder.is_dir():
            refuse(f"{folder}: there is no such folder")
    shelf = Shelf(runs)
    shelf.look()
    if not shelf.runs:
        refuse(*(shelf.not_runs.values() or [f"{folder}: holds no run" for folder in runs]))
    server = Viewer(shelf, follow=follow, port=port)
    echo(f"{len(shelf.runs)} runs: {server.address}\nCtrl-C ends it.", err=True)
    server.serve_until_interrupted(browser=browser)
