"""Role setting: who speaks for the patient, and how the two are addressed (CliniChat, section 3.2 and Figure 6).

Adults who can speak answer themselves; the family answers for children and for those who cannot give a history. The
rules of conduct are in the prompts.
"""

import re
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from cases.case import Sex
from cases.notes import Note
from cases.strict import Strict
from cases.text.demographics import demographics
from cases.vocabulary import Language, patterns
from nodes.context import Context
from nodes.node import node
from nodes.reconstruction.voice import ANSWERS_FROM, Kin, Voice, cannot_speak, child_of, whose

_PATTERNS = patterns("nodes.reconstruction", "patterns")


class RoleSetting(Strict):
    """Who answers the physician."""

    speaker: Kin = "self"
    sex: Sex | None = None
    age_years: float | None = None

    def voice(self, language: Language) -> Voice:
        """Return how the speaker talks about the patient."""
        return Voice(language, self.speaker, self.sex)


class NoteState(TypedDict, total=False):
    """The note only."""

    note: Note


def roles_of(note: Note) -> RoleSetting:
    """Infer from the note who speaks."""
    sections = note.sections
    person = " ".join(sections.get("person", ()))
    # The family history may state a relative's age.
    about = " ".join(line for name, lines in sections.items() if name != "family_history" for line in lines)
    stated = demographics(person, brief=True) if person else demographics(about)
    sex = stated.sex or _sex_of_most_pronouns(note.text.partition("\nFamily history")[0])
    if (stated.age_years is not None and stated.age_years < ANSWERS_FROM) or (
        stated.age_years is None and _PATTERNS["child"].search(about)
    ):
        kin = child_of(sex)
    else:
        complaint = " ".join(sections.get("chief_complaint", ()))
        kin = "relative" if cannot_speak(about) else whose(complaint, False, sex, note.language)
    return RoleSetting(speaker=kin, sex=sex, age_years=stated.age_years)


@node
async def set_roles(state: NoteState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Infer from the note who speaks; no model calls."""
    return {"roles": roles_of(state["note"])}


def _sex_of_most_pronouns(text: str) -> Sex | None:
    """Return the sex of more pronouns than are of the other, None if they are as many."""
    female = len(re.findall(r"\b(?:she|her|herself)\b|女", text, re.IGNORECASE))
    male = len(re.findall(r"\b(?:he|his|him|himself)\b|男", text, re.IGNORECASE))
    return None if female == male else "female" if female > male else "male"
