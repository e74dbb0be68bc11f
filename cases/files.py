"""Read and write cases as JSON lines; every problem names its file, line and field."""

import errno
import hashlib
import json
import os
import pickle
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from cases.case import Case, Split
from cases.pictures import picture_fault, picture_faults
from cases.validation import InputError, faults, is_unknown_field, nearest, unpiped, unreadable

BUILTIN = "builtin"
Model = TypeVar("Model", bound=BaseModel)

Severity = Literal["error", "warning"]
_LACKING = ("Field required", "Fields required")
_EXPECTED = "expected JSON lines, a JSON list, or objects one after the other"
_BETWEEN = re.compile(r"\s*,?\s*")  # what stands between two objects in a row
_NAMED = 3  # records listed individually for an error that many share


@dataclass(frozen=True)
class Problem:
    """A fault of one record: where it is, and how to fix it.

    An error means that the record cannot be used; a warning, that part of it was ignored or changed.
    """

    file: str
    record: str
    field: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.file, self.record, self.field) if part)
        return f"{where}: {self.message}"

    @property
    def lacking(self) -> list[str]:
        """The required fields that the record lacks, if that is the fault."""
        return self.field.split(", ") if self.message in _LACKING else []


def shortened(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems; of an error that many records share, only the first few and a count of the others."""
    problems = list(problems)
    kinds = [(problem.file, problem.field, problem.message, problem.severity) for problem in problems]
    shared = Counter(kinds)
    left, shown = shared.copy(), list[Problem]()
    for problem, kind in zip(problems, kinds, strict=True):
        left[kind] -= 1
        if problem.severity == "warning" or shared[kind] - left[kind] <= _NAMED or shared[kind] == _NAMED + 1:
            shown.append(problem)
        elif not left[kind]:
            shown.append(replace(problem, record=f"and {shared[kind] - _NAMED} more"))
    return shown


@dataclass(frozen=True, kw_only=True)
class WithProblems:
    """Base class of results that carry the problems found while reading."""

    problems: list[Problem]

    @property
    def errors(self) -> list[Problem]:
        """The problems that make a record unusable."""
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """The problems in spite of which a record was read."""
        return [problem for problem in self.problems if problem.severity == "warning"]


class CaseFileError(InputError):
    """A case file cannot be used; ``problems`` lists every fault found in it."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)  # what it is made of, so that a pool of processes can pickle it
        self.problems = problems

    def __str__(self) -> str:
        """Return the problems, a line each."""
        return "\n".join(map(str, self.problems))


def load_cases(source: str | Path = BUILTIN, *, split: Split | None = None) -> list[Case]:
    """Read cases from JSON lines, or the built-in ones (``"builtin"``).

    Args:
        source: a path, or ``"builtin"``.
        split: only return cases of this split; None for all.

    Raises:
        CaseFileError: the file cannot be read, or any record is faulty (all faults are listed).
        ValueError: there is no such split.
    """
    if split is not None and split not in get_args(Split):
        raise ValueError(f"unknown split {split!r}: {nearest(split, get_args(Split))}")
    return [case for case in each_case(source) if split in (None, case.split)]


def each_case(source: str | Path = BUILTIN) -> Iterator[Case]:
    """Yield cases as `load_cases` returns them, one at a time: a file of thousands need not be held.

    Raises:
        CaseFileError: at the end, as there; what was yielded before is then of no use.
    """
    cases: Iterable[Case]
    problems: list[Problem] = []
    if str(source) == BUILTIN:
        cases, problems = pickle.loads(_built_in())
    else:
        cases = _checked(source, problems, whole_pictures=False)
    yield from cases
    if problems:
        raise CaseFileError(problems)


@cache
def _built_in() -> bytes:
    """Read the built-in cases once; pickled, so that each caller gets its own mutable copy."""
    return pickle.dumps(check_cases(BUILTIN, whole_pictures=False))


def check_cases(source: str | Path = BUILTIN, *, whole_pictures: bool = True) -> tuple[list[Case], list[Problem]]:
    """Read as much of a file as possible; return the valid cases and all problems.

    ``whole_pictures`` decodes each picture. A run does so only when it comes to the case.
    """
    problems: list[Problem] = []
    return list(_checked(source, problems, whole_pictures=whole_pictures)), problems


def _checked(source: str | Path, problems: list[Problem], *, whole_pictures: bool) -> Iterator[Case]:
    """Yield the valid cases of a file, and add all problems to a list."""
    seen: dict[str, str] = {}
    foreign = True
    if hint := meant_builtin(source):
        problems.append(Problem(str(source), "", "", f"file not found{hint}"))
        return
    for path in _paths(source):
        folder = str(path.parent.resolve())
        for place, case in parsed_lines(path, Case):
            of_another_format = isinstance(case, list) and any(_is_foreign(problem) for problem in case)
            foreign &= of_another_format
            if isinstance(case, list):  # of another format, its own fields say nothing
                problems.extend(one for one in case if not (of_another_format and is_unknown_field(one.message)))
                continue
            if case.id in seen:
                problems.append(
                    Problem(str(path), place, "id", f"the id {case.id!r} is already used at {seen[case.id]}")
                )
                continue
            seen[case.id] = f"{path.name}, {place}"
            case = case.model_copy(update={"folder": folder})
            problems.extend(
                Problem(str(path), f"{place} ({case.id})", *fault)
                for fault in picture_faults(case, whole=whole_pictures)
            )
            yield case
    if not seen and not problems:
        problems.append(Problem(str(source), "", "", "contains no cases; expected one JSON object per line"))
    elif foreign and (field := _field_of_cases(Path(source))):
        problems[:] = [Problem(str(source), "", field, "the cases lie in this field; write its list alone into a file")]
    elif foreign:
        remedy = f"import it first: `wardround cases import FORMAT {source} -o CASES.jsonl`"
        problems.append(
            Problem(
                str(source),
                "",
                "",
                "contains no cases in the format of Ward Round, which has one object per line or a list of them; "
                f"if it has another format, {remedy}",
            )
        )


def _field_of_cases(path: Path) -> str:
    """Return the field of a file's only object whose list holds cases, as in ``{"cases": [...]}``; else empty."""
    try:
        whole = json.loads(path.read_text("utf-8-sig")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return ""
    lists = {name: held for name, held in whole.items() if isinstance(held, list)} if isinstance(whole, dict) else {}
    holders = [name for name, held in lists.items() for each in held if isinstance(each, dict) and "patient" in each]
    return next(iter(holders), "")


def meant_builtin(source: str | Path) -> str:
    """Return the suggestion for a misspelt ``builtin``; empty for all else."""
    is_near = str(source) != BUILTIN and get_close_matches(str(source).lower(), [BUILTIN], cutoff=0.75)
    return f"; did you mean {BUILTIN!r}?" if is_near and not Path(source).exists() else ""


def _is_foreign(problem: Problem) -> bool:
    """Whether a record is not in our format at all: not an object, or without a patient who is one."""
    of_patient = "patient" in problem.lacking or (problem.field, problem.message) == ("patient", "expected an object")
    return bool(problem.record) and (not problem.field or of_patient)


def unless_linked(path: str, flags: int) -> int:
    """Open a file (an opener for ``open``), but no link: a directory received from others may link to any file."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def is_device(path: Path) -> bool:
    """Whether a path is a device or a pipe, in whose place no file is written."""
    return path.exists() and not (path.is_file() or path.is_dir())


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary file that replaces ``path`` at the end of the block; the file is whole or unchanged.

    Raises:
        OSError: it cannot be written; the path is named, and not the temporary file, which is removed.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if is_device(path):  # who may write anywhere would leave a file where /dev/null was
        raise OSError(errno.EINVAL, "is a device or a pipe; name a file", str(path))
    draft = path.with_name(f".{path.name}.part")
    out = open(draft, "wb", opener=unless_linked)  # noqa: SIM115 - closing it may fail too, on a full disk
    try:
        with out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # the system names no file on a full disk
            error.filename = str(path)
        raise


def save_cases(cases: Iterable[Case], path: str | Path) -> None:
    """Write cases and their pictures as JSON lines, atomically: to a draft file that is then renamed.

    A picture from elsewhere is copied beside the file, into ``NAME_pictures``. A path that leads out of the case's own
    folder is not copied, so that the case is rejected just as it would have been there.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as out:
        for case in cases:
            out.write(f"{_with_pictures(case, target).model_dump_json(exclude_defaults=True)}\n".encode())


def _with_pictures(case: Case, target: Path) -> Case:
    folder = target.resolve().parent
    images = []
    for image in case.examinations.images:
        picture = Path(case.folder, image.file).resolve()
        if case.folder and picture_fault(case.folder, image.file, whole=False) is None:
            if not picture.is_relative_to(folder):
                mark = hashlib.sha256(picture.read_bytes()).hexdigest()[:8]
                copy = folder / f"{target.stem}_pictures" / f"{mark}-{picture.name}"
                copy.parent.mkdir(parents=True, exist_ok=True)
                picture = Path(shutil.copyfile(picture, copy))
            image = image.model_copy(update={"file": picture.relative_to(folder).as_posix()})
        images.append(image)
    return case.model_copy(update={"examinations": case.examinations.model_copy(update={"images": images})})


def parsed_lines(path: Path, model: type[Model]) -> Iterator[tuple[str, Model | list[Problem]]]:
    """Parse JSON lines, a JSON list, or objects in a row; yield each one's place with the object or its problems.

    A key that occurs twice in one object is a problem.
    """
    try:
        text = None if _is_lines(unpiped(path)) else path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        yield "", [Problem(str(path), "", "", unreadable(error, "UTF-8 JSON lines"))]
        return
    if text is not None and text.lstrip().startswith("["):
        yield from (("", [problem]) for problem in _repeated_keys(path, "", text))
    for place, line in _each_line(path) if text is None else _documents(text):
        try:
            found = model.model_validate_json(line)
            yield place, _repeated_keys(path, place, line) or found
        except ValidationError as error:
            faulty = validation_problems(path, place or "whole file", error, model)
            yield place, faulty if place else [replace(one, message=f"{one.message}; {_EXPECTED}") for one in faulty]


def _repeated_keys(path: Path, place: str, text: str) -> list[Problem]:
    """Return a problem for each key that occurs twice in one object, as JSON is read with the last one alone."""
    repeated: list[str] = []

    def kept(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return found

    with suppress(ValueError, RecursionError):  # what cannot be read so is told elsewhere
        json.loads(text, object_pairs_hook=kept)
    message = "occurs twice in one object, of which only one can be read; keys must be unique"
    return [Problem(str(path), place, key, message) for key in repeated]


def _is_lines(path: Path) -> bool:
    """Whether a file holds a record in each line, and can be read twice (unlike a pipe) and to its end."""
    if not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8-sig") as lines:
            return are_records(lines)
    except UnicodeDecodeError:
        return False  # reading the whole text then says at which byte


def are_records(lines: Iterable[str]) -> bool:
    """Whether each line is a record, cut off ones included; otherwise they are one document, or objects in a row.

    Lines of one object spread over many are mostly a lone bracket or end in a continuation.
    """
    counts = Counter(
        line.startswith("{") and len(line) > 1 and not line.endswith((",", "]", "{", "["))
        for line in map(str.strip, lines)
        if line
    )
    return counts[True] >= counts[False]


def _each_line(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8-sig") as lines:
        yield from numbered_lines(line.removesuffix("\n") for line in lines)


def _documents(text: str) -> Iterator[tuple[str, str]]:
    if text.lstrip().startswith("["):
        try:
            entries = json.loads(text)
        except (ValueError, RecursionError):
            yield "", text
        else:
            yield from ((f"entry {number}", json.dumps(entry)) for number, entry in enumerate(entries, start=1))
    elif are_records(text.split("\n")):
        yield from numbered_lines(text.split("\n"))
    elif objects := objects_in(text):
        yield from ((f"object {number}", each) for number, each in enumerate(objects, start=1))
    else:
        yield "", text


def objects_in(text: str) -> list[str]:
    """Return the objects of a text that holds one after the other, over several lines each; empty if it does not."""
    found: list[str] = []
    decoder, end = json.JSONDecoder(), 0
    while (gap := _BETWEEN.match(text, end)) and text.startswith("{", gap.end()):
        try:
            end = decoder.raw_decode(text, gap.end())[1]
        except (ValueError, RecursionError):
            return []
        found.append(text[gap.end() : end])
    return found if gap and gap.end() == len(text) else []


def numbered_lines(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the non-blank lines, each with its place.

    Lines are those of a file, or of a text split at a line feed: case text may hold the other separators that
    ``splitlines`` knows (U+2028, U+0085).
    """
    return ((f"line {number}", line) for number, line in enumerate(lines, start=1) if line.strip())


def validation_problems(path: str | Path, record: str, error: ValidationError, of: Any = None) -> list[Problem]:
    """Turn a validation error into problems, one per field; several missing fields become one problem.

    ``of`` is the type that did not fit, of which an unknown field suggests another.
    """
    found = [(".".join(map(str, detail["loc"])), detail) for detail in faults(error, of)]
    lacking = [field for field, detail in found if detail["type"] == "missing"]
    problems = [
        Problem(str(path), record, field, detail["msg"])
        for field, detail in found
        if len(lacking) < 2 or field not in lacking
    ]
    return [*([Problem(str(path), record, ", ".join(lacking), "Fields required")] if lacking[1:] else []), *problems]


def _paths(source: str | Path) -> list[Path]:
    if str(source) != BUILTIN:
        return [Path(os.path.expanduser(source))]
    return sorted(builtin_folder().glob("*.jsonl"))


def builtin_folder() -> Path:
    """Return the folder of the built-in cases and pictures."""
    return Path(str(files("cases") / "builtin"))
