"""Whether what is said answers what was asked: by its form, and by the part of the note that it is from."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.note_sections import read_sections
from cases.text.numbers import stated_numbers
from cases.text.sentences import sentences
from cases.vocabulary import Language, data_file, patterns
from nodes.reconstruction.content import Finding, Rule, Told, affirms, content_words, denies

_WORDS = data_file("nodes.reconstruction", "answers")
_FITS = tuple(tuple(map(re.compile, pair)) for pair in _WORDS["fits"])
_PARTS = {part["name"]: (re.compile(part["asked"]), part["sections"]) for part in _WORDS["part"]}
_PATTERNS = patterns("nodes.reconstruction", "particulars")
ANSWER = 8  # words of an answer to oneself, at most
EVADED = 2  # replies that tell nothing, at least
OF_ANOTHER = 3  # words of an answer, at least, that only another part of the note has


def no_answer(told: Told) -> Iterator[Finding]:
    """The answer is to another question, stands in the physician's mouth, or is none most of the time."""
    for number, message in enumerate(told.dialogue.spoken, 1):
        if message.role == PHYSICIAN and (found := _answers_himself(told, message.content)) is not None:
            yield f"the physician answers himself: {found!r}", number
    replies = [message.content for message in told.dialogue.spoken if message.role == PATIENT]
    evaded = sum(_PATTERNS["evades"].search(reply) is not None for reply in replies)
    if evaded >= EVADED and 2 * evaded > len(replies):
        yield f"{evaded} of {len(replies)} replies tell nothing", None
    for number, (before, message) in enumerate(pairwise(told.dialogue.spoken), 2):
        if (before.role, message.role) != (PHYSICIAN, PATIENT):
            continue
        last = (sentences(before.content) or [""])[-1]
        open_ended = denies(message.content) or not stated_numbers(last, told.language)  # unlike "how old, eighty?"
        if open_ended and any(asked.search(last) and not fits.search(message.content) for asked, fits in _FITS):
            yield "the answer is to another question", number
        if _PATTERNS["yes_and_no"].search(message.content) and not _PATTERNS["denying_question"].search(last):
            yield "the answer says yes and that it is not so", number
        asks = message.content.rstrip().endswith(("?", "？")) and not _PATTERNS["of_oneself"].search(message.content)
        told_before = not last.endswith(("?", "？")) and not _PATTERNS["of_you"].search(before.content)
        if told_before and (
            _PATTERNS["takes_history"].search(message.content)
            or (asks and _PATTERNS["tells_history"].search(before.content))
        ):
            yield "the patient asks what the physician has answered", number
        elif (found := _of_other_section(told, last, message.content)) is not None:
            yield f"the answer tells of the {found}, and was not asked for it", number


def _answers_himself(told: Told, text: str) -> str | None:
    """What follows a question in the same turn: a yes or a no, or something short of the note that it did not ask."""
    note = content_words(told.note, told.language)
    for asked, other in pairwise(sentences(text)):
        if not asked.endswith(("?", "？")) or other.endswith(("?", "？")):
            continue
        said = content_words(other, told.language)
        new = said & note and not said & content_words(asked, told.language)
        if denies(other) or affirms(other) or (told.language == "en" and new and len(other.split()) <= ANSWER):
            return other
    return None


def _of_other_section(told: Told, question: str, answer: str) -> str | None:
    """The part of the note that an answer is from, if the question is for another part, of which it has no word.

    Without headings it is not sure of which part a sentence is.
    """
    asked = [name for name, (pattern, _) in _PARTS.items() if pattern.search(question)]
    own = _own_words(told.note, told.language)
    if not any(own[name] for name in asked) or not re.search("[:：]", told.dialogue.note):
        return None
    said = content_words(answer, told.language)
    shared = {name: len(said & words) for name, words in own.items()}
    most = max(shared, key=lambda name: shared[name])
    return most if shared[most] >= OF_ANOTHER and not any(shared[name] for name in asked) else None


@lru_cache(maxsize=8)
def _own_words(note: str, language: Language) -> Mapping[str, set[str]]:
    """The words of each part of the note that no other part has."""
    sections = read_sections(note, language)
    every = {
        name: content_words(" ".join(line for section in of for line in sections.get(section, ())), language)
        for name, (_, of) in _PARTS.items()
    }
    return {
        name: words - set[str]().union(*(others for other, others in every.items() if other != name))
        for name, words in every.items()
    }


RULES: Mapping[str, Rule] = {"answers_fit": no_answer}
