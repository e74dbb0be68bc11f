"""Suites: the scores that a finished case can have, and how they are computed."""

import asyncio
import copy
import inspect
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, Self

from cases import Case
from cases.registry import GivenError, Registry, signature_of
from cases.validation import in_a_line, line_in, nearest
from llm import UNANSWERED, AskError, ModelSettings, Role, side_by_side
from llm.ask import may_ask
from llm.errors import CacheError
from llm.masking import masked
from llm.role import is_judging
from llm.scopes import holding
from llm.trace import TraceError
from llm.tracing import enclosing_config
from scoring.metrics.statistics import Ends

# What a run can produce and a suite can need: the stages' decisions, a report, a dialogue, the actions by which the
# patient classified the doctor's words, the patient's replies, and a dialogue reconstructed from a note.
Part = Literal["decisions", "report", "dialogue", "actions", "patient", "reconstruction"]
MetricFunction = Callable[..., float | Awaitable[float | None] | None]  # of case and answers, optionally also settings

AVERAGE, OWN_AVERAGE = "average", "average_with_own"
SETTINGS = "settings"  # the third argument of a metric that asks a judge
METRIC_FAILED = "metric failed"  # prefix of the reason why a custom metric has no value
NO_SCORE = 1e100  # values from here on, positive or negative, are no scores, nor are nan and infinity
NO_KEY = "no reference in the answer key"
NO_VALUE = "the suite gave no value for this case"
JUDGE_FAILED = "judge failed"  # prefix of the reason why an answer has no score


def judge_failed(error: AskError) -> str:
    """Return the reason of an answer without a score, given the error of its judge."""
    return f"{JUDGE_FAILED}: {error.reason}: {error}"


def _check_judge(role: Role[Any]) -> None:
    """Refuse a role of another stage, which only the doctors' default model could answer; graphs ask what they ask."""
    if not (is_judging(role.stage) or enclosing_config()):
        raise GivenError(f"role {role.name!r} judges at the stage {role.stage!r}; declare it at 'evaluation'")


def ends_more_than_a_case(error: BaseException) -> bool:
    """Whether an error of other people's code must be passed on: Ctrl-C, or somebody cancels the running task.

    A `CancelledError` that code raises by itself, or gets from a task of its own, cancels nothing of ours.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


@dataclass(frozen=True)
class CaseScores:
    """The scores of one case by name; a missing score is None, and ``unscored`` says why."""

    values: Mapping[str, float | None]
    unscored: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def none_of(cls, names: Iterable[str], why: str | AskError) -> Self:
        """Leave all names unscored for one reason: a text, or the error of a judge."""
        names = list(names)
        reason = why if isinstance(why, str) else judge_failed(why)
        return cls(dict.fromkeys(names), dict.fromkeys(names, reason))


def _finite(value: Any) -> float | None:
    """Return a metric's number, of whatever library, as a float; None if it is none, or too great for a mean."""
    if getattr(value, "ndim", None) == 0:  # a scalar of NumPy or PyTorch; NumPy's truth values are no Real
        value = value.item()
    try:  # as a float before it is compared: a number of NumPy may have no room for NO_SCORE
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return None
    return number if abs(number) < NO_SCORE else None


@dataclass(frozen=True, eq=False)
class Metric:
    """A column added to those of a suite's paper.

    Attributes:
        name: the score's name in results and summaries.
        function: returns the value for a case and its answers, or None if there is none. A metric that asks a judge has
            a third parameter `settings`, to be passed to `ask`: the run's model map, limits and trace.
        averaged: whether it counts in the suite's second average; never in the published one.
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
            return SETTINGS in signature_of(self.function).parameters
        except (TypeError, ValueError):  # some callables have no signature
            return False

    async def score(self, case: Case, answers: Any, settings: ModelSettings) -> float | str:
        """Return the value for one case, or the reason why it has none; a metric's errors never fail the case.

        Raises:
            AskError: a limit was reached, or the judge's server takes no question.
            TraceError, CacheError: the judge's answer cannot be written down, or not be kept.
        """
        try:
            given = copy.deepcopy((case, answers))  # so that a metric cannot change the originals
            value = self.function(*given, **({SETTINGS: settings} if self.asks else {}))
            if inspect.isawaitable(value):
                value = await value
            if value is None:
                return "the metric returned no value for this case"
            if (number := _finite(value)) is None:
                return f"{METRIC_FAILED}: it returned {value!r:.80}; expected a finite number or None"
            return number
        except UNANSWERED as error:
            return judge_failed(error)
        except (AskError, CacheError, TraceError):
            raise
        except BaseException as error:  # raised by custom code
            if ends_more_than_a_case(error):
                raise
            message = masked(in_a_line(error)) or "no reason given"
            return f"{METRIC_FAILED}: {type(error).__name__}: {message}{line_in(error, self.function)}"


@dataclass(frozen=True, eq=False)
class Suite:
    """A named set of scores for one kind of answers: the columns of a paper, and metrics added to them.

    Attributes:
        name: its name in experiments and `wardround score`.
        published: the titles of the paper's columns by score name, in the order of the table.
        scored_by: computes these columns for the answers of one case; judges are asked with the settings' models.
        needs: what a run must have produced, which decides which graphs the suite can score.
        averaged: whether the mean of the published columns is meaningful, all of them being in [0, 1].
        stages: the columns along which errors propagate, in order; empty if the columns are not stages.
        ends: the minimum and maximum of the published columns, except those in `neither`; by name, if they differ.
        neither: columns for which neither higher nor lower is better.
        lengths: columns in words, or in Chinese in characters.
        stands_in: columns that stand for another one (their value) in cases that lack it; tables of runs in which no
            case does leave them out, and test no difference of them.
        judged: the published columns that a judge decides.
        without_reference: returns the published columns for which a case's key has no reference, with the reason, so
            that a failed case counts as wrong only where it could have been right.
        means: averages of some published columns that the paper prints, by name: title and columns.
        notes: what a reader of the table must know, such as the range of the scores.
        parts: names of further scores of each case, of which the columns are sums and which have no column.
        metrics: the added columns by name.
    """

    name: str
    published: Mapping[str, str]
    scored_by: Callable[[Case, Any, ModelSettings], Awaitable[CaseScores]]
    needs: frozenset[Part]
    averaged: bool = False
    stages: tuple[str, ...] = ()
    ends: Ends | Mapping[str, Ends] | None = None
    neither: Collection[str] = ()
    lengths: Collection[str] = ()
    stands_in: Mapping[str, str] = field(default_factory=dict)
    judged: Collection[str] = ()
    without_reference: Callable[[Case], Mapping[str, str]] = lambda case: {}
    means: Mapping[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    notes: str = ""
    parts: Collection[str] = ()
    metrics: Registry[Metric] = field(default_factory=lambda: Registry("metric"), repr=False)

    @property
    def asks(self) -> bool:
        """Whether judges are asked."""
        return bool(self.judged) or any(metric.asks for metric in self.metrics.values())

    @property
    def columns(self) -> dict[str, str]:
        """The titles of the columns of each case: the published ones, then the added ones."""
        return {**self.published, **{metric.name: metric.title for metric in self.metrics.values()}}

    def ends_of(self, name: str) -> Ends | None:
        """Return the minimum and maximum of a score or average; None if unknown."""
        if isinstance(self.ends, Mapping):
            return self.ends.get(name)
        return self.ends if name in (*self.published, *self.means, AVERAGE) and name not in self.neither else None

    @property
    def averages(self) -> dict[str, tuple[str, list[str]]]:
        """The averages by name: their titles, and the columns averaged."""
        means = {name: (title, list(columns)) for name, (title, columns) in self.means.items()}
        if not self.averaged:
            return means
        found = means | {AVERAGE: ("Average", list(self.published))}
        if own := [metric.name for metric in self.metrics.values() if metric.averaged]:
            found[OWN_AVERAGE] = (f"Average with {', '.join(own)}", [*self.published, *own])
        return found

    @property
    def titles(self) -> dict[str, str]:
        """The titles of all columns of a table: the published ones with their averages, then the added ones."""
        averages = {name: title for name, (title, _) in self.averages.items()}
        published: dict[str, str] = {}
        for column, title in self.published.items():
            published[column] = title
            published |= {name: mean for name, (mean, columns) in self.means.items() if columns[-1] == column}
        published |= {name: averages[name] for name in (AVERAGE,) if name in averages}
        return {**published, **self.columns, **averages}

    @property
    def own_metrics(self) -> list[Metric]:
        """The metrics of plug-ins: those that no note names as ours."""
        return [metric for metric in self.metrics.values() if f"{metric.title} (ours)" not in self.notes]

    @property
    def of_unknown_direction(self) -> list[str]:
        """The metrics of plug-ins of which lower may be better: those that no average counts."""
        return [metric.name for metric in self.own_metrics if not metric.averaged]

    @property
    def unranked(self) -> frozenset[str]:
        """The columns of which no value is called better than another."""
        return frozenset({*self.neither, *self.of_unknown_direction})

    @property
    def explained(self) -> list[str]:
        """What a reader of the table must know, a text each; added columns that no note names have their own units."""
        own = ", ".join(metric.title for metric in self.own_metrics)
        units = [f"Metrics of your own, in their own units: {own}."] if own else []
        return [self.notes, *units] if self.notes else []

    async def score(self, case: Case, answers: Any, settings: ModelSettings) -> CaseScores:
        """Compute all columns of one case; one without a value, as its judge or its metric failed, has the reason.

        Raises:
            GivenError: the suite's own function gave something else than scores, or one that its columns cannot have,
                or asked a role that is no judge.
        """
        scoring = self.scored_by(case, answers, settings)
        if not inspect.isawaitable(scoring):
            raise GivenError(f"suite {self.name!r}: expected a coroutine function (async def) in scored_by")
        adding = side_by_side(metric.score(case, answers, settings) for metric in self.metrics.values())
        judging: list[Awaitable[Any]] = [self._of_paper(scoring), adding]
        with holding(may_ask, _check_judge):
            found, own = await side_by_side(judging)
        self._check(found)
        values, unscored = dict(found.values), dict(found.unscored)
        for name in self.published:
            if values.setdefault(name) is None:
                unscored.setdefault(name, NO_VALUE)
        for name, value in zip(self.metrics, own, strict=True):
            values[name] = None if isinstance(value, str) else value
            if isinstance(value, str):
                unscored[name] = value
        return CaseScores(values, unscored)

    async def _of_paper(self, scoring: Awaitable[CaseScores]) -> CaseScores:
        try:
            return await scoring
        except UNANSWERED as error:
            return CaseScores.none_of(self.published, error)

    def _check(self, found: Any) -> None:
        if not isinstance(found, CaseScores):
            raise GivenError(f"suite {self.name!r}: expected CaseScores, found {found!r:.60}")
        if unknown := [name for name in found.values if name not in self.published and name not in self.parts]:
            known = [*self.published, *self.parts]
            raise GivenError(f"suite {self.name!r}: it has no column {unknown[0]!r}: {nearest(unknown[0], known)}")
        for name, value in found.values.items():
            low, high = self.ends_of(name) or (-NO_SCORE, NO_SCORE)
            room = 1e-9 * (high - low)  # for the rounding of means
            if value is not None and ((number := _finite(value)) is None or not low - room <= number <= high + room):
                raise GivenError(
                    f"suite {self.name!r}: {name} is {value!r:.60}; expected a number from {low:g} to {high:g}"
                )
