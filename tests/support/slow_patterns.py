"""What makes a pattern slow in long texts: found in the pattern, as no test has a clock."""

import importlib
import re
from collections.abc import Iterator
from typing import Any

_parser, _compiler = (importlib.import_module(f"re._{name}") for name in ("parser", "compiler"))
_SIGNS = {*map(chr, range(32, 127)), *"\n，。；、：（）年月天史既中一"}
_LONG = 100  # repetitions that count as without an end

Signs = set[str]  # the characters of a run


def forks_in_a_loop(pattern: re.Pattern[str]) -> bool:
    """Whether a loop can cut the same text in many ways, as ``(?:a+ ?)+`` can: all are tried, twice as many a sign."""
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    return any(
        any(run & _firsts(body) for run in _ends(body))
        or any(_are_alike(one, other) for alternatives in _branches(body) for one, other in _pairs(alternatives))
        for name, most, body in _repeats(parsed)
        if most > _LONG and body.getwidth() != (1, 1) and name != "POSSESSIVE_REPEAT"
    )


def runs_that_meet(pattern: re.Pattern[str]) -> bool:
    """Whether runs can share their characters, as in ``\\s*,?\\s*``: time grows with the square of such a run."""
    return _meet(_parser.parse(pattern.pattern, pattern.flags), []) is None


def begins_with_a_run(pattern: re.Pattern[str]) -> bool:
    """Whether a match begins with a run, as in ``\\s*-``: a search tries it from each of its characters."""
    return _begins(_parser.parse(pattern.pattern, pattern.flags))


def _parts(kind: Any, value: Any) -> tuple[str, list[Any]]:
    """Return the name of a part of a pattern, and what it consists of."""
    name = str(kind)
    if name == "BRANCH":
        return name, list(value[1])
    if name.endswith("_REPEAT"):
        return name, [value[2]]
    if name == "SUBPATTERN":
        return name, [value[-1]]
    return name, [value] if name == "ATOMIC_GROUP" else [value[1]] if name.startswith("ASSERT") else []


def _repeats(parsed: Any) -> Iterator[tuple[str, int, Any]]:
    for kind, value in parsed:
        name, parts = _parts(kind, value)
        if name.endswith("_REPEAT"):
            yield name, value[1], value[2]
        for part in parts:
            yield from _repeats(part)


def _branches(parsed: Any) -> Iterator[list[Any]]:
    for kind, value in parsed:
        name, parts = _parts(kind, value)
        if name == "BRANCH":
            yield parts
        if name != "ATOMIC_GROUP":  # takes the first alternative that fits
            for part in parts:
                yield from _branches(part)


def _pairs(alternatives: list[Any]) -> Iterator[tuple[Any, Any]]:
    return ((one, other) for place, one in enumerate(alternatives) for other in alternatives[:place])


def _are_alike(one: Any, other: Any) -> bool:
    runs = [[_firsts(body) for _, most, body in _repeats(each) if most > _LONG] for each in (one, other)]
    return bool(_firsts(one) & _firsts(other)) and any(first & second for first in runs[0] for second in runs[1])


def _firsts(parsed: Any) -> Signs:
    """Return the characters that a part may begin with."""
    found: Signs = set()
    for item in parsed:
        name, parts = _parts(*item)
        if name == "AT" or name.startswith("ASSERT"):
            continue
        if name == "LITERAL":
            return found | {chr(item[1])}
        if not parts:
            own = _compiler.compile(_parser.SubPattern(parsed.state, [item]))
            return found | {sign for sign in _SIGNS if own.match(sign)}
        found |= set[str]().union(*map(_firsts, parts))
        if item[1][0] if name.endswith("_REPEAT") else all(part.getwidth()[0] for part in parts):
            return found
    return found


def _ends(parsed: Any) -> list[Signs]:
    """Return the runs that a part may end with, unless what stands behind them is looked at."""
    runs: list[Signs] = []
    for kind, value in parsed:
        name, parts = _parts(kind, value)
        may_be_empty = runs if all(part.getwidth()[0] == 0 for part in parts) else []
        if name.endswith("_REPEAT"):
            may_be_empty = may_be_empty if value[0] else runs
            own = [_firsts(value[2])] if value[1] > _LONG and value[2].getwidth() == (1, 1) else _ends(value[2])
            runs = [*may_be_empty, *([] if name == "POSSESSIVE_REPEAT" else own)]
        elif name in ("BRANCH", "SUBPATTERN", "ATOMIC_GROUP"):
            runs = [*may_be_empty, *(run for part in parts for run in _ends(part))]
        else:
            runs = []
    return runs


def _begins(parsed: Any) -> bool:
    for kind, value in parsed:
        name, parts = _parts(kind, value)
        if name == "AT" or name.startswith("ASSERT"):  # what stands before is looked at
            return False
        return (name.endswith("_REPEAT") and value[1] > _LONG) or any(map(_begins, parts))
    return False


def _meet(parsed: Any, runs: list[Signs]) -> list[Signs] | None:
    """Return the runs that may still go on behind a part; None if two have met."""
    for kind, value in parsed:
        name, parts = _parts(kind, value)
        before = runs
        if name.endswith("_REPEAT") and value[1] > _LONG and value[2].getwidth() == (1, 1):
            own = _firsts(value[2])
            if any(own & run for run in runs):
                return None
            ends: list[list[Signs] | None] = [[] if name == "POSSESSIVE_REPEAT" else [own]]
        elif name.startswith("ASSERT"):
            ends = [None if _meet(parts[0], []) is None else runs]
        elif parts:
            ends = [_meet(part, runs) for part in parts]
        else:
            ends = [runs if name == "AT" and "BOUNDARY" not in str(value) else []]  # a word gives nothing of it back
        if None in ends:
            return None
        runs = [
            *(before if name.endswith("_REPEAT") and value[0] == 0 else []),
            *(run for end in ends for run in end or ()),
        ]
    return runs
