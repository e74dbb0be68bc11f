"""Who answers the physician, and the data file of how charts are turned into speech."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

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


@cache
def speech_data() -> dict[str, Any]:
    """The rules of ``lay_speech.toml``."""
    return tomllib.loads((files("nodes.reconstruction") / "lay_speech.toml").read_text("utf-8"))
