"""Who answers the physician: the patient, or a family member."""

from dataclasses import dataclass
from typing import Literal

from cases.case import Sex
from cases.text.words import rules_of
from cases.vocabulary import Language, patterns

Kin = Literal["self", "son", "daughter", "child", "relative"]
ANSWERS_FROM = 14.0  # years; the family speaks for a younger patient
_PATTERNS = patterns("nodes.reconstruction", "patterns")


@dataclass(frozen=True)
class Voice:
    """The speaker: the patient, or a family member who speaks about the patient."""

    language: Language
    kin: Kin = "self"
    sex: Sex | None = None

    @property
    def itself(self) -> bool:
        """Whether the patient speaks."""
        return self.kin == "self"


def whose(complaint: str, young: bool, sex: Sex | None, language: Language) -> Kin:
    """Return whose complaint it is: the speaker's own, or that of the child or relative that it names.

    If the patient is too ``young`` to tell it, another person does, unless it is told as "I".
    """
    another = _PATTERNS[f"of_another_{rules_of(language)}"].match(complaint)
    if another is None and not (young and not tells_of_oneself(complaint)):
        return "self"
    if young or (another is not None and _PATTERNS["is_child"].search(another[0])):
        return child_of(sex)
    return "relative"


def tells_of_oneself(complaint: str) -> bool:
    """Whether a complaint is told as "I"."""
    return _PATTERNS["tells_of_oneself"].search(complaint) is not None


def cannot_speak(told: str) -> bool:
    """Whether the patient cannot tell it: has no speech, or is not awake and nothing says that this is over."""
    asleep = _PATTERNS["not_awake"].search(_PATTERNS["always_awake"].sub("", told))
    stays_so = asleep and not _PATTERNS["awake_again"].search(told)
    return bool(stays_so or _PATTERNS["cannot_speak"].search(told))


def child_of(sex: Sex | None) -> Kin:
    """Return what a child is called by the family member who speaks for it."""
    return "son" if sex == "male" else "daughter" if sex == "female" else "child"
