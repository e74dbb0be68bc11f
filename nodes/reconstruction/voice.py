"""Who answers the physician."""

from dataclasses import dataclass
from typing import Literal

from cases.case import Sex
from cases.vocabulary import Language

Kin = Literal["self", "son", "daughter", "child", "relative"]


@dataclass(frozen=True)
class Voice:
    """Who answers: the patient, or somebody of the family who speaks of the patient."""

    language: Language
    kin: Kin = "self"
    sex: Sex | None = None

    @property
    def itself(self) -> bool:
        """Whether the patient speaks."""
        return self.kin == "self"
