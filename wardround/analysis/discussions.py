"""How the discussions of our own runs ended, as input for :mod:`scoring.mvme.consensus`."""

from collections.abc import Iterable, Mapping

from scoring.mvme.consensus import Discussion, End
from wardround.store.run_directory import Result

NO_DISCUSSION = "no case had a discussion (graph dispute_resolution with two interns or more)"
_ENDS: Mapping[str, End] = {"agreed": "agreed", "rounds_used_up": "gave_up"}


def discussions_of(results: Iterable[Result]) -> list[Discussion]:
    """Return the finished discussions; a case with one doctor has none, nor one that never reached it."""
    return [
        Discussion(result.rounds["discussion"], _ENDS[end])
        for result in results
        if (end := result.stages.get("discussion", "")) in _ENDS
    ]
