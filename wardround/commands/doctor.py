"""``wardround doctor``: check run directories, and repair them."""

from typing import Annotated

import typer

from wardround.commands.exit_codes import SOME_FAILED
from wardround.commands.options import Runs
from wardround.commands.printing import echo


def doctor(
    runs: Runs, check: Annotated[bool, typer.Option("--check", help="Only look; change nothing.")] = False
) -> None:
    """Look for damage in run directories, and mend it.

    What cannot be read is set aside in damaged/. Ends with code 1 if something is left that only you can mend, with
    --check if anything was found.
    """
    from wardround.run.doctor import examine, find_damaged_runs

    found = [examine(directory, mend=not check) for path in runs for directory in find_damaged_runs(path)]
    for findings in found:
        for finding in findings.mended:
            echo(f"{'found' if check else 'mended'}: {finding}")
        for finding in findings.left:
            echo(f"left: {finding}")
        if not findings.mended and not findings.left:
            echo(f"{findings.path}: nothing is damaged")
        elif findings.mended and not check:
            echo(f"{findings.path}: what was damaged is in damaged/; run the same command to go on")
    if any(findings.left or (check and findings.mended) for findings in found):
        raise typer.Exit(SOME_FAILED)
