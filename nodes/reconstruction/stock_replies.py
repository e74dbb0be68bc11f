"""What the offline patient says where the note says nothing, and what is always answered: age and sex."""

import hashlib
import re
from functools import cache
from typing import Any

from cases.notes import Note
from cases.vocabulary import Language, data_file
from nodes.reconstruction.role_setting import RoleSetting
from nodes.reconstruction.voice import Voice
from prompts import load_words

_GROWN_UP = 18.0  # years
_UNITS = {"": "year", "岁": "year", "个月": "month", "周": "week", "天": "day"}


def answer_rules() -> dict[str, Any]:
    """Where the answer to each step of the plan is found."""
    return data_file("nodes.reconstruction", "offline_answers")


@cache
def empty_words() -> frozenset[str]:
    """English words that say nothing by themselves."""
    return frozenset(answer_rules()["empty"]["en"].split())


def told_age_and_sex(roles: RoleSetting, note: Note, language: Language) -> str:
    """How old the patient is, in words that only use what the note states."""
    words, years = load_words("reconstruction/words", language)["age_and_sex"], roles.age_years
    if years is None:
        return ""
    kind = {("female", True): "girl", ("male", True): "boy", ("female", False): "woman", ("male", False): "man"}
    person = kind.get((roles.sex or "", years < _GROWN_UP), "child" if years < _GROWN_UP else "adult")
    said = {
        "subject": words["patient"] if roles.speaker == "self" else words["subject"][person],
        "sex": words["person"].get(person, ""),
    }
    stated = re.search(r"(\d+\+?)(?:[- ]*)(year|month|week|day|hour|岁|个月|周|天|(?=\s*y/?o))", note.text)
    if stated:
        unit = _UNITS.get(stated[2], stated[2])
        said |= {"count": stated[1], "one": words["one"][unit]}
        said["unit"] = words["one" if stated[1] == "1" else "many"][unit]
    if not (stated or said["sex"]):
        return ""
    form = "both" if stated and said["sex"] else "age" if stated else "sex"
    return re.sub(r"\ba (?=8|11-|18-)", "an ", words[form].format(**said))


def not_in_the_note(name: str, rule: dict[str, Any], note: Note, voice: Voice) -> str:
    """No, or not sure, as it fits the question (CliniChat, Figure 6)."""
    words = load_words("reconstruction/words", voice.language)
    if name == "reason":
        return str(words["look_over" if voice.itself else "look_over_family"])
    if own := words["say"].get(name):
        return str(own[_place(name, note) % len(own)])
    return pick(rule.get("unknown", "no"), name, note, voice)


def pick(kind: str, place: str, note: Note, voice: Voice) -> str:
    """One of several ways to say it, always the same at the same place of the same note."""
    ways: list[str] = load_words("reconstruction/words", voice.language)[kind]
    return ways[_place(place, note) % len(ways)]


def _place(name: str, note: Note) -> int:
    """A number that is always the same for a place in the interview of a note."""
    return int(hashlib.sha256(f"{note.id}/{name}".encode()).hexdigest(), 16)
