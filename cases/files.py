"""Reading and writing cases: JSON lines, one case a line; every problem named by file, line and field."""

import hashlib
import json
import os
import pickle
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from cases.case import Case, Split
from cases.pictures import picture_fault, picture_faults
from cases.registry import nearest
from cases.validation import faults

BUILTIN = "builtin"
Model = TypeVar("Model", bound=BaseModel)

Severity = Literal["error", "warning"]
_NAMED = 3  # records that are named of an error that many have


@dataclass(frozen=True)
class Problem:
    """What is wrong with one record of a file, where, and what would mend it.

    An error means that the record cannot be used; a warning, that it can, but not all of it or not as it stood.
    """

    file: str
    record: str
    field: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.file, self.record, self.field) if part)
        return f"{where}: {self.message}"


def shortened(problems: Iterable[Problem]) -> list[Problem]:
    """The problems, but of an error that many records have the first few, and how many more have it."""
    problems = list(problems)
    kinds = [(each.file, each.field, each.message, each.severity) for each in problems]
    shared = Counter(kinds)
    left, shown = shared.copy(), list[Problem]()
    for each, kind in zip(problems, kinds, strict=True):
        left[kind] -= 1
        if each.severity == "warning" or shared[kind] - left[kind] <= _NAMED or shared[kind] == _NAMED + 1:
            shown.append(each)
        elif not left[kind]:
            shown.append(replace(each, record=f"and {shared[kind] - _NAMED} more"))
    return shown


@dataclass(frozen=True, kw_only=True)
class WithProblems:
    """Base of what was read of a file: what was wrong with it comes along."""

    problems: list[Problem]

    @property
    def errors(self) -> list[Problem]:
        """The problems that keep a record from being used."""
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """What a record could be read in spite of."""
        return [problem for problem in self.problems if problem.severity == "warning"]


class CaseFileError(ValueError):
    """A file of cases that cannot be used; ``problems`` lists every fault found in it."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


def load_cases(source: str | Path = BUILTIN, *, split: Split | None = None) -> list[Case]:
    """Read the cases of a JSON-lines file, or the built-in ones (``"builtin"``).

    Args:
        source: a path, or ``"builtin"``.
        split: only the cases of that split; all of them if None.

    Raises:
        CaseFileError: the file cannot be read, or any of its records is faulty (all faults are listed).
        ValueError: there is no such split.
    """
    if split is not None and split not in get_args(Split):
        raise ValueError(f"unknown split {split!r}: {nearest(split, get_args(Split))}")
    cases: list[Case]
    cases, problems = pickle.loads(_built_in()) if str(source) == BUILTIN else check_cases(source)
    if problems:
        raise CaseFileError(problems)
    return [case for case in cases if split in (None, case.split)]


@cache
def _built_in() -> bytes:
    """The built-in cases, read once: whoever loads them is given their own, which they may change."""
    return pickle.dumps(check_cases(BUILTIN))


def check_cases(source: str | Path = BUILTIN) -> tuple[list[Case], list[Problem]]:
    """Read a file as far as it goes: the good cases, and a problem for each fault."""
    cases: list[Case] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    foreign = True
    for path in _paths(source):
        folder = str(path.parent.resolve())
        for place, case in parsed_lines(path, Case):
            foreign &= isinstance(case, list) and any(_is_foreign(problem) for problem in case)
            if isinstance(case, list):
                problems.extend(case)
                continue
            if case.id in seen:
                problems.append(Problem(str(path), place, "id", f"{case.id!r} is already used at {seen[case.id]}"))
                continue
            seen[case.id] = f"{path.name}, {place}"
            case = case.model_copy(update={"folder": folder})
            problems.extend(Problem(str(path), f"{place} ({case.id})", *fault) for fault in picture_faults(case))
            cases.append(case)
    if not cases and not problems:
        problems.append(Problem(str(source), "", "", "holds no case; expected one JSON object a line"))
    elif foreign:
        remedy = f"import it first: `wardround cases import FORMAT {source} -o CASES.jsonl`"
        problems.append(
            Problem(str(source), "", "", f"holds no case as we write them; if it is of another format, {remedy}")
        )
    return cases, problems


def _is_foreign(problem: Problem) -> bool:
    """Whether nothing of a record is a case's: it is no object, or has no patient."""
    lacking = problem.field.split(", ") if problem.message in ("Field required", "Fields required") else []
    return bool(problem.record) and (not problem.field or "patient" in lacking)


def save_cases(cases: Iterable[Case], path: str | Path) -> None:
    """Write cases as JSON lines, whole or not at all (written beside and moved into place), with their pictures.

    A picture that lies elsewhere is copied beside the file, into ``NAME_pictures``; what a case names beyond its own
    folder is not, and the case will be refused as it would have been there.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.part")
    with draft.open("w", encoding="utf-8") as out:
        out.writelines(_beside(case, target).model_dump_json(exclude_defaults=True) + "\n" for case in cases)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(target)


def _beside(case: Case, target: Path) -> Case:
    folder = target.resolve().parent
    images = []
    for image in case.examinations.images:
        picture = Path(case.folder, image.file).resolve()
        if case.folder and picture_fault(case.folder, image.file) is None:
            if not picture.is_relative_to(folder):
                mark = hashlib.sha256(picture.read_bytes()).hexdigest()[:8]
                copy = folder / f"{target.stem}_pictures" / f"{mark}-{picture.name}"
                copy.parent.mkdir(parents=True, exist_ok=True)
                picture = Path(shutil.copyfile(picture, copy))
            image = image.model_copy(update={"file": picture.relative_to(folder).as_posix()})
        images.append(image)
    return case.model_copy(update={"examinations": case.examinations.model_copy(update={"images": images})})


def parsed_lines(path: Path, model: type[Model]) -> Iterator[tuple[str, Model | list[Problem]]]:
    """Each line of JSON lines that is not blank, or entry of a JSON list, by its place: what it is or what is wrong."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        yield "", [Problem(str(path), "", "", f"cannot be read ({error}); expected UTF-8 JSON lines")]
        return
    for place, line in _documents(text):
        try:
            yield place, model.model_validate_json(line)
        except ValidationError as error:
            yield place, validation_problems(path, place, error)


def _documents(text: str) -> Iterator[tuple[str, str]]:
    if text.lstrip().startswith("["):
        try:
            entries = json.loads(text)
        except (ValueError, RecursionError):
            yield "", text
        else:
            yield from ((f"entry {number}", json.dumps(entry)) for number, entry in enumerate(entries, start=1))
        return
    yield from numbered_lines(text)


def numbered_lines(text: str) -> list[tuple[str, str]]:
    """The lines of JSON lines that are not blank, each with its place."""
    # Only "\n" ends a line: case text may hold the other separators that splitlines() knows (U+2028, U+0085).
    return [(f"line {number}", line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def validation_problems(path: str | Path, record: str, error: ValidationError) -> list[Problem]:
    """A validation error as problems, one a field; of several that a record lacks, as one of another kind does, one."""
    found = [(".".join(map(str, detail["loc"])), detail) for detail in faults(error)]
    lacking = [field for field, detail in found if detail["type"] == "missing"]
    problems = [
        Problem(str(path), record, field, detail["msg"])
        for field, detail in found
        if len(lacking) < 2 or field not in lacking
    ]
    return [*([Problem(str(path), record, ", ".join(lacking), "Fields required")] if lacking[1:] else []), *problems]


def _paths(source: str | Path) -> list[Path]:
    if str(source) != BUILTIN:
        return [Path(source)]
    return sorted(builtin_folder().glob("*.jsonl"))


def builtin_folder() -> Path:
    """Where the built-in cases and their pictures lie."""
    return Path(str(files("cases") / "builtin"))
