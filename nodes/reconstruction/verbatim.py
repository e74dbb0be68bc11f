"""A dialogue in its note's own words, held against it sentence by sentence.

Whoever takes the words from the note says in each sentence what one sentence of the note says: a word that is not
there, another side, another number, or a denial too many or too few is a change. Dialogues that people had, and those
that a model words freely, have other words throughout, of which no rule can tell what they mean: they are left to the
reader (``entailment``).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.jargon import in_lay_words
from cases.text.note_sections import read_sections
from cases.text.numbers import known_numbers, stated_numbers
from cases.text.sentences import sentences
from cases.text.words import stem, words
from cases.vocabulary import Language, data_file, patterns
from llm.repetition import texts_in
from llm.specs import OFFLINE
from nodes.reconstruction.content import Finding, Rule, Told, content_words
from prompts import load_words

_PATTERNS = patterns("nodes.reconstruction", "verbatim")
_NO_SIDE = patterns("nodes.reconstruction", "content")["no_side"]
_KIN, _HAD = (patterns("nodes.reconstruction", "particulars")[name] for name in ("kin", "had"))
_LISTS = data_file("nodes.reconstruction", "verbatim")["list"]
_BETWEEN = frozenset(_LISTS["between"])
_TOLD_BY_PHYSICIAN = {"physical_examination", "test_results"}
_TOLD_BY_PATIENT = {"person", "past_history", "medications", "allergies", "personal_history", "family_history"}
_SIDES = frozenset({"left", "right"})
LONG: Mapping[Language, int] = {"en": 4, "zh": 8}  # words (pairs of signs) that do not come together by chance
COPIED, SHARE = 3, 0.3  # long statements that stand in the note, at least, and their share of all long ones


@dataclass(frozen=True)
class _Part:
    """A sentence or clause: what it is about, and whether it denies (None: that is not sure)."""

    text: str
    language: Language
    after_denial: bool = False

    @cached_property
    def lay(self) -> str:
        """With its terms in everyday words."""
        return in_lay_words(self.text, self.language)

    @cached_property
    def said(self) -> frozenset[str]:
        return _matter(self.text, self.language)

    @cached_property
    def matter(self) -> frozenset[str]:
        """Of the note: with its terms in everyday words too."""
        return _matter(f"{self.text} {self.lay}", self.language)

    @cached_property
    def numbers(self) -> set[float]:
        return set(known_numbers(f"{self.text} {self.lay}"))

    @cached_property
    def denies(self) -> bool | None:
        found = {bool(_PATTERNS["denies"].search(text)) for text in (self.text, self.lay)}
        return None if len(found) > 1 or (found == {False} and self.after_denial) else found.pop()

    @cached_property
    def clauses(self) -> "list[_Part]":
        found, denied = [], False
        for text in _PATTERNS["clause"].split(self.text):
            found.append(_Part(text, self.language, after_denial=denied and self.language != "zh"))
            # What follows may be denied too; a Chinese clause says so itself.
            denied = denied or found[-1].denies is True
        return found


def changed(told: Told) -> Iterator[Finding]:
    """Of a dialogue in the note's own words, each sentence that no sentence of the note says."""
    note = [_Part(text, told.language) for text in sentences(told.dialogue.note)]
    clauses = [clause for sentence in note for clause in sentence.clauses]
    stated = [(number, part) for number, _, text in told.statements if (part := _Part(text, told.language)).said]
    meant = [[one for one in note if part.said <= one.matter] for _, part in stated]
    of_note = [
        bool(found) for (_, part), found in zip(stated, meant, strict=True) if len(part.said) >= LONG[told.language]
    ]
    by_rules = told.dialogue.models == [OFFLINE]  # who has no other words than the note's
    if not by_rules and sum(of_note) < max(COPIED, SHARE * len(of_note)):
        return
    for (number, part), found in zip(stated, meant, strict=True):
        if not found:
            nearest = max(note, key=lambda one: len(one.matter & part.said))
            new_words = ", ".join(sorted(part.said - nearest.matter))
            yield f"{part.text!r}: no sentence of the note says that with {new_words}", number
        elif new := min((stated_numbers(part.text, told.language).keys() - one.numbers for one in found), key=len):
            numbers = ", ".join(f"{value:g}" for value in sorted(new))
            yield f"{part.text!r}: the note does not say {numbers} there", number
        elif turned := next((one for one in part.clauses if _is_turned(one, clauses)), None):
            yield f"{turned.text.strip()!r}: the note has {found[0].text!r}", number


def by_the_other(told: Told) -> Iterator[Finding]:
    """A finding in the patient's mouth, a history in the physician's, a relative's illness as one's own.

    A sentence is known by its words: the note has them in that part alone. A physician who words freely sums up.
    """
    note = [
        (section, _Part(line, told.language))
        for section, lines in read_sections(told.dialogue.note, told.language).items()
        for line in lines
    ]
    by_rules = told.dialogue.models == [OFFLINE]
    of_child = any(
        message.role == PHYSICIAN and _PATTERNS["of_child"].search(message.content) for message in told.dialogue.spoken
    )
    for number, role, text in told.statements:
        part = _Part(text, told.language)
        found = [(section, one) for section, one in note if part.said and part.said <= one.matter]
        sections, long = {section for section, _ in found}, len(part.said) >= LONG[told.language]
        others = _TOLD_BY_PHYSICIAN if role == PATIENT else _TOLD_BY_PATIENT if by_rules else set[str]()
        if long and found and sections <= others:
            yield f"{text!r} is of {', '.join(sorted(sections))}, and the other tells that", number
        own = role == PATIENT and _HAD.search(text) and not _KIN.search(text) and not of_child
        if own and found and all(_KIN.search(one.text) for _, one in found):
            yield f"{text!r}: the note has {found[0][1].text!r}", number


def _is_turned(said: _Part, clauses: list[_Part]) -> bool:
    """Whether a clause denies what all clauses of the note with its words affirm, or affirms what they deny."""
    if said.denies is None or not said.said:
        return False
    found = [one.denies for one in clauses if said.said <= one.matter]
    return bool(found) and set(found) == {not said.denies}


def _matter(text: str, language: Language) -> frozenset[str]:
    """What a text is about, but for what everybody says in an interview.

    Stems, and sides with the word after them; of Chinese the pairs of signs.
    """
    if language == "zh":
        return frozenset(pair for pair in _pairs(text) - _stock(language) if _BETWEEN.isdisjoint(pair))
    text = _PATTERNS["owner"].sub("", text)
    own = {one for one in content_words(text, language) - _stock(language) - _SIDES if not one[0].isdigit()}
    row = [stem(word) for word in words(_NO_SIDE.sub(" ", text))]
    sides = {side for one, other in pairwise([*row, ""]) if one in _SIDES for side in (one, f"{one} {other}")}
    return frozenset(own | {side for side in sides if side in _SIDES or side.split()[-1] in own})


def _pairs(text: str) -> set[str]:
    runs = re.findall(r"[\u4e00-\u9fff]+", text)
    return {one + other for run in runs for one, other in pairwise(run)}


@cache
def _stock(language: Language) -> frozenset[str]:
    """What the offline interview says by itself, but for its questions."""
    said: list[Any] = [load_words(f"reconstruction/{name}", language) for name in ("words", "interview_plan")]
    speech = data_file("nodes.reconstruction", "lay_speech")
    # Chinese: where the patient's own words too are no words of the list of common ones.
    said.append(speech if language == "zh" else [f"{stock['say']}." for stock in speech["stock"]])
    stated = " ".join(text for part in texts_in(said) for text in sentences(part) if not text.endswith(("?", "？")))
    if language == "zh":
        return frozenset(_pairs(stated))
    return frozenset(content_words(stated, language)) | frozenset(map(stem, _LISTS["added"].split()))


RULES: Mapping[str, Rule] = {"sentences_of_the_note": changed, "told_by_who_knows": by_the_other}
