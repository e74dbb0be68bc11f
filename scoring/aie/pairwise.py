"""Pairwise comparison of consultations by a judge: in both orders, with disagreement a tie, or in one random order.

There are two views with five aspects each (AIE, sections 2.4 and 4.4.3): the doctor's and the patient's.
The offline rules only count, for testing pipelines.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, NamedTuple

from cases.strict import Strict
from cases.text.jargon import jargon_in
from cases.text.words import language_of
from cases.vocabulary import Language
from llm import UNANSWERED, ModelSettings, Role, ask
from prompts import said
from scoring.aie.letters import chosen_letter
from scoring.aie.transcripts import ADVICE, AieTranscript, AieTurn
from scoring.metrics.comparison import permutation_p
from scoring.metrics.content import stated
from scoring.metrics.diagnosis_grade import name_agreement
from scoring.metrics.samples import Sample, by_case, mean, share
from scoring.metrics.stated_share import stated_share
from scoring.metrics.text_overlap import levenshtein_ratio, words

Preference = Literal["first", "second", "tie"]

_BRIEF = 60  # words, or Chinese characters
_EMPATHY = re.compile(
    r"\b(?:sorry|understand|worr|don't worry|please|thank|comfort|must be hard|take care)"
    r"|理解|别担心|不要担心|放心|请|谢谢|抱歉|辛苦|保重",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Consultation:
    """A consultation as a judge reads it, with its turns and its diagnosis."""

    text: str
    turns: Sequence[AieTurn]
    diagnosis: str

    @classmethod
    def of(cls, transcript: AieTranscript, language: Language) -> "Consultation":
        """Make a consultation of an AIE transcript; its diagnosis is the text of the chosen option, or the words."""
        lines = []
        for turn in transcript.history:
            lines.append(said("doctor", turn.doctor, language))
            if turn.patient:
                lines.append(said("patient", turn.patient, language))
        words_chosen = transcript.diagnosis or ""
        option = chosen_letter(words_chosen, transcript.options) or ""
        return cls("\n".join(lines), transcript.history, transcript.options.get(option) or words_chosen)


@dataclass(frozen=True)
class PairView:
    """What a judge sees: two consultations and, for the doctor's view, the record and the right diagnosis."""

    record: str
    answer: str
    first: Consultation
    second: Consultation


class DoctorPreferences(Strict):
    """As a doctor sees it."""

    inquiry: Preference
    logic: Preference
    diagnosis: Preference
    patient: Preference
    total: Preference


class PatientPreferences(Strict):
    """As a patient sees it."""

    effective: Preference
    clear: Preference
    understand: Preference
    empathy: Preference
    total: Preference


_Measure = Callable[[Consultation], float]


def doctor_rule(view: PairView) -> DoctorPreferences:
    """Prefer the higher value of each aspect.

    Inquiry: how much of the record the patient's replies state; logic: similarity of their order to the record's;
    diagnosis: agreement of the names; patient: kind words per turn; total: the majority of these. Without a record,
    both dialogues together are the record.
    """
    record = view.record.strip() or f"{_told(view.first)}\n{_told(view.second)}"
    order = _order(record)
    aspects: Mapping[str, _Measure] = {
        "inquiry": lambda side: stated_share(_told(side), record),
        "logic": lambda side: levenshtein_ratio(_order(_told(side)), order),
        "diagnosis": lambda side: name_agreement(side.diagnosis, view.answer),
        "patient": _kindness,
    }
    return DoctorPreferences(**_preferences(view, aspects))


def patient_rule(view: PairView) -> PatientPreferences:
    """Prefer the higher value of each aspect.

    Effective: turns of advice; clear: share of brief turns without jargon; understand: share of turns with questions;
    empathy: kind words per turn; total: the majority of these.
    """
    aspects: Mapping[str, _Measure] = {
        "effective": lambda side: sum(turn.state in ADVICE for turn in side.turns),
        "clear": lambda side: share(map(_is_clear, side.turns)),
        "understand": lambda side: share("?" in turn.doctor or "？" in turn.doctor for turn in side.turns),
        "empathy": _kindness,
    }
    return PatientPreferences(**_preferences(view, aspects))


def _preferences(view: PairView, aspects: Mapping[str, _Measure]) -> dict[str, Preference]:
    """Return which side each measure prefers, and in total the majority."""
    preferences = {name: _higher(measure(view.first), measure(view.second)) for name, measure in aspects.items()}
    given = list(preferences.values())
    return {**preferences, "total": _higher(given.count("first"), given.count("second"))}


def _higher(first: float, second: float) -> Preference:
    return "tie" if first == second else "first" if first > second else "second"


def _told(side: Consultation) -> str:
    return "\n".join(turn.patient or "" for turn in side.turns)


def _kindness(side: Consultation) -> float:
    return mean([float(len(_EMPATHY.findall(turn.doctor))) for turn in side.turns]) or 0.0


def _order(text: str) -> list[str]:
    return [f"{mention.negated} {mention.word}" for mention in stated(text)]


def _is_clear(turn: AieTurn) -> bool:
    return 0 < len(words(turn.doctor)) <= _BRIEF and not jargon_in(turn.doctor, language_of(turn.doctor))


doctor_view = Role("doctor_view_judge", "evaluation", "judges/doctor_view", DoctorPreferences, offline=doctor_rule)
patient_view = Role("patient_view_judge", "evaluation", "judges/patient_view", PatientPreferences, offline=patient_rule)
View = Literal["doctor", "patient"]
Outcome = Literal["one", "other", "tie"]
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
    longer = _STRAIGHT[_higher(len(one.text), len(other.text))]
    role: Role[Any] = doctor_view if view == "doctor" else patient_view
    orders = {"straight": (one, other), "swapped": (other, one)}
    if once:
        texts = sorted((one.text, other.text))  # whichever of them is called one, the same is shown first
        drawn = "straight" if Random("\n".join(texts)).choice(texts) == one.text else "swapped"
        orders = {drawn: orders[drawn]}
    answers: dict[str, dict[str, Preference]] = {}
    for order, shown in orders.items():
        view_of_pair, where = PairView(record, answer, *shown), "/".join(filter(None, (place, order)))
        try:
            answers[order] = (await ask(role, view_of_pair, settings, language=language, place=where)).model_dump()
        except UNANSWERED as error:
            return Duel({}, {}, longer, f"{error.reason}: {error}")
    return Duel(answers.get("straight", {}), answers.get("swapped", {}), longer)


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
    """How often an irrelevant property wins, of n: 0.5 is unbiased; two-sided p; None where undefined."""

    share: float | None
    n: int
    p: float | None


def position_bias(duels: Iterable[Duel], aspect: str) -> Bias:
    """Return the share of the judge's answers, without ties, that favour the consultation shown first.

    p: binomial test. A judge without this bias answers each question independently of where the consultations stand.
    """
    answers = [
        given[aspect] for duel in duels if duel.failure is None for given in (duel.straight, duel.swapped) if given
    ]
    flags = [answer == "first" for answer in answers if answer != "tie"]
    if not flags:
        return Bias(None, 0, None)
    from scipy.stats import binomtest

    return Bias(sum(flags) / len(flags), len(flags), float(binomtest(sum(flags), len(flags)).pvalue))


def length_bias(duels: Iterable[tuple[str, Duel]], aspect: str) -> Bias:
    """Return the share of decided duels won by the longer consultation, which may be longer for being better.

    The duels are given with their cases. p: permutation test over cases, as the duels of a case, of several epochs or
    pairs, are often won for the same reason.
    """
    decided = [(case, duel.outcome(aspect), duel.longer) for case, duel in duels]
    flags = [
        Sample(case, float(winner == longer))
        for case, winner, longer in decided
        if winner not in (None, "tie") and longer != "tie"
    ]
    excess = [sum(2 * flag - 1 for flag in flags_of_case) for flags_of_case in by_case(flags).values()]
    return Bias(mean([flag for _, flag in flags]), len(flags), permutation_p(excess))
