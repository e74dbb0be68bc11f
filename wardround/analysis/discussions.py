"""How the discussions of our own runs ended, as :mod:`scoring.mvme.consensus` counts them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scoring.mvme.consensus import Discussion, End
from wardround.store.run_directory import Result

_ENDS: Mapping[str, End] = {"agreed": "agreed", "rounds_used_up": "gave_up"}


class Discussions(NamedTuple):
    """The discussions of a run, and how many cases had none: one doctor alone, or the case never came to it."""

    found: list[Discussion]
    without: int


def discussions_of(results: Iterable[Result]) -> Discussions:
    """The discussions that came to an end."""
    listed = list(results)
    found = [
        Discussion(result.rounds["discussion"], _ENDS[end])
        for result in listed
        if (end := result.stages.get("discussion", "")) in _ENDS
    ]
    return Discussions(found, len(listed) - len(found))
