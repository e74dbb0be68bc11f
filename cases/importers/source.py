"""The basis of all importers: a file of JSON records that collects the problems of each."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from cases.case import Case, has_unusual_signs
from cases.doubts import told_diagnosis
from cases.grouping import repetitions
from cases.json_lines import are_records, noting_repeated, numbered_lines, objects_in
from cases.pictures import picture_fault
from cases.problems import Problem, Severity, WithProblems, validation_problems
from cases.readable import kind_of_bytes, unpiped, unreadable
from cases.sheets import TOO_LONG, SheetError, is_too_long, sheet_rows
from cases.text.sentences import entries_of
from cases.vocabulary import Vocabulary

_ANOTHER = "GB18030 or Windows-1252, perhaps: save it as UTF-8"
IsRecord = Callable[[Mapping[str, Any]], bool]
_DEEPEST = 40  # levels of nesting; no clinical record has more, and Python's recursion is limited


@dataclass(frozen=True, kw_only=True)
class ImportResult(WithProblems):
    """The imported cases, with errors (records that are missing) and warnings (details that are)."""

    cases: list[Case]


@dataclass
class Source:
    """A file to import, with the options of the import and the problems so far."""

    path: Path
    departments: Path | None = None
    departments_read: bool = False
    unique_keys: bool = False  # whether a key that occurs twice in any object is an error
    problems: list[Problem] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    counted: dict[str, int] = field(default_factory=dict)  # by id, the last number that a case of the same id got
    reading: str = ""  # the name of the current record
    unusual: int = 0  # cases with signs that are read as usual ones
    listed: set[str] = field(default_factory=set)  # names of the vocabularies that a warning has listed

    @property
    def folder(self) -> Path:
        """Where its pictures lie: the source itself if it is a folder, else the folder that it is in."""
        return (self.path if self.path.is_dir() else self.path.parent).resolve()

    @property
    def is_table(self) -> bool:
        """Whether the file is a table by its name, to be read by rows."""
        return self.path.suffix.lower() in (".csv", ".tsv")

    def left_out(self, term: str, vocabulary: Vocabulary) -> str:
        """Return that a term is left out, with the one that was meant; all terms stand in the first warning alone."""
        if alike := get_close_matches(term, vocabulary.names, n=1):
            return f"left out: did you mean {alike[0]!r}?"
        if vocabulary.name in self.listed:
            return "left out"
        self.listed.add(vocabulary.name)
        return f"left out; expected {vocabulary.choices}"

    def records(self, is_record: IsRecord | None = None) -> Iterator["Record"]:
        """Yield the file's records: JSON lines, the entries of its list, its single object, or objects in a row.

        Args:
            is_record: tells a record by its fields. With it, a file's only object that is none is opened where it
                holds records, by their ids (``{"12": {...}}``) or in a list or object of one of its fields
                (``{"data": [...]}``), and so is an entry of its list that holds a list of them.
        """
        number = 0
        documents = self._documents()
        alone = is_record if len(documents) == 1 else None  # each of several lines is a record
        for name, text in documents:
            for entry, key, value in self._parsed(name, text, alone):
                number += 1
                self.reading = ", ".join(filter(None, (name, entry)))
                record = Record(self, self.reading, number, value, key=key)
                if _deeper_than(_DEEPEST, value):
                    record.error("", f"is nested more than {_DEEPEST} levels deep; expected a clinical record")
                else:
                    yield record

    def rows(self, columns: Sequence[str] = ()) -> Iterator["Record"]:
        """Yield the rows of a table, as objects by its headings in lower case.

        Args:
            columns: a table that has rows and none of these is refused by its first line; empty for any table.
        """
        try:
            header, *rows = sheet_rows(self.path) or [(1, [])]
        except SheetError as error:
            self.error(str(error))
            return
        names = [name.strip().lower() for name in header[1]]
        for name, count in repetitions(filter(None, names)).items():
            self.error(f"appears {count} times; expected each column once", "heading", name)
        if rows and columns and not {*columns} & {*names}:
            found = ", ".join(f"{name!r:.60}" for name in header[1][:5] if name)
            self.error(f"expected one of the columns {', '.join(columns)} in the first line, found {found}", "heading")
            return
        for number, (_, row) in enumerate(rows, 1):
            place = f"row {number}"
            if is_too_long(row, names):
                self.error(TOO_LONG, place)
                continue
            self.reading = place
            yield Record(self, place, number, dict(zip_longest(names, row[: len(names)])))

    def objects(self, holding: str, is_record: IsRecord | None = None) -> Iterator[tuple["Record", Mapping[str, Any]]]:
        """Yield the records that are objects; ``holding`` describes a valid one in errors about the others."""
        for record in self.records(is_record):
            if isinstance(record.value, Mapping):
                yield record, record.value
            else:
                record.expected("", holding, record.value)

    @property
    def first(self) -> dict[str, Any]:
        """The first record, for detecting the format; empty if it is not an object, or there is none."""
        value = next((record.value for record in self.records()), None)
        return value if isinstance(value, dict) else {}

    def read(self, path: Path) -> str | None:
        """Return the text of a file; None, with a problem, if it cannot be read."""
        try:
            return unpiped(path).read_text("utf-8-sig")
        except OSError as error:
            self.error(unreadable(error), file=path)
        except UnicodeDecodeError as error:
            kind = kind_of_bytes(error.object) or _ANOTHER
            self.error(f"is not UTF-8 at byte {error.start} ({kind}); expected UTF-8 text", file=path)
        except ValueError as error:  # an invalid path
            self.error(f"cannot be read ({error})", file=path)
        return None

    def error(self, message: str, record: str = "", field: str = "", file: Path | None = None) -> None:
        """Report that the file, another file given with it, or one of its records cannot be used."""
        self._add_problem("error", file, record, field, message)

    def warn(self, message: str, record: str = "", field: str = "", file: Path | None = None) -> None:
        """Report what was left out or changed."""
        self._add_problem("warning", file, record, field, message)

    def _add_problem(self, severity: Severity, file: Path | None, record: str, field: str, message: str) -> None:
        self.problems.append(
            Problem(_printable(file or self.path), _printable(record), _printable(field), _printable(message), severity)
        )

    def _documents(self) -> list[tuple[str, str]]:
        text = self.read(self.path) or ""
        lines = [(place, line.strip()) for place, line in numbered_lines(text.split("\n"))]
        if are_records(line for _, line in lines):
            return lines
        return [("", text)] if lines else []

    def _parsed(self, name: str, text: str, is_record: IsRecord | None) -> Iterator[tuple[str, str, object]]:
        repeated: list[str] = []
        try:
            value: object = json.loads(text, object_pairs_hook=noting_repeated(repeated))
        except json.JSONDecodeError as error:
            if not name and (objects := objects_in(text)):
                for number, each in enumerate(objects, 1):
                    place = f"object {number}"
                    yield from ((place, key, value) for _, key, value in self._parsed(place, each, None))
                return
            place = f"column {error.colno}" if name else f"line {error.lineno}, column {error.colno}"
            expected = "one JSON object" if name else "a JSON list or object, or JSON lines"
            self.error(f"is not JSON ({error.msg.removesuffix(' at')} at {place}); expected {expected}", name)
            return
        except (ValueError, RecursionError) as error:
            self.error(f"cannot be read as JSON ({error})", name)
            return
        held = value if is_record is None else _holder(value, is_record)
        for key in repeated:
            self._report_repeated(key, held, name)
        if isinstance(held, list):
            yield from ((f"entry {place}", "", entry) for place, entry in _entries(held, is_record))
        elif isinstance(held, Mapping) and is_record and _holds(held, is_record) and not is_record(held):
            for key, entry in held.items():
                if isinstance(entry, Mapping):
                    yield key, key, entry
                else:
                    self.warn(f"is {describe(entry)}, not a record; left out", name, key)
        else:
            yield "", "", held

    def _report_repeated(self, key: str, held: object, name: str) -> None:
        if isinstance(held, Mapping) and key in held:
            self.error(f"the key {key!r} occurs twice here, and only one can be read; keys must be unique", name)
        elif self.unique_keys:
            self.error("occurs twice in one object, of which only one can be read; keys must be unique", name, key)
        else:
            self.warn(f"the key {key!r} occurs twice in one object; the last one is used", name)


@dataclass
class Record:
    """One record of a source: its name for messages (``line 12``, a title), its number, its value, its key if any."""

    source: Source
    name: str
    number: int
    value: object
    sound: bool = True
    key: str = ""

    def error(self, field: str, message: str) -> None:
        """Report that the record cannot be imported, and why."""
        self.sound = False
        self.source.error(message, self.name, field)

    def warn(self, field: str, message: str) -> None:
        """Report what of the record was left out or changed."""
        self.source.warn(message, self.name, field)

    def expected(self, field: str, what: str, found: object) -> None:
        """Report that a field is missing or holds something else than expected."""
        contents = ""
        if found is None and isinstance(self.value, Mapping) and field.partition(".")[0] not in self.value:
            contents = f"; the record has {', '.join(map(repr, list(self.value)[:5])) or 'no fields'}"
        self.error(field, f"expected {what}, found {describe(found)}{contents}")

    def check_text(self, field: str, value: object) -> None:
        """Report a number or boolean where text is expected; a labelled number (``"pH": 7.4``) is fine."""
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, bool | int | float):
                self.expected(field, "text", part)

    def invalid(self, error: ValidationError, of: type[BaseModel]) -> None:
        """Report each fault of a validation error of a type."""
        for problem in validation_problems(self.source.path, self.name, error, of):
            self.error(problem.field, problem.message)

    def image(self, field: str, file: str, item: str) -> dict[str, str] | None:
        """Return a picture beside the source; None, with a warning, if there is none."""
        folder = self.source.folder
        if fault := picture_fault(folder, file):
            self.warn(field, f"{fault}; the case is imported without it")
            return None
        return {"file": (folder / file).resolve().relative_to(folder).as_posix(), "item": item}

    def case(self, case_id: str, data: dict[str, Any]) -> Case | None:
        """Return the validated case with a unique id; None, with problems, if anything is wrong.

        Diagnoses that are numbered, in one text or from text to text, are split into their entries.
        """
        if not self.sound:
            return None
        key = data.get("key", {})
        names = list(key.get("diagnosis", ()))
        if all(isinstance(name, str) for name in names):
            names = entries_of(names)
        data = {**data, "key": {**key, "diagnosis": names}}
        unique, count = case_id, self.source.counted.get(case_id, 1)
        while unique in self.source.ids:
            count += 1
            unique = f"{case_id}-{count}"
        folder = os.fspath(self.source.folder)
        try:
            case = Case.model_validate({"id": unique, "folder": folder, **data})
        except ValidationError as error:
            self.invalid(error, Case)
            return None
        self.source.ids.add(unique)
        self.source.unusual += any(map(has_unusual_signs, _texts(self.value)))
        if unique != case_id:
            self.source.counted[case_id] = count
            self.warn("id", f"{case_id} is already used; this case becomes {unique}")
        for name in told_diagnosis(case):
            self.warn(f"patient.{name}", f"names the diagnosis {case.key.diagnosis[0]!r}, so the patient knows it")
        return case


def describe(value: object) -> str:
    """Describe a JSON value for messages."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    shown = repr(value)
    return f"{'text' if isinstance(value, str) else 'a value'} {shown if len(shown) <= 40 else shown[:37] + '...'}"


def _holder(value: object, is_record: IsRecord) -> object:
    """Return what holds the records of a document: the only field of an object that does, or else the value itself."""
    if not isinstance(value, Mapping) or is_record(value) or _holds(value, is_record):
        return value
    holders = [part for part in value.values() if _holds(part, is_record)]
    return holders[0] if len(holders) == 1 else value


def _entries(values: list[object], is_record: IsRecord | None) -> Iterator[tuple[str, object]]:
    """Yield the entries of a list with their numbers ("2"), and those of a list of records within it ("1.2")."""
    for number, entry in enumerate(values, 1):
        inner = _holder(entry, is_record) if is_record else entry
        if is_record and isinstance(inner, list) and _holds(inner, is_record):
            yield from ((f"{number}.{place}", each) for place, each in enumerate(inner, 1))
        else:
            yield f"{number}", entry


def _holds(value: object, is_record: IsRecord) -> bool:
    return any(isinstance(child, Mapping) and is_record(child) for child in _children(value))


def _deeper_than(limit: int, value: object) -> bool:
    level = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for child in _children(value):
        yield from _texts(child)


def _printable(text: object) -> str:
    # A lone surrogate, which JSON can contain, cannot be printed.
    return str(text).encode("utf-8", "replace").decode("utf-8")
