"""A panel of judges: one question to several models, their verdicts and their agreement."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

from cases.vocabulary import Language
from llm import ModelSettings, Role, ask
from llm.role import Answer
from scoring.asking import ask_each
from scoring.metrics.agreement import Level, alpha
from scoring.metrics.samples import mean


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


def _seats(judges: Sequence[str]) -> dict[str, str]:
    counts: Counter[str] = Counter()
    seats = {}
    for spec in judges:
        counts[spec] += 1
        seats[spec if counts[spec] == 1 else f"{spec} #{counts[spec]}"] = spec
    return seats
