"""What several answers have in common: what enough of them name, and how far two agree."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable

from cases.text.disease_names import folded_name
from nodes.state.decisions import Decision


def most(count: int, of: int) -> bool:
    """More than half."""
    return count * 2 > of


def half(count: int, of: int) -> bool:
    """At least half."""
    return count * 2 >= of


def every(count: int, of: int) -> bool:
    """All."""
    return count == of


def several(count: int, of: int) -> bool:
    """At least two."""
    return count > 1


def some(count: int, of: int) -> bool:
    """At least one."""
    return count > 0


def held(answers: Collection[Iterable[str]], share: Callable[[int, int], bool]) -> list[str]:
    """Return what enough of the answers name, by any of its names, in the order in which it was first named.

    ``share`` says whether a count of answers out of all of them is enough.
    """
    holders: dict[str, int] = {}
    spelling: dict[str, str] = {}
    for answer in answers:
        for key, claim in {folded_name(claim): claim for claim in answer}.items():
            spelling.setdefault(key, claim)
            holders[key] = holders.get(key, 0) + 1
    return [spelling[key] for key, count in holders.items() if share(count, len(answers))]


def most_often(answers: Collection[Iterable[str]]) -> list[str]:
    """Return the claim that most answers name, the first named of several; empty if none names anything."""
    claims = [claim for answer in answers for claim in answer]
    counts = Counter(map(folded_name, claims))
    return [max(claims, key=lambda claim: counts[folded_name(claim)])] if claims else []


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the Jaccard index of two lists of choices, in [0, 1]; 1 if both are empty."""
    left, right = {folded_name(choice) for choice in one}, {folded_name(choice) for choice in other}
    return len(left & right) / len(left | right) if left | right else 1.0


def agreement(decision: Decision, other: Decision) -> float:
    """Return the `overlap` of two decisions of one kind, in [0, 1]."""
    return overlap(decision.choices(), other.choices())
