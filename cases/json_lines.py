"""Read JSON lines, a JSON list, or objects one after the other; every problem names its place."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cases.grouping import repetitions
from cases.problems import Problem, validation_problems
from cases.readable import unpiped, unreadable

Model = TypeVar("Model", bound=BaseModel)
_EXPECTED = "expected JSON lines, a JSON list, or objects one after the other"
LONGEST = 50_000_000  # characters of a record, whose texts have 200,000 at most; a longer one may not fit the memory
_BETWEEN = re.compile(r"\s*,?\s*")  # what stands between two objects in a row


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
        if place and len(line) > LONGEST:
            fault = f"{place} has {len(line):,} characters; expected one record, of {LONGEST:,} at most"
            yield place, [Problem(str(path), "", "", fault)]
            continue
        try:
            found = model.model_validate_json(line)
            yield place, _repeated_keys(path, place, line) or found
        except ValidationError as error:
            faulty = validation_problems(path, place or "whole file", error, model)
            yield place, faulty if place else [replace(one, message=f"{one.message}; {_EXPECTED}") for one in faulty]


def noting_repeated(keys: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return a hook for `json.loads` that adds to a list the keys that occur twice in one object; the last is kept."""

    def kept(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys.extend(repetitions(key for key, _ in pairs))
        return found

    return kept


def _repeated_keys(path: Path, place: str, text: str) -> list[Problem]:
    """Return a problem for each key that occurs twice in one object, as JSON is read with the last one alone."""
    repeated: list[str] = []
    with suppress(ValueError, RecursionError):  # what cannot be read so is told elsewhere
        json.loads(text, object_pairs_hook=noting_repeated(repeated))
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
