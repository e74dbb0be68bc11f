"""What every importer starts from: a file read as JSON records, and a place to say what is wrong with each."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases.case import Case
from cases.files import Problem, Severity, WithProblems, numbered_lines, validation_problems
from cases.pictures import picture_fault
from cases.text.sentences import entries

_KINDS = {  # of files that are no UTF-8 text, by how they begin
    b"\x1f\x8b": "compressed by gzip: unpack it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
}
_DEEPEST = 40  # levels of nesting; more is no clinical record, and Python could not walk it


@dataclass(frozen=True, kw_only=True)
class ImportResult(WithProblems):
    """The cases that were read and what was wrong: errors (a record is missing) and warnings (a detail is)."""

    cases: list[Case]


@dataclass
class Source:
    """A file to import, with the options of the import and the problems found so far."""

    path: Path
    departments: Path | None = None
    departments_read: bool = False
    problems: list[Problem] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    reading: str = ""  # the name of the record that is being read

    def records(self) -> Iterator["Record"]:
        """The file's records: its lines (JSON lines), the entries of its list, or its one object."""
        number = 0
        for name, text in self._documents():
            for entry, value in self._parsed(name, text):
                number += 1
                self.reading = ", ".join(filter(None, (name, entry)))
                record = Record(self, self.reading, number, value)
                if _deeper_than(_DEEPEST, value):
                    record.error("", f"is nested more than {_DEEPEST} levels deep; expected a clinical record")
                else:
                    yield record

    def objects(self, holding: str) -> Iterator[tuple["Record", Mapping[str, Any]]]:
        """The records that are objects, each with its fields; ``holding`` says what one is expected to hold."""
        for record in self.records():
            if isinstance(record.value, Mapping):
                yield record, record.value
            else:
                record.expected("", holding, record.value)

    @property
    def first(self) -> dict[str, Any]:
        """The first record, by which the form of a file is told; empty if that is no object, or there is none."""
        value = next((record.value for record in self.records()), None)
        return value if isinstance(value, dict) else {}

    def read(self, path: Path) -> str | None:
        """The text of a file, or None and a problem."""
        try:
            return path.read_text("utf-8-sig")
        except OSError as error:
            self.error(f"cannot be read: {error.strerror or error}", file=path)
        except UnicodeDecodeError as error:
            kind = next((kind for begins, kind in _KINDS.items() if error.object.startswith(begins)), error.reason)
            self.error(f"is not UTF-8 at byte {error.start} ({kind}); expected UTF-8 text", file=path)
        except ValueError as error:  # the path is one that no system takes
            self.error(f"cannot be read ({error})", file=path)
        return None

    def error(self, message: str, record: str = "", field: str = "", file: Path | None = None) -> None:
        """Note that the file (or another that was given with it), or one record of it, cannot be used."""
        self._note("error", file, record, field, message)

    def warn(self, message: str, record: str = "", field: str = "", file: Path | None = None) -> None:
        """Note what was left out or changed."""
        self._note("warning", file, record, field, message)

    def _note(self, severity: Severity, file: Path | None, record: str, field: str, message: str) -> None:
        self.problems.append(
            Problem(_printable(file or self.path), _printable(record), _printable(field), _printable(message), severity)
        )

    def _documents(self) -> Iterator[tuple[str, str]]:
        text = self.read(self.path) or ""
        lines = [(place, line.strip()) for place, line in numbered_lines(text)]
        if 2 * sum(map(_could_be_a_record, (line for _, line in lines))) >= len(lines):
            yield from lines
        elif lines:
            yield "", text

    def _parsed(self, name: str, text: str) -> Iterator[tuple[str, object]]:
        repeated: list[str] = []

        def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
            counts = Counter(key for key, _ in pairs)
            repeated.extend(key for key, count in counts.items() if count > 1)
            return dict(pairs)

        try:
            value: object = json.loads(text, object_pairs_hook=unique)
        except json.JSONDecodeError as error:
            place = f"column {error.colno}" if name else f"line {error.lineno}, column {error.colno}"
            expected = "one JSON object" if name else "a JSON list or object, or JSON lines"
            self.error(f"is not JSON ({error.msg.removesuffix(' at')} at {place}); expected {expected}", name)
            return
        except (ValueError, RecursionError) as error:
            self.error(f"cannot be read as JSON ({error})", name)
            return
        for key in repeated:
            if isinstance(value, Mapping) and key in value:
                self.error(f"the key {key!r} stands here twice, and only one can be read; expected unique keys", name)
            else:
                self.warn(f"the key {key!r} stands twice in one object; the last is read", name)
        if isinstance(value, list):
            yield from ((f"entry {number}", entry) for number, entry in enumerate(value, 1))
        else:
            yield "", value


@dataclass
class Record:
    """One record of a source: its name for messages (``line 12``, a title), its place in the file, its value."""

    source: Source
    name: str
    number: int
    value: object
    sound: bool = True

    def error(self, field: str, message: str) -> None:
        """Note that the record cannot be imported, and why."""
        self.sound = False
        self.source.error(message, self.name, field)

    def warn(self, field: str, message: str) -> None:
        """Note what of the record was left out or changed."""
        self.source.warn(message, self.name, field)

    def expected(self, field: str, what: str, found: object) -> None:
        """Note that a field holds something of another kind than was expected, or is missing."""
        held = ""
        if found is None and isinstance(self.value, Mapping) and field.partition(".")[0] not in self.value:
            held = f"; the record holds {', '.join(map(repr, list(self.value)[:5])) or 'no field at all'}"
        self.error(field, f"expected {what}, found {describe(found)}{held}")

    def check_text(self, field: str, value: object) -> None:
        """Note a number or a truth value where text is told; under a label of its own (``"pH": 7.4``) it may stand."""
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, bool | int | float):
                self.expected(field, "text", part)

    def invalid(self, error: ValidationError) -> None:
        """Note each fault that a type found."""
        for problem in validation_problems(self.source.path, self.name, error):
            self.error(problem.field, problem.message)

    def image(self, field: str, file: str, item: str) -> dict[str, str] | None:
        """A picture beside the source, or None and a warning if there is none."""
        folder = self.source.path.parent.resolve()
        if fault := picture_fault(folder, file):
            self.warn(field, f"{fault}; the case is kept without it")
            return None
        return {"file": (folder / file).resolve().relative_to(folder).as_posix(), "item": item}

    def case(self, case_id: str, data: dict[str, Any]) -> Case | None:
        """The finished case under an id of its own, or None and the problems if anything in it is wrong.

        Diagnoses that stand in one text as a numbered list are parted.
        """
        if not self.sound:
            return None
        key = data.get("key", {})
        names = [
            name for text in key.get("diagnosis", ()) for name in (entries(text) if isinstance(text, str) else [text])
        ]
        data = {**data, "key": {**key, "diagnosis": names}}
        unique, count = case_id, 1
        while unique in self.source.ids:
            count += 1
            unique = f"{case_id}-{count}"
        folder = os.fspath(self.source.path.parent.resolve())
        try:
            case = Case.model_validate({"id": unique, "folder": folder, **data})
        except ValidationError as error:
            self.invalid(error)
            return None
        self.source.ids.add(unique)
        if unique != case_id:
            self.warn("id", f"{case_id} was read before; this one is {unique}")
        return case


def describe(value: object) -> str:
    """What kind of JSON value this is, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    shown = repr(value)
    return f"{'text' if isinstance(value, str) else 'a value'} {shown if len(shown) <= 40 else shown[:37] + '...'}"


def _could_be_a_record(line: str) -> bool:
    # Lines of one object that is spread over many begin with a bracket alone or end with what goes on; a line of
    # JSON lines that was cut off should still count as one.
    return line.startswith("{") and len(line) > 1 and not line.endswith((",", "]", "{", "["))


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


def _printable(text: object) -> str:
    # A lone surrogate, which JSON can smuggle in, could not be printed.
    return str(text).encode("utf-8", "replace").decode("utf-8")
