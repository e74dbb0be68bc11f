"""Read files of foreign records and CSV sheets; problems name file, record and field."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, ValidationError

from cases import Problem
from cases.grouping import repetitions
from cases.importers.source import Source
from cases.problems import WithProblems, validation_problems
from cases.sheets import TOO_LONG, SheetError, is_too_long, sheet_rows


class ForeignModel(BaseModel):
    """Base class of foreign records; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def _text_of_number(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_text_of_number)]  # numbers become their digits (ids, options)

Model = TypeVar("Model", bound=ForeignModel)
Oddity = tuple[str, str, str]  # record, field, and what is odd about it


def number_of(case: str, source: str) -> str:
    """Return a case's number in its source's files, without the source's name that our importers prepend."""
    return case[len(source) + 1 :] if case.startswith(f"{source.lower()}-") else case


@dataclass(frozen=True, kw_only=True)
class Reading(WithProblems, Generic[Model]):
    """The records that could be read, with errors (records left out) and warnings (oddities)."""

    path: Path
    records: list[Model]


def read_records(path: str | Path, model: type[Model]) -> Reading[Model]:
    """Read a JSON list or JSON lines of records of one type, or what holds such a list or records by id.

    An invalid record is an error and left out. A file without any record is an error; so is one of another kind, whose
    records all lack the same fields.
    """
    source = Source(Path(path))
    needed = _needed(model)

    def is_record(value: Mapping[str, Any]) -> bool:
        return all(names & value.keys() for names in needed)

    records: list[Model] = []
    refused: list[Problem] = []
    first: Any = None
    for record in source.records(is_record if needed else None):
        first = record.value if first is None else first
        try:
            records.append(model.model_validate(record.value))
        except ValidationError as error:
            refused.extend(validation_problems(path, record.name, error, model))
    if not records and isinstance(first, Mapping) and (absent := _always_lacking(refused)):
        held = ", ".join(map(repr, list(first)[:5]))
        remedy = "chats are for `wardround score clini-eval`" if "messages" in first else "is it of another format?"
        refused = [Problem(str(path), "", "", f"no record has {absent}; the first has {held}: {remedy}")]
    problems = source.problems + refused
    if not (records or problems):
        problems.append(Problem(str(path), "", "", "contains no records; expected a JSON list of objects"))
    return Reading(path=Path(path), records=records, problems=problems)


def _always_lacking(refused: Sequence[Problem]) -> str:
    """Return the fields that several records all lack; empty if they lack none, or one lacks others than the next."""
    faults: dict[str, list[str]] = {}
    for problem in refused:
        faults.setdefault(problem.record, []).extend(problem.lacking)
    if len(faults) < 2:
        return ""
    first, *others = faults.values()
    return ", ".join(first) if all(each == first for each in others) else ""


def _needed(model: type[ForeignModel]) -> list[set[str]]:
    """Return the keys under which a record holds each of its required fields."""
    needed = []
    for name, field in model.model_fields.items():
        if field.is_required():
            alias = field.validation_alias or name
            choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
            keys = {str(choice.path[0]) if isinstance(choice, AliasPath) else choice for choice in choices}
            needed.append({name, *keys})
    return needed


def repeated(cases: Iterable[str]) -> Iterator[Oddity]:
    """Yield the cases that occur several times in a file; each occurrence is read as a dialogue."""
    for case, count in repetitions(cases).items():
        yield f"case {case}", "id", f"appears {count} times; each occurrence is scored, as an epoch"


def with_warnings(reading: Reading[Model], oddities: Iterable[Oddity]) -> Reading[Model]:
    """Add oddities to a reading as warnings."""
    odd = [Problem(str(reading.path), record, field, message, "warning") for record, field, message in oddities]
    return replace(reading, problems=reading.problems + odd)


def read_sheet(path: Path, needed: Sequence[str]) -> tuple[list[str], list[tuple[str, dict[str, str]]], list[Problem]]:
    """Return the columns of a CSV file, its rows by line, and its problems; with a faulty header, there are no rows.

    ``cases.sheets`` says how the file may be written; the needed columns may be in any case. Empty cells and those
    missing from a short row are empty texts. A row with more cells than the header is left out.
    """
    try:
        header, *cells = sheet_rows(path) or [(1, [])]
    except SheetError as error:
        return [], [], [Problem(str(path), "", "", str(error))]
    as_needed = {name.casefold(): name for name in needed}
    names = [as_needed.get(name.strip().casefold(), name.strip()) for name in header[1]]
    columns = [name for name in names if name]
    lines = [(f"line {line}", row) for line, row in cells]
    problems = [
        Problem(str(path), f"line {header[0]}", name, f"appears {count} times; expected each column once")
        for name, count in repetitions(columns).items()
    ]
    if missing := [name for name in needed if name not in columns]:
        expected = f"expected a header with {', '.join(needed)}"
        problems.append(Problem(str(path), f"line {header[0]}", missing[0], expected))
    if problems:
        return columns, [], problems
    rows = [
        (line, {name: cell.strip() for name, cell in zip_longest(names, row, fillvalue="") if name})
        for line, row in lines
        if not is_too_long(row, names)
    ]
    long = [Problem(str(path), line, "", TOO_LONG) for line, row in lines if is_too_long(row, names)]
    return columns, rows, long
