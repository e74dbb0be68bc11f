"""``wardround doctor``: check run directories for damage and repair them."""

from typing import Annotated

from typer import Option

from wardround.commands.exit_codes import fail_if
from wardround.commands.options import Runs
from wardround.printing import echo


def doctor(
    runs: Runs, check: Annotated[bool, Option("--check", help="Report damage, but change nothing.")] = False
) -> None:
    """Check run directories for damage and repair them.

    Files that cannot be read are moved to damaged/ in the run directory. The exit code is 1 if damage remains that only
    you can repair or, with --check, if any damage was found.
    """
    from wardround.run.doctor import examine, find_damaged_runs

    found = [examine(directory, mend=not check) for path in runs for directory in find_damaged_runs(path)]
    for findings in found:
        for finding in findings.mended:
            echo(f"{'found' if check else 'repaired'}: {finding}")
        for finding in findings.left:
            echo(f"not repaired: {finding}")
        if not findings.mended and not findings.left:
            echo(f"{findings.path}: no damage found")
        elif findings.mended and not check:
            echo(f"{findings.path}: damaged files were moved to damaged/; repeat the command of the run to resume it")
    fail_if(any(findings.left or (check and findings.mended) for findings in found))
