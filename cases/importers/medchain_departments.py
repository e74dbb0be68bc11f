"""MedChain's department tags: first-level, then second-level ones, checked against a list if given."""

import re
from typing import Any

from cases.importers.source import Record, Source
from cases.vocabulary import DEPARTMENTS, SUB_DEPARTMENTS, normalise

_BULLETS = ("-", "－", "–", "—", "•", "·", "*")


def read_departments(source: Source) -> set[str] | None:
    """Return the folded second-level names of a department file (``外科:`` lines followed by ``- 骨科`` lines)."""
    file, source.departments_read = source.departments, True
    if file is None or (text := source.read(file)) is None:
        return None
    names: set[str] = set()
    heading = ""
    for number, line in enumerate(text.split("\n"), 1):
        place, line = f"line {number}", line.strip()
        if heading and line.startswith(_BULLETS):
            names.add(normalise(line[1:]))
        elif line.endswith((":", "：")):
            heading = line[:-1].strip()
            if DEPARTMENTS.canonical(heading) is None:
                source.warn(
                    f"{heading!r} is not a first-level department; expected {DEPARTMENTS.choices}", place, file=file
                )
        elif line:
            expected = "expected 'Department:', or '- second-level department' below one"
            source.error(f"{expected}, found {line!r}", place, file=file)
    return names


def assign_departments(tags: list[str], record: Record, directory: set[str] | None) -> dict[str, Any]:
    """Return the key's departments: the first tag is the first level, the others are the second level."""
    names = [name for tag in tags for name in _split(tag)]
    if not names:
        return {}
    if (first := DEPARTMENTS.canonical(names[0])) is None:
        wanted = f"expected {DEPARTMENTS.choices}"
        record.error("tags.department", f"unknown first-level department {names[0]!r}; {wanted}")
        return {}
    second = []
    for name in names[1:]:
        listed = normalise(name) in (directory or ())
        further = DEPARTMENTS.canonical(name)
        if further and not listed and not SUB_DEPARTMENTS.canonical(name):
            if further != first:
                record.warn(
                    "tags.department", f"{name!r} left out: a case has only one first-level department, here {first!r}"
                )
            continue
        if directory is not None and not listed:
            record.warn("tags.department", f"second-level department {name!r} is not in the departments file")
        second.append(name)
    return {"department": first, "sub_departments": second}


def _split(tag: str) -> list[str]:
    """Return a tag, or the tags written into one text."""
    if DEPARTMENTS.canonical(tag) or SUB_DEPARTMENTS.canonical(tag):
        return [tag]
    return [name.strip() for name in re.split(r"[,，、;；]", tag) if name.strip()]
