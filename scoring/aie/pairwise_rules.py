"""What the two pairwise judges see, and their offline rules, which only count, for testing pipelines."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cases.text.jargon import jargon_in
from cases.text.words import language_of
from cases.vocabulary import Language
from prompts import speaker
from scoring.aie.transcripts import ADVICE, AieTranscript, AieTurn
from scoring.metrics.claims import stated, stated_share
from scoring.metrics.diagnosis_grade import name_agreement
from scoring.metrics.samples import mean
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
        """Make a consultation of an AIE transcript; its diagnosis is the text of the chosen option."""
        doctor, patient = speaker("doctor", language), speaker("patient", language)
        lines = [
            doctor + turn.doctor + (f"\n{patient}{turn.patient}" if turn.patient else "") for turn in transcript.history
        ]
        chosen = transcript.diagnosis or ""
        return cls("\n".join(lines), transcript.history, transcript.options.get(chosen) or chosen)


@dataclass(frozen=True)
class PairView:
    """What a judge sees: two consultations and, for the doctor's view, the record and the right diagnosis."""

    record: str
    answer: str
    first: Consultation
    second: Consultation


def doctor_rule(view: PairView) -> dict[str, Preference]:
    """Prefer the higher value of each aspect.

    Inquiry: how much of the record the patient's replies state; logic: similarity of their order to the record's;
    diagnosis: agreement of the names; patient: kind words per turn; total: the majority of these. Without a record,
    both dialogues together are the record.
    """
    texts = ["\n".join(turn.patient or "" for turn in side.turns) for side in (view.first, view.second)]
    record = view.record.strip() or "\n".join(texts)
    orders, order = [_order(text) for text in texts], _order(record)
    preferences = {
        "inquiry": _higher(*(stated_share(text, record) for text in texts)),
        "logic": _higher(*(levenshtein_ratio(each, order) for each in orders)),
        "diagnosis": _higher(*(name_agreement(side.diagnosis, view.answer) for side in (view.first, view.second))),
        "patient": _higher(_kindness(view.first), _kindness(view.second)),
    }
    return {**preferences, "total": _most(preferences)}


def patient_rule(view: PairView) -> dict[str, Preference]:
    """Prefer the higher value of each aspect.

    Effective: turns of advice; clear: share of brief turns without jargon; understand: share of turns with questions;
    empathy: kind words per turn; total: the majority of these.
    """
    preferences = {
        "effective": _higher(*(sum(turn.state in ADVICE for turn in side.turns) for side in (view.first, view.second))),
        "clear": _higher(*(mean(_clear(side)) or 0.0 for side in (view.first, view.second))),
        "understand": _higher(*(mean(_asks(side)) or 0.0 for side in (view.first, view.second))),
        "empathy": _higher(_kindness(view.first), _kindness(view.second)),
    }
    return {**preferences, "total": _most(preferences)}


def _higher(first: float, second: float) -> Preference:
    return "tie" if first == second else "first" if first > second else "second"


def _most(preferences: Mapping[str, Preference]) -> Preference:
    given = list(preferences.values())
    return _higher(given.count("first"), given.count("second"))


def _kindness(side: Consultation) -> float:
    return mean([float(len(_EMPATHY.findall(turn.doctor))) for turn in side.turns]) or 0.0


def _order(text: str) -> list[str]:
    return [f"{mention.negated} {mention.word}" for mention in stated(text)]


def _clear(side: Consultation) -> list[float]:
    return [
        float(len(words(turn.doctor)) <= _BRIEF and not jargon_in(turn.doctor, language_of(turn.doctor)))
        for turn in side.turns
    ]


def _asks(side: Consultation) -> list[float]:
    return [float("?" in turn.doctor or "？" in turn.doctor) for turn in side.turns]
