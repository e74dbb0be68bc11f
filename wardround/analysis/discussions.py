"""How the discussions of our own runs ended, as :mod:`scoring.mvme.consensus` counts them."""

from collections.abc import Iterable, Mapping

from scoring.mvme.consensus import Discussion, End
from wardround.store.run_directory import Result

_ENDS: Mapping[str, End] = {"agreed": "agreed", "rounds_used_up": "gave_up"}


def discussions_of(results: Iterable[Result]) -> list[Discussion]:
    """The discussions that came to an end; a case has none where one doctor is alone, or it never came to it."""
    return [
        Discussion(result.rounds["discussion"], _ENDS[end])
        for result in results
        if (end := result.stages.get("discussion", "")) in _ENDS
    ]
