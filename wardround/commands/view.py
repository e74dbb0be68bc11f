"""``wardround view``: browse runs in a browser."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wardround.commands.exit_codes import refuse
from wardround.commands.options import Browser, Port
from wardround.printing import counted, echo


def view(
    runs: Annotated[
        list[Path], Argument(metavar="RUN", help="Run directories, sweep directories, or folders that contain them.")
    ],
    follow: Annotated[bool, Option("--follow", help="Update the page while runs are in progress.")] = False,
    port: Port = 0,
    browser: Browser = True,
) -> None:
    """Browse runs in a browser, down to every prompt.

    The page shows scores, cases, dialogues, decisions and calls, and compares two runs side by side.
    Runs are only read, and need not be finished. Only this machine can open the page; Ctrl-C stops it.
    """
    from wardround.view.pages import Viewer
    from wardround.view.run_library import Shelf

    for folder in runs:
        if not folder.is_dir():
            refuse(f"{folder}: folder not found")
    shelf = Shelf(runs)
    shelf.look()
    if not shelf.runs:
        refuse(*(shelf.not_runs.values() or [f"{folder}: contains no run" for folder in runs]))
    server = Viewer(shelf, follow=follow, port=port)
    echo(f"{counted(len(shelf.runs), 'run')}: {server.address}\nPress Ctrl-C to stop.", err=True)
    server.serve_until_interrupted(browser=browser)
