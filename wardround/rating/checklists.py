"""Checklists for a spreadsheet: a model's proposals, one per line, written for a person and read back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, ValidationError

from cases.files import CaseFileError
from cases.problems import validation_problems
from cases.strict import Strict
from scoring.records import read_sheet
from wardround.store.provenance import write_whole
from wardround.tables.table import Table, no_formula

_KEEP = dict.fromkeys(("yes", "y", "1", "true", "是"), True) | dict.fromkeys(("no", "n", "0", "false", "否"), False)


def _parse_keep(value: Any) -> Any:
    """Parse a cell of the column ``keep``: yes, no, or empty."""
    text = str(value or "").strip().casefold()
    if text and text not in _KEEP:
        raise ValueError(f"expected yes, no or an empty cell, found {text!r}")
    return _KEEP.get(text)


class Line(Strict):
    """One proposal, and whether a person keeps it; None if nobody has decided."""

    case: str = Field(min_length=1)
    keep: Annotated[bool | None, BeforeValidator(_parse_keep)] = None


Kind = TypeVar("Kind", bound=Line)


def write_checklist(path: Path, kind: type[Line], lines: Sequence[Line]) -> None:
    """Write a checklist; the column ``keep`` comes last, and is empty where nobody has decided.

    It begins with a byte order mark: without one, Excel takes UTF-8 for the machine's own encoding.

    Raises:
        OSError: it cannot be written.
    """
    names = [*(name for name in kind.model_fields if name != "keep"), "keep"]
    rows = [{**line.model_dump(), "keep": {True: "yes", False: "no", None: ""}[line.keep]} for line in lines]
    table = Table(path.stem, "", [], [{name: row[name] for name in names} for row in rows])
    write_whole(path, (table.csv if rows else ",".join(names) + "\n").encode("utf-8-sig"))


def columns_of(path: Path) -> list[str]:
    """Return the column names.

    Raises:
        CaseFileError: the file cannot be read.
    """
    columns, _, problems = read_sheet(path, ())
    if problems:
        raise CaseFileError(problems)
    return columns


def read_checklist(path: Path, kind: type[Kind]) -> dict[str, Kind]:
    """Read a checklist as a person left it, each line by its place in the file.

    Raises:
        CaseFileError: the file cannot be read, or lines are invalid; each is named by line and column.
    """
    needed = [name for name, field in kind.model_fields.items() if field.is_required()]
    _, rows, problems = read_sheet(path, needed)
    lines: dict[str, Kind] = {}
    for where, row in rows:
        if cells := {name: cell for name in kind.model_fields if (cell := _without_apostrophe(row.get(name, "")))}:
            try:
                lines[where] = kind.model_validate(cells)
            except ValidationError as error:
                problems += validation_problems(path, where, error)
    if problems:
        raise CaseFileError(problems)
    return lines


def _without_apostrophe(cell: str) -> str:
    """Strip the apostrophe that keeps a spreadsheet from computing the cell."""
    return cell[1:].strip() if cell[:1] == "'" and no_formula(cell[1:]) == cell else cell.strip()
