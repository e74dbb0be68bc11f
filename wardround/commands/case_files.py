"""What every command of cases does: a file read with each problem named, cases written with their pictures beside."""

from pathlib import Path
from typing import TYPE_CHECKING

from wardround.commands.exits import refuse
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cases import Case, Problem


def read(file: str) -> "list[Case]":
    """The cases of a file; ends the command, with each problem named, if there are any."""
    from cases import CaseFileError, load_cases

    try:
        return load_cases(file)
    except CaseFileError as error:
        report(error.problems)
        refuse(f"{counted(len(error.problems), 'problem')} in {file}")


def save(cases: "Iterable[Case]", out: Path, *sources: Path | None) -> None:
    """Write cases with their pictures beside them; ends the command rather than overwrite a source."""
    from cases import save_cases

    if any(out.resolve() == source.resolve() for source in sources if source):
        refuse(f"{out} would be overwritten while it is read; name another file with -o")
    save_cases(cases, out)


def keep(*files: Path) -> None:
    """End the command rather than write over files that a person may have worked on."""
    if present := next((file for file in files if file.exists()), None):
        refuse(f"{present} is there, and may hold what a person decided; move it, or name another file with -o")


def report(problems: "Iterable[Problem]") -> None:
    """Name each problem."""
    for problem in problems:
        echo(f"{problem.severity}: {problem}", err=True)


def counted(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
