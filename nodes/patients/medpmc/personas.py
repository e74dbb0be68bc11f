"""Med-PMC's personas: who the patient is played as, and the offline manner of speaking."""

import hashlib
import re
from typing import Literal, get_args

from cases.case import Sex
from cases.strict import Strict
from cases.text.words import rules_of
from cases.vocabulary import Language, data_file
from prompts import load_words, mark

Profession = Literal["farmer", "student", "worker", "office_worker", "doctor"]
_TURNS = 2  # in a row with one manner
PROFESSIONS: tuple[Profession, ...] = get_args(Profession)


class Persona(Strict):
    """One of the ten personas: a gender (None if it is not on record) and a profession."""

    sex: Sex | None
    profession: Profession

    def in_manner(self, plain: str, language: Language, turn: int = 0) -> str:
        """Return the plain words unchanged, with a phrase in the persona's manner before or after them.

        To vary the answers, turns alternate between an opening and a closing phrase, and every two turns have another
        of the persona's manners. A question gets no closing phrase.
        """
        manners = load_words("medpmc/words", language)["manner"][self.profession][self.sex or "female"]
        before, after = manners[turn // _TURNS % len(manners)]
        is_first = turn % _TURNS == 0
        before, after = (before, "") if is_first else ("", after)
        after = "" if plain.endswith(("?", "？")) else after
        joint: str = mark("space", language)
        return joint.join(part for part in (before, plain, after) if part)


PERSONAS = 2 * len(PROFESSIONS)


def drawn(case_id: str, seed: int | None) -> Persona:
    """Draw a persona by case and seed; ten consecutive seeds, as the epochs of a run have, draw all ten."""
    first = int.from_bytes(hashlib.sha256(case_id.encode()).digest()[:4], "big")
    place = (first + (seed or 0)) % PERSONAS
    return Persona(sex=get_args(Sex)[place % 2], profession=PROFESSIONS[place // 2])


def profession_of(occupation: str, language: Language) -> Profession:
    """Return the profession nearest to an occupation; "worker" if none is near or none is recorded."""
    start = "" if language == "zh" else r"(?<![a-z])"
    for entry in data_file("nodes.patients.medpmc", "personas")["profession"]:
        if re.search(f"{start}(?:{entry[rules_of(language)]})", occupation, re.IGNORECASE):
            found: Profession = entry["name"]
            return found
    return "worker"
