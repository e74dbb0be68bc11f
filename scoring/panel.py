"""A panel of judges: one question about many items or to several models, their verdicts and their agreement."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
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
    rated = [votes for votes in rated if len(votes) > 1]
    values = {value for votes in rated for value in votes.values()}
    if len(values) < 2:
        return None
    if level is None:
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        level = "interval" if numbers else "nominal"
    from nltk.metrics import binary_distance, interval_distance
    from nltk.metrics.agreement import AnnotationTask

    answers = [(seat, item, value) for item, votes in enumerate(rated) for seat, value in votes.items()]
    distance = binary_distance if level == "nominal" else interval_distance
    return float(AnnotationTask(answers, distance=distance).alpha())


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
