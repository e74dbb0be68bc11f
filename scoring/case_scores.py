"""What a suite is: the scores that one finished case can have, and how they are computed."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cases import Case
from llm import ModelSettings


@dataclass(frozen=True)
class CaseScores:
    """The scores of one case by name; what has none is None and says why."""

    values: dict[str, float | None]
    unscored: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A named set of scores over one kind of answers.

    Attributes:
        name: as `wardround score` knows it.
        columns: the titles by score name, in the order of the table.
        score: scores the answers of one case; judges are asked through the settings' models.
        averaged: whether the mean of the columns means anything: they are all on [0, 1].
        notes: what a reader of the table must know, such as the range of the scores.
    """

    name: str
    columns: Mapping[str, str]
    score: Callable[[Case, Any, ModelSettings], Awaitable[CaseScores]]
    averaged: bool = False
    notes: str = ""
