"""A panel of judges: one question about many items or to several models, their verdicts and their agreement."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import anyio

from cases.vocabulary import Language
from llm import UNANSWERED, ModelSettings, Role, ask
from llm.role import Answer
from scoring.metrics.samples import mean

AT_ONCE = 8  # questions in flight

Item = TypeVar("Item")
Found = TypeVar("Found")


class Asked(NamedTuple, Generic[Item, Found]):
    """The answers by item, in the order of the items, and the reasons why other items have none."""

    answers: list[tuple[Item, Found]]
    failures: list[tuple[Item, str]]


async def ask_each(items: Sequence[Item], question: Callable[[Item], Awaitable[Found]]) -> Asked[Item, Found]:
    """Ask one question about each item, eight at a time; if it is not answered, only this item fails.

    Raises:
        Exception: any other error of the first question that failed.
    """
    answers: dict[int, Found] = {}
    failures: dict[int, str] = {}
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def ask_one(place: int) -> None:
        async with limit:
            try:
                answers[place] = await question(items[place])
            except UNANSWERED as error:
                failures[place] = f"{error.reason}: {error}"

    try:
        async with anyio.create_task_group() as group:
            for place in range(len(items)):
                group.start_soon(ask_one, place)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return Asked(
        [(items[place], answers[place]) for place in sorted(answers)],
        [(items[place], failures[place]) for place in sorted(failures)],
    )


Level = Literal["nominal", "interval"]


@dataclass(frozen=True)
class Verdict(Generic[Answer]):
    """The answer of each judge by seat, and the reasons of those without one.

    A seat is named by its model; a repeated model is ``model #2``.
    """

    answers: dict[str, Answer]
    failures: dict[str, str]

    def votes(self, field: str) -> dict[str, Any]:
        """Return each judge's value of one field of the answer, without judges who left it empty."""
        votes = {seat: getattr(answer, field) for seat, answer in self.answers.items()}
        return {seat: vote for seat, vote in votes.items() if vote is not None}

    def mean(self, field: str) -> float | None:
        """Return the mean over the judges that answered; None (missing) if none did."""
        return mean([float(vote) for vote in self.votes(field).values()])

    def majority(self, field: str) -> Any | None:
        """Return the value given by most judges; None (missing) if there is none, or a tie."""
        leading = Counter(self.votes(field).values()).most_common(2)
        tied = len(leading) == 2 and leading[0][1] == leading[1][1]
        return leading[0][0] if leading and not tied else None


async def ask_panel(
    role: Role[Answer],
    view: Any,
    judges: Sequence[str],
    settings: ModelSettings,
    *,
    language: Language,
    place: str = "",
) -> Verdict[Answer]:
    """Put one role's question to several models at once.

    A judge that cannot be reached or gives no valid answer is a failure with its reason, never a score; the others
    count. Each judge is a model spec or ``offline``. The calls are recorded like any other, with the seat.

    Raises:
        ModelSpecError: a spec is misspelt, or its package or key is missing.
    """
    seats = _seats(judges)
    for judge in seats.values():
        settings.key_of(judge, judges)  # checks that no key would go to two servers

    async def sit(seat: str) -> Answer:
        models = {**settings.models, f"{role.stage}.{role.name}": seats[seat]}
        fields = {name: getattr(settings, name) for name in ModelSettings.model_fields}
        seated = ModelSettings.model_validate({**fields, "models": models})
        return await ask(role, view, seated, language=language, place="/".join(filter(None, (place, seat))))

    answers, failures = await ask_each(list(seats), sit)
    return Verdict(dict(answers), dict(failures))


def agreement(verdicts: Sequence[Verdict[Any]], field: str, level: Level | None = None) -> float | None:
    """Return Krippendorff's alpha of the judges over the judged cases; see :func:`alpha`."""
    return alpha([verdict.votes(field) for verdict in verdicts], level)


def alpha(rated: Sequence[Mapping[str, Any]], level: Level | None = None) -> float | None:
    """Return Krippendorff's alpha: 1 is agreement, 0 chance, below 0 worse than chance.

    ``1 - observed disagreement / disagreement expected by chance``, of one mapping per item, from judge or person to
    answer; missing answers are allowed. Unless given, the level is ``interval`` for numbers, ``nominal`` for words and
    booleans. None if undefined: no item has two answers, or all answers are equal. Source: Krippendorff 2011.
    """
    return alpha_of_drawn([[votes] for votes in rated], level)(range(len(rated)))


def alpha_of_drawn(
    groups: Sequence[Sequence[Mapping[str, Any]]], level: Level | None = None
) -> Callable[[Sequence[int]], float | None]:
    """Return a function from places of groups of items, each as often as it is drawn, to the alpha of all their items.

    What an item adds is computed once, so that hundreds of draws of thousands of items take seconds.
    """
    shared = [[[*votes.values()] for votes in group if len(votes) > 1] for group in groups]
    values = list(dict.fromkeys(value for group in shared for answers in group for value in answers))
    if len(values) < 2:
        return lambda _: None
    import numpy as np

    if level is None:
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        level = "interval" if numbers else "nominal"
    # The squared distance of two vectors is that of the answers, but for a factor: for any two words the same.
    middle = round(fmean(values)) if level == "interval" else 0  # whole numbers stay whole, and so exact
    vectors = np.array([[value - middle] for value in values], float) if level == "interval" else np.eye(len(values))
    number = {value: place for place, value in enumerate(values)}
    sums = np.zeros((len(groups), 3 + vectors.shape[1]))  # answers, disagreement, squares, and the vectors themselves
    ends = np.array([[len(values), -1]] * len(groups))  # lowest and highest number of an answer
    for place, group in enumerate(shared):
        for answers in group:
            numbers_of = [number[value] for value in answers]
            of_item, count = vectors[numbers_of], len(answers)
            squares, whole = (of_item**2).sum(), of_item.sum(axis=0)
            apart = (count * squares - (whole**2).sum()) / (count * (count - 1))
            sums[place] += [count, apart * count, squares, *whole]
            ends[place] = min(ends[place][0], *numbers_of), max(ends[place][1], *numbers_of)

    def alpha_of(places: Sequence[int]) -> float | None:
        times = np.bincount(places, minlength=len(groups))
        if ends[times > 0, 0].min() >= ends[times > 0, 1].max():  # all answers are equal, or there are none
            return None
        count, observed, squares, *whole = times @ sums
        expected = (count * squares - np.square(whole).sum()) / (count * (count - 1))
        return float(1 - observed / count / expected)

    return alpha_of


def cohen_kappa(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Return Cohen's kappa of two raters of the same items: 1 is agreement, 0 chance, below 0 worse than chance.

    ``(observed - chance) / (1 - chance)``, with chance from how often each rater gives each answer. None if undefined:
    no pairs, or both raters gave one answer throughout. Source: Cohen 1960.
    """
    if not pairs:
        return None
    one, other = (Counter(side) for side in zip(*pairs, strict=True))
    chance = sum(one[value] * other[value] for value in one) / len(pairs) ** 2
    observed = sum(first == second for first, second in pairs) / len(pairs)
    return None if chance == 1 else (observed - chance) / (1 - chance)


def _seats(judges: Sequence[str]) -> dict[str, str]:
    counts: Counter[str] = Counter()
    seats = {}
    for spec in judges:
        counts[spec] += 1
        seats[spec if counts[spec] == 1 else f"{spec} #{counts[spec]}"] = spec
    return seats
