"""Check that each reply answers its question: by its form, and by the part of the note that it comes from."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.note_sections import read_sections
from cases.text.numbers import stated_numbers
from cases.text.sentences import last_sentence, sentences
from cases.vocabulary import Language, data_file, patterns
from nodes.reconstruction.content import Finding, Rule, Told, affirms, content_words, denies

_WORDS = data_file("nodes.reconstruction", "answers")
_FITS = tuple(tuple(map(re.compile, pair)) for pair in _WORDS["fits"])
_PARTS = {part["name"]: (re.compile(part["asked"]), part["sections"]) for part in _WORDS["part"]}
_PATTERNS = patterns("nodes.reconstruction", "particulars")
ANSWER = 8  # maximum words of an answer to one's own question
EVADED = 2  # minimum of evasive replies
OF_ANOTHER = 3  # minimum words of an answer that only another part of the note contains


def no_answer(told: Told) -> Iterator[Finding]:
    """Report replies to another question, physicians who answer themselves, and dialogues of mostly evasive replies."""
    for number, message in enumerate(told.dialogue.spoken, 1):
        if message.role == PHYSICIAN and (found := _self_answer(told, message.content)) is not None:
            yield f"the physician answers their own question: {found!r}", number
    replies = [message.content for message in told.dialogue.spoken if message.role == PATIENT]
    evasive = sum(_PATTERNS["evades"].search(reply) is not None for reply in replies)
    if evasive >= EVADED and 2 * evasive > len(replies):
        yield f"{evasive} of {len(replies)} replies contain no answer", None
    if len(asked_back := [*_asked_back(told)]) >= EVADED:
        yield f"{len(asked_back)} replies only ask back", asked_back[0]
    for number, before, reply in told.replied:
        last = last_sentence(before)
        open_ended = denies(reply) or not stated_numbers(last, told.language)  # unlike "how old, eighty?"
        if open_ended and any(asked.search(last) and not fits.search(reply) for asked, fits in _FITS):
            yield "the answer belongs to another question", number
        if _PATTERNS["yes_and_no"].search(reply) and not _PATTERNS["denying_question"].search(last):
            yield "the answer says both yes and no", number
        asks = reply.rstrip().endswith(("?", "？")) and not _PATTERNS["of_oneself"].search(reply)
        answered_before = not last.endswith(("?", "？")) and not _PATTERNS["of_you"].search(before)
        if answered_before and (
            _PATTERNS["takes_history"].search(reply) or (asks and _PATTERNS["tells_history"].search(before))
        ):
            yield "the patient asks about what the physician has already answered", number
        elif (found := _unasked_part(told, last, reply)) is not None:
            yield f"the answer is about the {found}, which was not asked for", number


def _asked_back(told: Told) -> Iterator[int]:
    """Yield the numbers of the replies to questions that are questions themselves, and nothing else."""
    for number, before, reply in told.replied:
        last, said = last_sentence(before), sentences(reply)
        asks = last.endswith(("?", "？")) or _PATTERNS["takes_history"].search(last)
        if asks and said and all(sentence.endswith(("?", "？")) for sentence in said):
            yield number


def _self_answer(told: Told, text: str) -> str | None:
    """Return the sentence that answers a question within the same turn, or None.

    It is a yes, a no, or a few words from the note that the question does not contain.
    """
    note = content_words(told.note, told.language)
    for question, reply in pairwise(sentences(text)):
        if not question.endswith(("?", "？")) or reply.endswith(("?", "？")):
            continue
        answer_words = content_words(reply, told.language)
        new = answer_words & note and not answer_words & content_words(question, told.language)
        if denies(reply) or affirms(reply) or (told.language == "en" and new and len(reply.split()) <= ANSWER):
            return reply
    return None


def _unasked_part(told: Told, question: str, answer: str) -> str | None:
    """Return the part of the note that an answer comes from, if the question asks for another part; else None.

    The answer must have no word of the part asked for. A note without headings gives None, as its parts are uncertain.
    """
    asked = [name for name, (pattern, _) in _PARTS.items() if pattern.search(question)]
    own = _distinctive_words(told.note, told.language)
    if not any(own[name] for name in asked) or not re.search("[:：]", told.dialogue.note):
        return None
    answer_words = content_words(answer, told.language)
    shared = {name: len(answer_words & words) for name, words in own.items()}
    best = max(shared, key=lambda name: shared[name])
    return best if shared[best] >= OF_ANOTHER and not any(shared[name] for name in asked) else None


@lru_cache(maxsize=8)
def _distinctive_words(note: str, language: Language) -> Mapping[str, set[str]]:
    """Return the words of each part of the note that no other part contains."""
    sections = read_sections(note, language)
    by_part = {
        name: content_words(" ".join(line for section in of for line in sections.get(section, ())), language)
        for name, (_, of) in _PARTS.items()
    }
    return {
        name: words - set[str]().union(*(others for other, others in by_part.items() if other != name))
        for name, words in by_part.items()
    }


RULES: Mapping[str, Rule] = {"answers_fit": no_answer}
