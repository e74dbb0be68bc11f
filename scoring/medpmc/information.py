"""What doctors know after each round of a consultation (Med-PMC, Figure 4a)."""

from collections.abc import Iterable
from typing import NamedTuple

from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.recall import Recall, recall
from scoring.metrics.samples import mean

Shares = tuple[float | None, float | None, float | None]  # of general, examination and image information


class Gathered(NamedTuple):
    """What the doctors know after a round: mean shares in [0, 1] over the cases that have that kind of information."""

    round: int
    general: float | None
    examination: float | None
    image: float | None


def information_by_round(cases: Iterable[MedPmcTranscript]) -> list[Gathered]:
    """Return the share of each kind of information known after each round, by ROUGE-1; it never falls.

    General and examination: recall of the patient's history and of the examination text in everything that the patient
    said so far; image: the share of the case's images shown so far. A consultation that has ended keeps its values, so
    that every round covers the same cases (the published curves average over consultations still running).
    """
    by_round = zip(*(curve for _, curve in curves(cases)), strict=True)
    return [Gathered(number, *map(mean, zip(*shares, strict=True))) for number, shares in enumerate(by_round, start=1)]


def curves(cases: Iterable[MedPmcTranscript]) -> list[tuple[str, list[Shares]]]:
    """Return the shares known after each round by consultation; shorter ones are extended to the longest."""
    measure = recall("rouge1")
    found = [(case.case, curve) for case in cases if (curve := _curve(case, measure))]
    rounds = max((len(curve) for _, curve in found), default=0)
    return [(name, [*curve, *[curve[-1]] * (rounds - len(curve))]) for name, curve in found]


def _curve(case: MedPmcTranscript, measure: Recall) -> list[Shares]:
    general = " ".join(case.tellable)
    curve: list[Shares] = []
    replies, shown = "", set[str]()

    def recalled(reference: str) -> float | None:
        return measure([(reference, replies)])[0] if reference.strip() else None

    for turn in case.turns_before_end:
        replies = f"{replies} {turn.told}".strip()
        shown |= set(turn.images) & case.images.keys()
        seen = len(shown) / len(case.images) if case.images and not case.withheld else None
        curve.append((recalled(general), recalled(case.examinations), seen))
    return curve
