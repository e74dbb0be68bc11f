"""The small grammar that turns "she takes" into "I take"; ``@I`` and ``@my`` mark the patient until `settled`."""

import re
from functools import cache
from typing import Any

from cases.vocabulary import data_file, patterns
from nodes.reconstruction.voice import Voice

SPEECH: dict[str, Any] = data_file("nodes.reconstruction", "lay_speech")
PATTERNS = patterns("nodes.reconstruction", "lay_speech")


@cache
def rewritings(step: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the replacements of a step, in order."""
    return tuple((re.compile(one["from"].replace("\n", "")), one["say"]) for one in SPEECH["rewrite"][step])


def rewritten(text: str, *steps: str) -> str:
    """Apply the replacements of several steps, one after the other."""
    for step in steps:
        for old, new in rewritings(step):
            text = old.sub(new, text)
    return text


def with_marks(text: str, section: str, voice: Voice) -> str:
    """Mark the patient's pronouns; those after a relative of the same sex in the sentence stay the relative's."""
    if not voice.itself:
        return text
    for sex in [voice.sex] if voice.sex else ["female", "male"]:
        kin = PATTERNS[f"kin_{sex}"].search(text)
        end = kin.start() if kin else len(text)
        if section == "family_history":
            text = PATTERNS[f"kin_of_{sex}"].sub("@my", text)
            if not kin and not PATTERNS["told_of_oneself"].match(text):
                end = 0
        text = rewritten(text[:end], sex, "object") + text[end:]
    return text


def settled(text: str, voice: Voice) -> str:
    """Replace the marks by words: "I" with its verbs, or the relative who is spoken of."""
    if not voice.itself:
        name = f"my {voice.kin}"
        pronoun = {"son": "he", "daughter": "she"}.get(
            voice.kin, {"female": "she", "male": "he"}.get(voice.sex or "", name)
        )
        their = {"he": "his", "she": "her"}.get(pronoun, f"{name}'s")
        text = re.sub(r"@I['’]s", f"{name}'s", rewritten(text, "third_person"))
        text = re.sub(r"@I", name, text, count=1)
        return re.sub(r"@my", their, re.sub(r"@I", pronoun, text))
    text = re.sub(r"@I['’]s", "my", text)
    text = PATTERNS["own_verb"].sub(lambda m: f"I {m[1]}{_first_person(m[2])}", text)
    text = re.sub(r"(?<=of )@my(?! \w)", "mine", text)
    text = text.replace("@I", "I").replace("@my", "my")
    return PATTERNS["joined_verb"].sub(lambda m: m[1] + (_of_i(m) if _belongs_to_i(m) else m[2]), text)


def _of_i(joined: re.Match[str]) -> str:
    """Return the joined verb in the first person, with "I" again if a "not" before it would cover it too.

    "Does not smoke and brushes" affirms the second verb by its ending, which "do not smoke and brush" has lost.
    """
    before, first_person = joined.string[: joined.start()], _first_person(joined[2])
    covered = (
        joined[1] == " and "
        and PATTERNS["not_joined"].search(before)
        and not PATTERNS["stands_alone"].fullmatch(first_person)
    )
    return f"{'I ' if covered else ''}{first_person}"


def _belongs_to_i(joined: re.Match[str]) -> bool:
    """Return whether the word joined by "and" is a verb of "I": no plural noun, and no other subject between.

    A clause within the sentence ("when I dry my face, then ...") ends at a comma. A plural noun is followed by a
    preposition, a conjunction or a verb; an ambiguous word is a noun after "no", "of" and the like.
    """
    before, after = joined.string[: joined.start()], joined.string[joined.end() :]
    clause_end = (before + joined[1]).rfind(",")
    subjects = [each for each in PATTERNS["subject"].finditer(before) if not (each[1] and each.end() <= clause_end)]
    if not subjects or subjects[-1][2] != "I":
        return False
    if joined[2] in SPEECH["human"]["verbs"].split():
        return True
    if PATTERNS["verb_after"].match(after):
        return False  # "and exercises from a leaflet did not help"
    ambiguous_verb = joined[2] in SPEECH["human"]["verbs_or_things"].split() and not PATTERNS["things"].search(before)
    return ambiguous_verb or PATTERNS["may_follow_plural"].match(after) is None


def _first_person(verb: str) -> str:
    lower = verb.casefold()
    if lower in SPEECH["first_person"]:
        return str(SPEECH["first_person"][lower])
    if not lower.endswith("s") or lower.endswith(("ss", "us", "as")) or len(lower) < 4:
        return verb
    if lower.endswith("ies"):
        return verb[:-3] + "y"
    return verb[:-2] if lower.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else verb[:-1]


def lowered(text: str) -> str:
    """Lower-case the first letter, unless the word is "I", an abbreviation or a name (Crohn's)."""
    first = text.split(" ")[0] if text else ""
    kept = not text or sum(map(str.isupper, first)) > 1 or first == "I" or PATTERNS["name"].fullmatch(first)
    return text if kept else text[0].lower() + text[1:]
