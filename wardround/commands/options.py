"""Options shared by several commands."""

import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from wardround.commands.exit_codes import refuse
from wardround.printing import reason


def _takes_no_files(folder: Path) -> str:
    """Return why no file can be written in a folder, which need not exist and is not created; empty if one can."""
    here = next(place for place in (folder, *folder.parents, Path()) if os.path.lexists(place))
    if not here.is_dir():
        return reason(FileExistsError() if here == folder else NotADirectoryError())
    return "" if os.access(here, os.W_OK) else "permission denied"


def check_folder(option: str, folder: Path) -> None:
    """Exit if nothing can be written in the folder of an option."""
    if why := _takes_no_files(folder):
        refuse(f"{option} {folder}: cannot be created ({why})")


def check_file(file: Path) -> None:
    """Exit if a file cannot be written."""
    if file.is_dir():
        refuse(f"{file}: is a directory")
    if file.exists() and not file.is_file():
        refuse(f"{file}: is a device or a pipe; name a file")
    if why := _takes_no_files(file.parent):
        refuse(f"{file.parent}: {why}")


# What an option names is looked at when it is read, before anything is computed or paid.


def a_folder(option: str) -> Callable[[Path | None], Path | None]:
    """Return what refuses a folder of an option that cannot be written: as a validator, for callers from Python too."""

    def check(given: Path | None) -> Path | None:
        if given is not None:
            check_folder(option, given)
        return given

    return check


def a_file(given: Path | None) -> Path | None:
    """Refuse a file that cannot be written."""
    if given is not None:
        check_file(given)
    return given


def a_json_file(given: Path | None) -> Path | None:
    """Refuse `-` too: tables are printed to standard output, so that no program could parse both."""
    if given == Path("-"):
        refuse("--json -: expected a file name; standard output has the printed tables")
    return a_file(given)


def check_known(option: str, given: Iterable[str], known: Collection[str]) -> None:
    """Exit if a name that an option gives is unknown, with the one that was meant."""
    from cases.validation import nearest, suggestion

    for name in given:
        if name not in known:
            refuse(f"{option} {name}: {suggestion(name, known) or nearest(name, known)}")


def separated(given: Iterable[str] | None) -> list[str]:
    """Return the entries of an option that may be repeated, and whose values may hold several, separated by commas."""
    return [one.strip() for value in given or () for one in value.split(",") if one.strip()]


Models = Annotated[
    list[str] | None,
    Option(metavar="ROLE=SPEC", help="Model for a role, or for all roles (default=SPEC); may be repeated."),
]
RoleModels = Annotated[
    list[str] | None,
    Option(
        metavar="[ROLE=]SPEC", help="Model for all roles, or for one (offline rules if not given); may be repeated."
    ),
]
Settings = Annotated[
    list[str] | None, Option("--set", metavar="KEY=VALUE", help="Set a setting, such as feedback=off; may be repeated.")
]
Concurrency = Annotated[int | None, Option(min=1, help="Number of cases to run at the same time.", show_default="4")]
Engine = Annotated[
    Literal["local", "ray"] | None,
    Option(help="Run the cases on this machine (local) or on a Ray cluster (ray).", show_default="local"),
]
Runs = Annotated[list[Path], Argument(metavar="RUN", help="Run directories or sweep directories.")]
CaseIds = Annotated[list[str] | None, Option("--case-id", help="Use only the case with this id; may be repeated.")]
Cache = Annotated[
    Path | None, Option(metavar="FILE", help="Cache the model's answers in this file, so that none is paid for twice.")
]
CallSettings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set how models are asked, such as timeout=600, max_tokens=800, cache=FILE or model.NAME.KEY=VALUE, for a "
        "model with parameters of its own; may be repeated.",
    ),
]
Judgements = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="File in which `wardround rate` keeps people's judgements.",
        show_default="ratings.jsonl of the first run",
    ),
]
CsvFolder = Annotated[
    Path | None,
    Option(metavar="DIR", help="Also write the tables to this directory, as CSV.", callback=a_folder("--csv")),
]
JsonFile = Annotated[
    Path | None,
    Option("--json", metavar="FILE", help="Also write the tables to this file, as JSON.", callback=a_json_file),
]
JsonNumbers = Annotated[
    Path | None,
    Option(
        "--json",
        metavar="FILE",
        help="Also write all numbers to this file, as JSON at full precision.",
        callback=a_json_file,
    ),
]
Port = Annotated[int, Option(min=0, max=65535, help="Port on the loopback interface; 0 takes any free port.")]
Browser = Annotated[bool, Option(help="Open the page in a browser.")]
Progress = Annotated[
    Literal["auto", "json"],
    Option(
        help="Show a bar, or a line per case outside a terminal (auto), or each event as JSON on standard error (json)."
    ),
]
Address = Annotated[
    str | None, Option(help="Address of a Ray cluster (HOST:PORT, or auto).", show_default="start one on this machine")
]
