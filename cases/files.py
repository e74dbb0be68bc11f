"""Read and write files of cases; every problem names its file, line and field."""

import errno
import hashlib
import json
import os
import pickle
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import get_args

from cases.case import Case, Split
from cases.json_lines import parsed_lines
from cases.pictures import picture_fault, picture_faults
from cases.problems import Problem
from cases.validation import InputError, is_unknown_field, nearest
from cases.whole_files import replacing

BUILTIN = "builtin"
_NAME_KEPT = 60  # characters of a copied picture's name, of up to four bytes; with our prefixes, systems allow 255


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
        expected = "contains no cases in the format of Ward Round, which has one object per line or a list of them"
        remedy = f"import it first: `wardround cases import FORMAT {source} -o CASES.jsonl`"
        problems.append(Problem(str(source), "", "", f"{expected}; if it has another format, {remedy}"))


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


def save_cases(cases: Iterable[Case], path: str | Path) -> None:
    """Write cases and their pictures as JSON lines, atomically: to a draft file that is then renamed.

    A picture from elsewhere is copied beside the file, into ``NAME_pictures``. A path that leads out of the case's own
    folder is not copied, so that the case is rejected just as it would have been there.

    Raises:
        TypeError: these are not cases, as where one case is given, or the result of an import.
        OSError: a file cannot be written, or the folder of the pictures is a link.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as out:
        for case in cases:
            if not isinstance(case, Case):
                raise TypeError(f"cases: expected a list of Case objects, found a {type(case).__name__} in it")
            out.write(f"{_with_pictures(case, target).model_dump_json(exclude_defaults=True)}\n".encode())


def _with_pictures(case: Case, target: Path) -> Case:
    folder = target.resolve().parent
    images = []
    for image in case.examinations.images:
        picture = Path(case.folder, image.file).resolve()
        if case.folder and picture_fault(case.folder, image.file, whole=False) is None:
            if not picture.is_relative_to(folder):
                picture = _copied(picture, folder / f"{target.stem}_pictures")
            image = image.model_copy(update={"file": picture.relative_to(folder).as_posix()})
        images.append(image)
    key = case.key.with_renamed((was.file, now.file) for was, now in zip(case.examinations.images, images, strict=True))
    examinations = case.examinations.model_copy(update={"images": images})
    return case.model_copy(update={"examinations": examinations, "key": key})


def _copied(picture: Path, folder: Path) -> Path:
    if folder.is_symlink():  # a folder received from others may link to any
        raise OSError(errno.ELOOP, "is a link; pictures are copied into a folder, so remove it", str(folder))
    content = picture.read_bytes()
    copy = folder / f"{hashlib.sha256(content).hexdigest()[:8]}-{picture.name[-_NAME_KEPT:]}"
    copy.parent.mkdir(parents=True, exist_ok=True)
    with replacing(copy) as out:
        out.write(content)
    return copy


def _paths(source: str | Path) -> list[Path]:
    if str(source) != BUILTIN:
        return [Path(os.path.expanduser(source))]
    return sorted(builtin_folder().glob("*.jsonl"))


def builtin_folder() -> Path:
    """Return the folder of the built-in cases and pictures."""
    return Path(str(files("cases") / "builtin"))
