"""What kind of thing a doctor says, by its meaning: an order to move, a farewell, advice, small talk, or a question."""

from typing import Literal

from cases.vocabulary import Language
from nodes.offline.hearing import heard_tests
from nodes.offline.meaning import kind_label
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
    "remark": "inquiry",  # whoever only remarks something is asked what they mean
}


def kind_of(words: str, language: Language) -> Kind:
    """The kind of action."""
    return _KINDS[kind_label(words, language)]


def is_vague(words: str, language: Language) -> bool:
    """Whether a question is about nothing in particular."""
    return kind_label(words, language) in ("ambiguous", "remark")


def names_nothing(words: str, language: Language) -> bool:
    """Whether advice names neither an examination nor a treatment."""
    return kind_label(words, language) != "advice" and not (is_specific(words, language) or heard_tests(words))
