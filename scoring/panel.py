"""A panel of judges: the same question to several models, their verdict and their agreement."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal

from cases.vocabulary import Language
from llm import ModelSettings, Role, ask
from llm.role import Answer
from scoring.asking import ask_each

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
        votes = [float(vote) for vote in self.votes(field).values()]
        return sum(votes) / len(votes) if votes else None

    def majority(self, field: str) -> Any | None:
        """Return the value given by most judges; None (missing) if there is none, or a tie."""
        leading = Counter(self.votes(field).values()).most_common(2)
        if not leading or (len(leading) == 2 and leading[0][1] == leading[1][1]):
            return None
        return leading[0][0]


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

    ``1 - observed disagreement / disagreement expected by chance``; missing answers are allowed. None if undefined: no
    item has two answers, or all answers are equal. Source: Krippendorff 2011.

    Args:
        rated: the answers by judge or person, one mapping per item.
        level: the scale of the answers; by default ``interval`` for numbers, ``nominal`` for words and booleans.
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
