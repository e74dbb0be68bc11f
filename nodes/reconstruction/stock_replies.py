"""What the offline patient says where the note says nothing, and what is always answered: age and sex."""

import hashlib
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from cases.notes import Note
from cases.vocabulary import Language
from nodes.reconstruction.role_setting import RoleSetting
from nodes.reconstruction.voice import Voice

_GROWN_UP = 18.0  # years


@cache
def answer_rules() -> dict[str, Any]:
    """Where the answer to each step of the plan is found."""
    return tomllib.loads((files("nodes.reconstruction") / "offline_answers.toml").read_text("utf-8"))


@cache
def empty_words() -> frozenset[str]:
    """English words that say nothing by themselves."""
    return frozenset(answer_rules()["empty"]["en"].split())


def told_age_and_sex(roles: RoleSetting, note: Note, language: Language) -> str:
    """How old the patient is, in words that only use what the note states."""
    years, own = roles.age_years, roles.speaker == "self"
    if years is None:
        return ""
    stated = re.search(r"(\d+\+?)(?:[- ]*)(year|month|week|day|hour|岁|个月|周|天|(?=\s*y/?o))", note.text)
    if language == "zh":
        subject, sex = (
            ("我" if own else "孩子" if (years or 0) < 18 else "家人"),
            {"female": "女", "male": "男"}.get(roles.sex or "", ""),
        )
        age = f"{stated[1]}{stated[2]}" if stated and years is not None else ""
        return f"{subject}{age}{'，' if age and sex else ''}{sex}{'性' if sex else ''}。"
    young, female = (99.0 if years is None else years) < _GROWN_UP, roles.sex == "female"
    sex = "" if roles.sex is None else ("girl" if female else "boy") if young else ("woman" if female else "man")
    she = "I am" if own else {"female": "She is", "male": "He is"}.get(roles.sex or "", "My child is")
    if not (stated and years is not None):
        return f"{she} a {sex}." if sex else ""
    age = (
        f"{stated[1]}-{stated[2] or 'year'}-old"
        if sex
        else f"{stated[1]} {stated[2] or 'year'}{'' if stated[1] == '1' else 's'} old"
    )
    article = ("an " if re.match(r"8|11-|18-", age) else "a ") if sex else ""
    return f"{she} {article}{age}{' ' if sex else ''}{sex}."


def not_in_the_note(name: str, rule: dict[str, Any], note: Note, voice: Voice) -> str:
    """No, or not sure, as it fits the question (CliniChat, Figure 6)."""
    if name == "reason":
        family = "" if voice.itself else "family_"
        words: str = answer_rules()["unknown"][f"look_over_{family}{voice.language}"]
        return words
    if own := rule.get(f"say_{voice.language}"):
        return str(own[_place(name, note) % len(own)])
    return pick(rule.get("unknown", "no"), name, note, voice)


def pick(kind: str, place: str, note: Note, voice: Voice) -> str:
    """One of several ways to say it, always the same at the same place of the same note."""
    ways: list[str] = answer_rules()["unknown"][f"{kind}_{voice.language}"]
    return ways[_place(place, note) % len(ways)]


def _place(name: str, note: Note) -> int:
    """A number that is always the same for a place in the interview of a note."""
    return int(hashlib.sha256(f"{note.id}/{name}".encode()).hexdigest(), 16)
