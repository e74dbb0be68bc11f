"""Problems of what was read: what is wrong with which record of a file, and how to mend it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from cases.validation import faults

Severity = Literal["error", "warning"]
_LACKING = ("Field required", "Fields required")
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
