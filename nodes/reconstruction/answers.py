"""Check by its form that each reply answers its question."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.numbers import stated_numbers
from cases.text.sentences import last_sentence, sentences
from cases.vocabulary import data_file, patterns
from nodes.reconstruction.parsed import Finding, ParsedDialogue, Rule, affirms, content_words, denies

_WORDS = data_file("nodes.reconstruction", "answers")
_FITS = tuple(tuple(map(re.compile, pair)) for pair in _WORDS["fits"])
_PATTERNS = patterns("nodes.reconstruction", "particulars")
ANSWER = 8  # maximum words of an answer to one's own question
EVADED = 2  # minimum of evasive replies


def no_answer(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report replies to another question, physicians who answer themselves, and patients who mostly evade or listen."""
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        if message.role == PHYSICIAN and (found := _self_answer(parsed, message.content)) is not None:
            yield f"the physician answers their own question: {found!r}", number
    replies = [message.content for message in parsed.dialogue.spoken if message.role == PATIENT]
    evasive = sum(map(evades, replies))
    if evasive >= EVADED and 2 * evasive > len(replies):
        yield f"{evasive} of {len(replies)} replies contain no answer", None
    to_questions = [reply for _, before, reply in parsed.replied if last_sentence(before).endswith(("?", "？"))]
    assents = sum(_PATTERNS["assents"].match(reply) is not None for reply in to_questions)
    if assents >= EVADED and 2 * assents > len(to_questions):
        yield f"{assents} of {len(to_questions)} questions get no more than a sound of assent", None
    if len(asked_back := [*_asked_back(parsed)]) >= EVADED:
        yield f"{len(asked_back)} replies only ask back", asked_back[0]
    for number, before, reply in parsed.replied:
        last = last_sentence(before)
        open_ended = denies(reply) or not stated_numbers(last, parsed.language)  # unlike "how old, eighty?"
        if open_ended and any(asked.search(last) and not fits.search(reply) for asked, fits in _FITS):
            yield "the answer belongs to another question", number
        asks = reply.rstrip().endswith(("?", "？")) and not _PATTERNS["of_oneself"].search(reply)
        answered_before = not last.endswith(("?", "？")) and not _PATTERNS["of_you"].search(before)
        if answered_before and (
            _PATTERNS["takes_history"].search(reply) or (asks and _PATTERNS["tells_history"].search(before))
        ):
            yield "the patient asks about what the physician has already answered", number


def evades(reply: str) -> bool:
    """Return whether a reply says only that the speaker does not know."""
    return _PATTERNS["evades"].search(reply) is not None


def _asked_back(parsed: ParsedDialogue) -> Iterator[int]:
    """Yield the numbers of the replies to questions that are questions themselves, and nothing else."""
    for number, before, reply in parsed.replied:
        last, said = last_sentence(before), sentences(reply)
        asks = last.endswith(("?", "？")) or _PATTERNS["takes_history"].search(last)
        if asks and said and all(sentence.endswith(("?", "？")) for sentence in said):
            yield number


def _self_answer(parsed: ParsedDialogue, text: str) -> str | None:
    """Return the sentence that answers a question within the same turn, or None.

    It is a yes, a no, or a few words from the note that the question does not contain.
    """
    note = content_words(parsed.note, parsed.language)
    for question, reply in pairwise(sentences(text)):
        if not question.endswith(("?", "？")) or reply.endswith(("?", "？")):
            continue
        answer_words = content_words(reply, parsed.language)
        new = answer_words & note and not answer_words & content_words(question, parsed.language)
        if denies(reply) or affirms(reply) or (parsed.language == "en" and new and len(reply.split()) <= ANSWER):
            return reply
    return None


RULES: Mapping[str, Rule] = {"answers_fit": no_answer}
