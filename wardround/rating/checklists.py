"""Lists that a person checks in a spreadsheet: what a model proposed, a line each, written and taken back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, ValidationError

from cases.files import CaseFileError, validation_problems
from cases.strict import Strict
from scoring.records import read_sheet
from wardround.store.provenance import write_whole
from wardround.tables.table import Column, Table, no_formula

_SAID = dict.fromkeys(("yes", "y", "1", "true", "是"), True) | dict.fromkeys(("no", "n", "0", "false", "否"), False)


def _kept(value: Any) -> Any:
    """What stands in the cell: yes, no, or nothing yet."""
    text = str(value or "").strip().casefold()
    if text and text not in _SAID:
        raise ValueError(f"expected yes, no or nothing, found {text!r}")
    return _SAID.get(text)


class Line(Strict):
    """One proposal, and whether a person keeps it; None until somebody has looked."""

    case: str = Field(min_length=1)
    keep: Annotated[bool | None, BeforeValidator(_kept)] = None


Kind = TypeVar("Kind", bound=Line)


def write_checklist(path: Path, kind: type[Line], lines: Sequence[Line]) -> None:
    """Write a list, the decision last, with an empty cell where it is open.

    Raises:
        OSError: it cannot be written.
    """
    names = [*(name for name in kind.model_fields if name != "keep"), "keep"]
    rows = [{**line.model_dump(), "keep": {True: "yes", False: "no", None: ""}[line.keep]} for line in lines]
    table = Table(
        path.stem, "", [Column(name, name) for name in names], [{name: row[name] for name in names} for row in rows]
    )
    write_whole(path, table.csv if rows else ",".join(names) + "\n")


def columns_of(path: Path) -> list[str]:
    """The names over the columns.

    Raises:
        CaseFileError: the file cannot be read.
    """
    columns, _, problems = read_sheet(path, ())
    if problems:
        raise CaseFileError(problems)
    return columns


def read_checklist(path: Path, kind: type[Kind]) -> dict[str, Kind]:
    """The lines of a list as a person left them, by where they stand in the file.

    Raises:
        CaseFileError: the file cannot be read, or lines are not as expected; each is named by line and column.
    """
    needed = [name for name, field in kind.model_fields.items() if field.is_required()]
    _, rows, problems = read_sheet(path, needed)
    lines: dict[str, Kind] = {}
    for where, row in rows:
        if cells := {name: cell for name in kind.model_fields if (cell := _plain(row.get(name, "")))}:
            try:
                lines[where] = kind.model_validate(cells)
            except ValidationError as error:
                problems += validation_problems(path, where, error)
    if problems:
        raise CaseFileError(problems)
    return lines


def _plain(cell: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from computing it."""
    return cell[1:].strip() if cell[:1] == "'" and no_formula(cell[1:]) == cell else cell.strip()
