"""Files of foreign records, read into a type; what does not fit is named by file, record and field."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from cases import Problem
from cases.files import WithProblems, validation_problems
from cases.importers.source import Source


class ForeignModel(BaseModel):
    """Base of foreign records: what is not read is left aside."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def _text_of_number(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_text_of_number)]  # a number stands for its digits (ids, options)

Model = TypeVar("Model", bound=ForeignModel)
Oddity = tuple[str, str, str]  # a record, its field, and what is odd there


def number_of(case: str, source: str) -> str:
    """A case's number in its source's files: our importers put the source's name before it."""
    return case[len(source) + 1 :] if case.startswith(f"{source.lower()}-") else case


@dataclass(frozen=True, kw_only=True)
class Reading(WithProblems, Generic[Model]):
    """The records of a file that could be read, and what was wrong with the others (errors) or odd (warnings)."""

    path: Path
    records: list[Model]


def read_records(path: str | Path, model: type[Model]) -> Reading[Model]:
    """Read a JSON list (or JSON lines) of records of one type.

    A record that does not fit is an error and left out; the others are read. A file without any record is an error.
    """
    source = Source(Path(path))
    records, refused = [], []
    for record in source.records():
        try:
            records.append(model.model_validate(record.value))
        except ValidationError as error:
            refused.extend(validation_problems(path, record.name, error))
    problems = source.problems + refused
    if not (records or problems):
        problems.append(Problem(str(path), "", "", "holds no record; expected a JSON list of objects"))
    return Reading(path=Path(path), records=records, problems=problems)


def repeated(cases: Iterable[str]) -> Iterator[Oddity]:
    """The cases that stand in a file several times, and so are read as several dialogues."""
    for case, count in Counter(cases).items():
        if count > 1:
            yield f"case {case}", "id", f"stands {count} times; each is scored, as an epoch of it"


def with_warnings(reading: Reading[Model], oddities: Iterable[Oddity]) -> Reading[Model]:
    """What was read of a file, with its oddities among the problems."""
    odd = [Problem(str(reading.path), record, field, message, "warning") for record, field, message in oddities]
    return replace(reading, problems=reading.problems + odd)
