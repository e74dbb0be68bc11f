"""MedChain's department tags: a first-level department, then second-level ones, checked against a list if given."""

import re
from dataclasses import dataclass, field
from typing import Any

from cases.importers.source import Record, Source
from cases.vocabulary import DEPARTMENTS, SUB_DEPARTMENTS, normalise


@dataclass
class Directory:
    """The second-level departments of a hospital."""

    names: set[str] = field(default_factory=set)

    def lists(self, name: str) -> bool:
        """Whether this is one of them, in whatever spelling."""
        return normalise(name) in self.names


def read_departments(source: Source) -> Directory | None:
    """Read a department file: ``外科:`` lines, each followed by ``- 骨科`` lines."""
    file = source.departments
    if file is None or (text := source.read(file)) is None:
        return None
    directory, heading = Directory(), ""
    for number, line in enumerate(text.split("\n"), 1):
        place, line = f"line {number}", line.strip()
        if heading and line.startswith("-"):
            directory.names.add(normalise(line))
        elif line.endswith((":", "：")):
            heading = line[:-1].strip()
            if DEPARTMENTS.canonical(heading) is None:
                accepted = ", ".join(DEPARTMENTS.names)
                source.warn(f"{heading!r} is no first-level department: one of {accepted}", place, file=file)
        elif line:
            expected = "expected 'Department:' or, under one, '- second-level department'"
            source.error(f"{expected}, found {line!r}", place, file=file)
    return directory


def assign_departments(tags: list[str], record: Record, directory: Directory | None) -> dict[str, Any]:
    """The key's departments: the first tag is the first level, the others are the second level."""
    names = [name for tag in tags for name in _split(tag)]
    if not names:
        return {}
    if (first := DEPARTMENTS.canonical(names[0])) is None:
        accepted = ", ".join(DEPARTMENTS.names)
        record.error("tags.department", f"unknown first-level department {names[0]!r}; expected one of {accepted}")
        return {}
    second = []
    for name in names[1:]:
        listed = bool(directory and directory.lists(name))
        further = DEPARTMENTS.canonical(name)
        if further and not listed and not SUB_DEPARTMENTS.canonical(name):
            if further != first:
                record.warn(
                    "tags.department", f"{name!r} left out: a case has one first-level department, here {first!r}"
                )
            continue
        if directory and not listed:
            record.warn("tags.department", f"second-level department {name!r} is not in the departments file")
        second.append(name)
    return {"department": first, "sub_departments": second}


def _split(tag: str) -> list[str]:
    """A tag, or the tags that are written into one text."""
    if DEPARTMENTS.canonical(tag) or SUB_DEPARTMENTS.canonical(tag):
        return [tag]
    return [name.strip() for name in re.split(r"[,，、;；]", tag) if name.strip()]
