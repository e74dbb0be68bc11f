"""What every command of cases does: a file read with each problem named, cases written with their pictures beside."""

from pathlib import Path
from typing import TYPE_CHECKING

from wardround.commands.exit_codes import refuse
from wardround.commands.printing import counted, echo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from cases import Case, Problem
    from llm import ModelSettings
    from scoring.asking import Asked, Found


def read(file: str, ids: "Sequence[str] | None" = None) -> "list[Case]":
    """The cases of a file, only some if they are named; ends the command, with what is wrong with file or ids."""
    from cases import CaseFileError, load_cases

    try:
        cases = [case for case in load_cases(file) if not ids or case.id in ids]
    except CaseFileError as error:
        report(error.problems)
        refuse(f"{counted(len(error.problems), 'problem')} in {file}")
    if unknown := set(ids or ()) - {case.id for case in cases}:
        refuse(f"no case {', '.join(sorted(unknown))} in {file}")
    return cases


def save(cases: "Iterable[Case]", out: Path, *sources: Path | None) -> None:
    """Write cases with their pictures beside them; ends the command rather than overwrite a source."""
    from cases import save_cases

    not_over(out, *filter(None, sources))
    save_cases(cases, out)


def not_over(out: Path, *sources: str | Path) -> None:
    """End the command rather than write over what is read."""
    if out.resolve() in [Path(source).resolve() for source in sources]:
        refuse(f"{out} would be overwritten while it is read; name another file with -o")


def keep(*files: Path) -> None:
    """End the command rather than write over files that a person may have worked on."""
    if present := next((file for file in files if file.exists()), None):
        refuse(f"{present} is there, and may hold what a person decided; move it, or name another file with -o")


def ask_about(
    cases: "list[Case]",
    who: tuple[str, str],
    spec: str,
    cache: Path | None,
    question: "Callable[[Case, ModelSettings], Awaitable[Found]]",
) -> "Asked[Case, Found]":
    """What a model answers about each case; ends the command if it is a person.

    ``who`` are the option that names the model, and the role that it answers as; the cache keeps answers, so that none
    is paid twice.
    """
    import anyio

    from llm import ModelSettings
    from llm.specs import HUMAN, check_models
    from scoring.asking import ask_each

    option, role = who
    if spec == HUMAN:
        refuse(f"{option}: a person cannot be asked here; name a model")
    check_models({role: spec})
    settings = ModelSettings(models={role: spec}, cache=str(cache) if cache else None)
    return anyio.run(ask_each, cases, lambda case: question(case, settings))


def report(problems: "Iterable[Problem]") -> None:
    """Name each problem; an error that many records have, by the first few."""
    from cases.files import shortened

    for problem in shortened(problems):
        echo(f"{problem.severity}: {problem}", err=True)
