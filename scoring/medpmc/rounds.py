"""Med-PMC: which kind of information a consultation gathers when (Med-PMC, section 5.2 and figure 4)."""

from collections.abc import Iterable
from typing import NamedTuple

from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.recall import Recall, recall
from scoring.metrics.samples import mean


class Gathered(NamedTuple):
    """What the doctors know after a round: mean shares in [0, 1] over the cases that have that kind of information."""

    round: int
    general: float | None
    examination: float | None
    image: float | None


def information_by_round(cases: Iterable[MedPmcTranscript], measure: Recall | None = None) -> list[Gathered]:
    """The share of each kind of information known after each round; it never falls (with ROUGE-1).

    General and examination: recall of the patient's history and of the examination text in all that the patient said so
    far; image: the share of the case's images shown so far. A consultation that has ended keeps what it knows, so that
    every round has the same cases (the published curves average over those still going on).

    Args:
        cases: with their consultations.
        measure: the recall of texts; ROUGE-1 if None.
    """
    measure = measure or recall("rouge1")
    curves = [_curve(case, measure) for case in cases]
    rounds = max(map(len, curves), default=0)
    table = []
    for number in range(rounds):
        now = [curve[min(number, len(curve) - 1)] for curve in curves if curve]
        kinds = [mean([value for value in column if value is not None]) for column in zip(*now, strict=True)]
        table.append(Gathered(number + 1, *kinds))
    return table


def _curve(case: MedPmcTranscript, measure: Recall) -> list[tuple[float | None, float | None, float | None]]:
    general = " ".join([case.patient_information, case.chief_complaint, case.present_illness, case.past_history])
    curve: list[tuple[float | None, float | None, float | None]] = []
    told, seen = "", set[str]()
    for turn in case.turns_before_end:
        told = f"{told} {turn.told}".strip()
        seen |= set(turn.images) & case.images.keys()
        recalls = [
            measure([(reference, told)])[0] if reference.strip() else None for reference in (general, case.examinations)
        ]
        curve.append(
            (recalls[0], recalls[1], len(seen) / len(case.images) if case.images and not case.withheld else None)
        )
    return curve
