"""What a suite is: the scores that one finished case can have, and how they are computed."""

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, Self, TypeVar

from cases import Case
from cases.registry import Registry
from cases.validation import in_a_line, line_in
from llm import UNANSWERED, AskError, ModelSettings
from scoring.metrics.statistics import Ends

# What a course can come to, and a suite can need: the stages' decisions, a report, a dialogue, the actions by which
# a patient took the doctor's words, and a dialogue that was written from a note.
Part = Literal["decisions", "report", "dialogue", "actions", "patient", "reconstruction"]
MetricFunction = Callable[..., float | Awaitable[float | None] | None]  # of case and answers, and settings if it asks

AVERAGE, OWN_AVERAGE = "average", "average_with_own"
SETTINGS = "settings"  # what a metric that asks a judge calls its third argument
METRIC_FAILED = "metric failed"  # how the reason opens why an own metric has no value
NO_SCORE = 1e100  # from here on, up or down, nothing is a score; nor are nan and infinity
JUDGE_FAILED = "judge failed"  # how the reason opens why a score is missing that an answer was given for


T = TypeVar("T")


async def side_by_side(judging: Iterable[Awaitable[T]]) -> list[T]:
    """What each gives, all asked at once; the first error is raised when all are done, as what is asked is paid."""
    given: list[T] = []
    for one in await asyncio.gather(*judging, return_exceptions=True):
        if isinstance(one, BaseException):
            raise one
        given.append(one)
    return given


@dataclass(frozen=True)
class CaseScores:
    """The scores of one case by name; what has none is None and says why."""

    values: Mapping[str, float | None]
    unscored: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def none_of(cls, names: Iterable[str], why: str | AskError) -> Self:
        """No score of any name, for one reason: in words, or because a judge failed."""
        names = list(names)
        reason = why if isinstance(why, str) else f"{JUDGE_FAILED}: {why.reason}: {why}"
        return cls(dict.fromkeys(names), dict.fromkeys(names, reason))


@dataclass(frozen=True, eq=False)
class Metric:
    """A column beside those that a suite's paper has.

    Attributes:
        name: of the score in results and summaries.
        function: from a case and its answers to a value, None if the case has none; of one that asks a judge, a third
            argument `settings` is what `ask` takes: the run's model map, limits and trace.
        averaged: whether it counts in the suite's second average; the published one never has it.
    """

    name: str
    function: MetricFunction
    averaged: bool = False

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name.replace("_", " ").capitalize()

    @property
    def asks(self) -> bool:
        """Whether it may ask a judge."""
        try:
            return SETTINGS in inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # not of everything that can be called is known what it takes
            return False

    async def score(self, case: Case, answers: Any, settings: ModelSettings) -> float | str:
        """The value for one case, or the reason why it has none: somebody's metric never costs a case.

        Raises:
            AskError: a limit was reached, or the judge's server takes no question.
        """
        try:
            given = copy.deepcopy((case, answers))  # what it changes there is its own affair
            value = self.function(*given, **({SETTINGS: settings} if self.asks else {}))
            if inspect.isawaitable(value):
                value = await value
            if value is None:
                return "the metric gives this case no value"
            if not isinstance(value, Real) or not abs(value) < NO_SCORE:
                return f"{METRIC_FAILED}: it gave {value!r:.80}; expected a finite number or None"
            return float(value)
        except UNANSWERED as error:
            return f"{JUDGE_FAILED}: {error.reason}: {error}"
        except AskError:
            raise
        except (Exception, SystemExit) as error:  # of a stranger's code
            return f"{METRIC_FAILED}: {type(error).__name__}: {in_a_line(error)}{line_in(error, self.function)}"


@dataclass(frozen=True, eq=False)
class Suite:
    """A named set of scores over one kind of answers: a paper's columns, and metrics that others add.

    Attributes:
        name: as an experiment and `wardround score` know it.
        published: the titles of the paper's columns by score name, in the order of the table.
        scored_by: scores these columns for the answers of one case; judges are asked through the settings' models.
        needs: what a course must have come to; that tells which graphs the suite can score.
        averaged: whether the mean of the published columns means anything: they are all on [0, 1].
        stages: the columns through which errors carry over, in order; none if the columns are no stages.
        ends: the least and the most that a published column can be, but for those of `neither`.
        neither: columns of which neither more nor less is better.
        judged: the published columns that a judge decides.
        without_reference: the published columns that a case's key has nothing for, with the reason; so a case that
            failed counts as wrong only where it could have been right.
        means: averages of some published columns that the paper prints, by name: the title, and the columns.
        notes: what a reader of the table must know, such as the range of the scores.
        metrics: the columns that were added, by name.
    """

    name: str
    published: Mapping[str, str]
    scored_by: Callable[[Case, Any, ModelSettings], Awaitable[CaseScores]]
    needs: frozenset[Part]
    averaged: bool = False
    stages: tuple[str, ...] = ()
    ends: Ends | None = None
    neither: Collection[str] = ()
    judged: Collection[str] = ()
    without_reference: Callable[[Case], Mapping[str, str]] = lambda case: {}
    means: Mapping[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    notes: str = ""
    metrics: Registry[Metric] = field(default_factory=lambda: Registry("metric"), repr=False)

    @property
    def asks(self) -> bool:
        """Whether judges are asked."""
        return bool(self.judged) or any(metric.asks for metric in self.metrics.values())

    @property
    def columns(self) -> dict[str, str]:
        """The titles of what each case is scored by: the published columns, then what was added."""
        return {**self.published, **{metric.name: metric.title for metric in self.metrics.values()}}

    def ends_of(self, name: str) -> Ends | None:
        """The least and the most that a score or an average can be, if known."""
        return self.ends if name in (*self.published, *self.means, AVERAGE) and name not in self.neither else None

    @property
    def averages(self) -> dict[str, tuple[str, list[str]]]:
        """The averages by name: their titles, and the columns that they are the mean of."""
        means = {name: (title, list(columns)) for name, (title, columns) in self.means.items()}
        if not self.averaged:
            return means
        found = means | {AVERAGE: ("Average", list(self.published))}
        if own := [metric.name for metric in self.metrics.values() if metric.averaged]:
            found[OWN_AVERAGE] = (f"Average with {', '.join(own)}", [*self.published, *own])
        return found

    @property
    def titles(self) -> dict[str, str]:
        """The titles of all that a table shows: the published columns with their averages, then what was added."""
        averages = {name: title for name, (title, _) in self.averages.items()}
        published: dict[str, str] = {}
        for column, title in self.published.items():
            published[column] = title
            published |= {name: mean for name, (mean, columns) in self.means.items() if columns[-1] == column}
        published |= {name: averages[name] for name in (AVERAGE,) if name in averages}
        return {**published, **self.columns, **averages}

    async def score(self, case: Case, answers: Any, settings: ModelSettings) -> CaseScores:
        """Every column of one case; a metric that was added and fails is unscored, with the reason."""
        found = await self.scored_by(case, answers, settings)
        values, unscored = dict(found.values), dict(found.unscored)
        own = await side_by_side(metric.score(case, answers, settings) for metric in self.metrics.values())
        for name, value in zip(self.metrics, own, strict=True):
            values[name] = None if isinstance(value, str) else value
            if isinstance(value, str):
                unscored[name] = value
        return CaseScores(values, unscored)
