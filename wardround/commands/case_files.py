"""Shared by the commands on cases: read a file, report each problem, and write cases with their pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from wardround.commands.exit_codes import refuse
from wardround.printing import counted, echo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from cases import Case, Problem
    from llm import ModelSettings
    from scoring.asking import Asked, Found


def read(file: str, ids: "Sequence[str] | None" = None) -> "list[Case]":
    """Read the cases of a file, or those with the given ids; exits naming what is wrong with the file or an id."""
    from cases import CaseFileError, load_cases

    try:
        cases = [case for case in load_cases(file) if not ids or case.id in ids]
    except CaseFileError as error:
        refuse_file(file, error.problems)
    if unknown := set(ids or ()) - {case.id for case in cases}:
        refuse(f"no case {', '.join(sorted(unknown))} in {file}; `wardround cases list --cases {file}` lists the ids")
    return cases


def keep(*files: Path) -> None:
    """Exit if a file exists, as a person may have worked on it."""
    if present := next((file for file in files if file.exists()), None):
        refuse(f"{present} already exists and may hold decisions of a person; move it, or name another file with -o")


def check_unasked(option: str, cache: Path | None, settings: "Sequence[str] | None") -> None:
    """Refuse options on how a model is asked, if none is named."""
    if cache is not None:
        refuse(f"--cache needs {option}, whose answers it keeps; add it, or leave --cache out")
    if settings:
        refuse(f"--set needs {option}, whose model it sets; add it, or leave --set out")


def ask_about(
    cases: "list[Case]",
    who: tuple[str, str],
    spec: str,
    cache: Path | None,
    settings: "Sequence[str] | None",
    question: "Callable[[Case, ModelSettings], Awaitable[Found]]",
) -> "Asked[Case, Found]":
    """Ask a model about each case; exits if the model is a person.

    ``who`` gives the option that names the model, and the role in which it answers. Answers are cached in ``cache``, so
    that none is paid for twice. ``settings`` say how the model is asked, as ``KEY=VALUE``.
    """
    from pydantic import ValidationError

    from cases.validation import in_a_line
    from scoring.asking import ask_each
    from wardround.analysis.rescoring import judged_with
    from wardround.commands.score.transcripts import checked_models
    from wardround.config.command_line import parse_call_settings
    from wardround.run.own_loop import run_alone

    option, role = who
    kept = {"cache": str(cache)} if cache else {}
    try:
        with judged_with(parse_call_settings(settings or ()) | kept):
            asked_with = checked_models({role: spec}, option)
    except ValidationError as error:
        refuse(f"--{in_a_line(error)}")
    return run_alone(ask_each, cases, lambda case: question(case, asked_with))


def refuse_file(file: str, problems: "Sequence[Problem]") -> NoReturn:
    """Print each problem of a file, and exit."""
    report(problems)
    refuse(f"{counted(len(problems), 'problem')} in {file}")


def report(problems: "Iterable[Problem]") -> None:
    """Print each problem; of a frequent one, only the first few."""
    from cases.problems import shortened

    for problem in shortened(problems):
        echo(f"{problem.severity}: {problem}", err=True)
