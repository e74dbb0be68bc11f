"""The kind of action a doctor takes: inquiry, advice, demand (a move on the spot), other topic or conclusion."""

from typing import Literal

from cases.vocabulary import Language
from nodes.offline.hearing import heard_tests
from nodes.offline.kinds import kind_label
from nodes.offline.orders import is_specific

Kind = Literal["inquiry", "advice", "demand", "other_topic", "conclusion"]
_KINDS: dict[str, Kind] = {
    "inquiry": "inquiry",
    "ambiguous": "inquiry",
    "advice": "advice",
    "vague_advice": "advice",
    "demand": "demand",
    "other_topic": "other_topic",
    "conclusion": "conclusion",
    "remark": "inquiry",  # the patient asks what a mere remark means
}


def kind_of(words: str, language: Language) -> Kind:
    """Return the kind of action."""
    return _KINDS[kind_label(words, language)]


def is_vague(words: str, language: Language) -> bool:
    """Whether a question is about nothing in particular."""
    return kind_label(words, language) in ("ambiguous", "remark")


def names_nothing(words: str, language: Language) -> bool:
    """Whether advice names neither an examination nor a treatment."""
    return kind_label(words, language) != "advice" and not (is_specific(words, language) or heard_tests(words))
