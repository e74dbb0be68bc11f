"""Pairwise comparison of consultations by a judge: in both orders, with disagreement a tie, or in one random order.

There are two views with five aspects each (AIE, sections 2.4 and 4.4.3): the doctor's and the patient's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, NamedTuple

from cases.strict import Strict
from cases.vocabulary import Language
from llm import UNANSWERED, ModelSettings, Role, ask
from scoring.aie.pairwise_rules import Consultation, PairView, Preference, doctor_rule, patient_rule

Outcome = Literal["one", "other", "tie"]


class Preferences(Strict):
    """Which of two consultations is better, aspect by aspect."""


class DoctorPreferences(Preferences):
    """As a doctor sees it."""

    inquiry: Preference
    logic: Preference
    diagnosis: Preference
    patient: Preference
    total: Preference


class PatientPreferences(Preferences):
    """As a patient sees it."""

    effective: Preference
    clear: Preference
    understand: Preference
    empathy: Preference
    total: Preference


doctor_view = Role(
    "doctor_view_judge",
    "evaluation",
    "judges/doctor_view",
    DoctorPreferences,
    offline=lambda view: DoctorPreferences(**doctor_rule(view)),
)
patient_view = Role(
    "patient_view_judge",
    "evaluation",
    "judges/patient_view",
    PatientPreferences,
    offline=lambda view: PatientPreferences(**patient_rule(view)),
)
View = Literal["doctor", "patient"]
ROLES: dict[View, str] = {"doctor": doctor_view.name, "patient": patient_view.name}  # names in the model map
ASPECTS: dict[View, tuple[str, ...]] = {
    "doctor": tuple(DoctorPreferences.model_fields),
    "patient": tuple(PatientPreferences.model_fields),
}


@dataclass(frozen=True)
class Duel:
    """One pair, asked in one or both orders; without answers if a judge failed, with the reason."""

    straight: dict[str, Preference]  # answers with ``one`` shown first; empty if not asked
    swapped: dict[str, Preference]  # answers with ``other`` shown first; empty if not asked
    longer: Outcome  # the consultation with more characters
    failure: str | None = None  # why there are no answers

    def outcome(self, aspect: str) -> Outcome | None:
        """Return who is better; a tie also if the two orders disagree; None (missing) if the judge failed."""
        if self.failure is not None:
            return None
        asked = ((_STRAIGHT, self.straight), (_SWAPPED, self.swapped))
        outcomes = {means[given[aspect]] for means, given in asked if given}
        return outcomes.pop() if len(outcomes) == 1 else "tie"


_STRAIGHT: dict[Preference, Outcome] = {"first": "one", "second": "other", "tie": "tie"}
_SWAPPED: dict[Preference, Outcome] = {"first": "other", "second": "one", "tie": "tie"}


async def compare(
    view: View,
    one: Consultation,
    other: Consultation,
    settings: ModelSettings,
    *,
    language: Language,
    record: str = "",
    answer: str = "",
    place: str = "",
    once: bool = False,
) -> Duel:
    """Have a judge compare two consultations of one case from one view.

    Only the doctor's view sees the record and the right diagnosis. ``once``: in one order only, drawn from the two
    texts, as published.
    """
    longer: Outcome = "tie"
    if len(one.text) != len(other.text):
        longer = "one" if len(one.text) > len(other.text) else "other"
    role: Role[Any] = doctor_view if view == "doctor" else patient_view
    answers: dict[str, dict[str, Preference]] = {"straight": {}, "swapped": {}}
    orders = {"straight": (one, other), "swapped": (other, one)}
    drawn = Random(f"{one.text}\n{other.text}").choice(list(orders))
    for order, (first, second) in orders.items():
        if once and order != drawn:
            continue
        shown = PairView(record, answer, first, second)
        where = "/".join(filter(None, (place, order)))
        try:
            answers[order] = (await ask(role, shown, settings, language=language, place=where)).model_dump()
        except UNANSWERED as error:
            return Duel({}, {}, longer, f"{error.reason}: {error}")
    return Duel(answers["straight"], answers["swapped"], longer)


class Tally(NamedTuple):
    """The duels won, lost and tied by ``one``, and those without an answer."""

    won: int
    lost: int
    tied: int
    missing: int


def tally(duels: Iterable[Duel], aspect: str) -> Tally:
    """Count the outcomes of one aspect, from the side of ``one``."""
    outcomes = [duel.outcome(aspect) for duel in duels]
    return Tally(outcomes.count("one"), outcomes.count("other"), outcomes.count("tie"), outcomes.count(None))


class Bias(NamedTuple):
    """How often an irrelevant property wins: 0.5 is unbiased; p of a two-sided binomial test; None if n is 0."""

    share: float | None
    n: int
    p: float | None


def position_bias(duels: Iterable[Duel], aspect: str) -> Bias:
    """Return the share of the judge's answers, without ties, that favour the consultation shown first."""
    answers = [
        given[aspect] for duel in duels if duel.failure is None for given in (duel.straight, duel.swapped) if given
    ]
    return _bias([answer == "first" for answer in answers if answer != "tie"])


def length_bias(duels: Iterable[Duel], aspect: str) -> Bias:
    """Return the share of decided duels won by the longer consultation, which may be longer for being better."""
    decided = [(duel.outcome(aspect), duel.longer) for duel in duels]
    return _bias([winner == longer for winner, longer in decided if winner not in (None, "tie") and longer != "tie"])


def _bias(flags: Sequence[bool]) -> Bias:
    if not flags:
        return Bias(None, 0, None)
    from scipy.stats import binomtest

    return Bias(sum(flags) / len(flags), len(flags), float(binomtest(sum(flags), len(flags)).pvalue))
