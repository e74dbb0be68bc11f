"""Rules that compare a dialogue with single clauses of its note: yes/no answers, relatives and sides of the body.

They cover English dialogues that are worded freely; `verbatim` covers those that keep the note's own words.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.jargon import in_lay_words
from cases.text.note_sections import read_sections
from cases.text.sentences import last_sentence
from cases.text.statements import statements
from cases.text.words import stem
from cases.vocabulary import data_file, patterns
from nodes.reconstruction.content import Finding, Rule, Told, content_words, denies, is_english, only_where

_PATTERNS = patterns("nodes.reconstruction", "contradictions")
_KIN, _OF_YOU, _OF_ONESELF = (
    patterns("nodes.reconstruction", "particulars")[name] for name in ("kin", "of_you", "of_oneself")
)
_OF_CHILD = patterns("nodes.reconstruction", "verbatim")["of_child"]
_SAME_KIN = data_file("nodes.reconstruction", "contradictions")["same_kin"]
_DENIAL, _NO_SIDE = (patterns("nodes.reconstruction", "content")[name] for name in ("denial", "no_side"))
SHORT_NO, SHORT_YES = 6, 7  # maximum words of a bare no or yes; a longer reply says more
MOST_ASKED, MOST_CONFIRMED = 3, 7  # maximum content words of a question, or of a request to confirm
CONFIRMED, NEVER = 0.8, 2.0  # the share of them that a clause must contain; over 1: none can
ASKED_BEFORE = 4  # turns back to the question before the last
MEANT, OF_ITS_WORDS, MOST_OF_THEM = 2, 0.3, 0.5  # words shared with a clause; minimum share from MEANT on, and below


class Clause(NamedTuple):
    """A clause of the note: its content words, also in everyday words; whether it denies, or concerns relatives."""

    stems: frozenset[str]
    denies: bool
    kin: bool
    text: str


@cache
def _stems(name: str) -> frozenset[str]:
    """Return the stems of a word list."""
    return frozenset(map(stem, data_file("nodes.reconstruction", "contradictions")[name].split()))


def other_answer(told: Told) -> Iterator[Finding]:
    """Report a no to what the note affirms, or a yes to what it denies."""
    for number, said, reply in told.replied:
        asked, no, yes = last_sentence(said), denies(reply), says_yes(reply)
        if not (no or yes):
            continue
        if len(reply.split()) > (SHORT_NO if no else SHORT_YES) or (no and _PATTERNS["hedges"].search(reply)):
            continue
        things = list(_things_asked(asked))
        if any(_says_opposite(told, number, stems, no) for stems, _ in things):
            continue
        clauses = [one for one in clauses_of(told.dialogue.note) if one.kin == _mentions_kin(asked)]
        matching = [[one for one in clauses if len(stems & one.stems) >= share * len(stems)] for stems, share in things]
        # A no denies all the things asked about, a yes affirms at least one of them.
        contradicted = [group for group in matching if group and {one.denies for one in group} == {yes}]
        if contradicted and (no or len(contradicted) == len(matching)):
            yield f"{asked!r}, {reply!r}: the note has {contradicted[0][0].text!r}", number


def says_yes(reply: str) -> bool:
    """Return whether a reply begins with a yes, in whatever words, that it does not take back."""
    return _PATTERNS["says_yes"].match(reply) is not None


def _says_opposite(told: Told, number: int, stems: frozenset[str], no: bool) -> bool:
    """Return whether the patient says the opposite elsewhere, so that this answer is about another time."""
    return any(
        role == PATIENT and at != number and (_DENIAL.search(text) is None) is no and stems <= content_of(text)
        for at, role, text in told.statements
    )


def _things_asked(question: str) -> Iterator[tuple[frozenset[str], float]]:
    """Yield each thing that a yes/no question asks about, with the share of its words that a clause must contain."""
    bare = _PATTERNS["confirms"].sub("", question)
    confirms, found = bare != question, _PATTERNS["whether"].search(bare)
    asked = bare if confirms else found[1] if found else ""
    if found and not confirms and _PATTERNS["openly"].search(bare[: found.start()]):
        return
    if question[-1:] != "?" or any(_PATTERNS[name].search(question) for name in ("of_another_time", "denying")):
        return
    for part in _PATTERNS["between"].split(asked):
        if stems := content_of(part):
            most, share = (MOST_CONFIRMED, CONFIRMED) if confirms and len(stems) > 2 else (MOST_ASKED, 1.0)
            yield stems, NEVER if len(stems) > most or (len(stems) == 1 and stems <= _stems("general")) else share


def of_a_relative(told: Told) -> Iterator[Finding]:
    """Report statements about a relative that nobody asked about.

    The note tells the same of the patient, or has no such relative. Dialogues in which a relative speaks for the
    patient are skipped.
    """
    heard = " ".join(message.content for message in told.dialogue.spoken if message.role == PHYSICIAN)
    if len(_PATTERNS["he_or_she"].findall(heard)) > len(_OF_YOU.findall(heard)) or _OF_CHILD.search(heard):
        return
    for number, role, sentence in told.statements:
        asked_for = number > 1 and _mentions_kin(told.dialogue.spoken[number - 2].content)
        if role != PATIENT or asked_for:
            continue
        if own := _own_clause(told.dialogue.note, sentence):
            yield f"{sentence!r}: the note has {own!r}", number
        elif (other := _PATTERNS["begins_with_another"].search(sentence)) and _is_unknown_relative(told, number, other):
            yield f"{sentence!r}: nobody asked about the {other[1]}, whom the note does not mention", number


def _own_clause(note: str, sentence: str) -> str | None:
    """Return the clause of the note that tells of the patient what a sentence tells of a relative, or None."""
    if not (found := _PATTERNS["of_a_relative"].search(sentence)):
        return None
    content = content_of(sentence[found.end() :])
    nearest = max(clauses_of(note), key=lambda one: (len(one.stems & content), one.kin), default=None)
    shared = len(nearest.stems & content) if nearest and not nearest.kin else 0
    matches = shared >= (OF_ITS_WORDS if shared >= MEANT else MOST_OF_THEM) * len(content)
    return nearest.text if nearest and shared and matches else None


def _is_unknown_relative(told: Told, number: int, other: re.Match[str]) -> bool:
    """Return whether a relative of whom more than daily life is told is neither in the note nor in a question."""
    in_note = re.search(_SAME_KIN.get(other[1].casefold(), other[1]), told.dialogue.note, re.IGNORECASE)
    asked_before = number > ASKED_BEFORE and _mentions_kin(told.dialogue.spoken[number - ASKED_BEFORE].content)
    rest = other.string[other.end() :]
    of_kin = {word for one in clauses_of(told.dialogue.note) if one.kin for word in one.stems}
    told_of = in_note or asked_before or content_of(rest) & of_kin or _OF_ONESELF.search(rest)
    return not (told_of or _PATTERNS["of_daily_life"].search(rest))


def other_side_of_a_part(told: Told) -> Iterator[Finding]:
    """Report a body part with a side if the note has only its other side."""
    note = _sides_of_parts(told.note)
    for number, sentence in told.asserted:
        for part, sides in _sides_of_parts(sentence).items():
            if part in note and not sides <= note[part]:
                yield f"{sentence!r}: the note has the {', '.join(sorted(note[part]))} {part}", number


def _sides_of_parts(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for side, part in _PATTERNS["sided"].findall(_NO_SIDE.sub(" ", text.casefold().replace("handed", "handedness"))):
        one = found.setdefault("foot" if part == "feet" else part, set())
        one |= {side} if side in ("left", "right") else {"left", "right"}
    return found


def _mentions_kin(text: str) -> bool:
    return _KIN.search(text) is not None


@lru_cache(maxsize=8)
def clauses_of(note: str) -> list[Clause]:
    """Return the clauses of a note."""
    family = " ".join(read_sections(note, "en").get("family_history", ()))
    return [
        Clause(
            content_of(f"{text}. {in_lay_words(text, 'en')}"),
            _DENIAL.search(text) is not None,
            _mentions_kin(statement) or text in family,
            text,
        )
        for statement in statements(note)
        for text in _PATTERNS["clause_end"].split(_PATTERNS["non"].sub(r"not \1ing", statement))
    ]


def content_of(text: str) -> frozenset[str]:
    """Return the stems of a text's content words that are the matter of a question or a clause."""
    return frozenset(one for one in content_words(text, "en") - _stems("beside") if not one.isdigit())


RULES: Mapping[str, Rule] = {
    "answers_of_the_note": only_where(is_english, other_answer),
    "own_history": only_where(is_english, of_a_relative),
    "sides_of_the_note": only_where(is_english, other_side_of_a_part),
}
