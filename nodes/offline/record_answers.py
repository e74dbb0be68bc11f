"""What a patient says without a model: what is on record, a denial of what is not, to a vague question the story."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from cases.case import ExaminationRecord, PatientRecord
from cases.text.record_sentences import HISTORIES, RecordSentence, record_sentences
from cases.text.sentences import sentences
from cases.vocabulary import Language, patterns
from nodes.offline.doctor_actions import is_vague
from nodes.offline.hearing import heard_tests
from nodes.offline.meaning import (
    is_rather_of_a_subject,
    is_silent,
    is_surely_heard,
    kind_named,
    subject_of,
    subjects,
)
from nodes.offline.pairs import has, likely
from nodes.offline.relevance import answering
from nodes.offline.topics import topic_of, words_in
from nodes.patients.own_words import said_of, unsaid
from nodes.state.chart import Turn
from prompts import load_words, mark

Silence = Literal["nothing", "untold", "unclear"]  # no, could not tell, did not understand

_PATTERNS = patterns("nodes.offline", "patterns")
_AT_ONCE = 3  # sentences of what there is no end of
_MAY = 0.1  # how likely a sentence must be to answer a question for no not to be said
_HISTORIES = ("past_history", "personal_history", "family_history")


@lru_cache(maxsize=4096)  # each stage reads the dialogue
def wants_examination(words: str) -> bool:
    """Whether the doctor asks for an examination or its result, and not only whether one was ever done."""
    for sentence in sentences(words):
        asked = _PATTERNS["history"].search(sentence) and re.search(r"[?？]\s*$|吗|没有", sentence)
        if not asked and (heard_tests(sentence) or _PATTERNS["examination"].search(sentence)):
            return True
    return False


def tells_diagnosis(words: str) -> bool:
    """Whether the doctor tells the patient what it is."""
    return _PATTERNS["tells"].search(words) is not None


def answer_from_record(question: str, record: PatientRecord, dialogue: list[Turn], language: Language) -> str:
    """The patient's answer: the sentences of the record that answer the question, and no others.

    Args:
        question: the doctor's last words.
        record: all that the patient knows.
        dialogue: what was said before.
        language: of the dialogue.
    """
    words = load_words("consultation/words", language)["patient"]
    recorded = record_sentences(record, ExaminationRecord(), language)
    facts = facts_for(question, recorded, language)
    told = told_now(question, said_of(facts, record, language), dialogue, language)
    phrase = "all_said" if facts else denial(question, language, recorded)
    return mark("space", language).join(told) or str(words[phrase])


def denial(question: str, language: Language, recorded: Sequence[RecordSentence]) -> Silence:
    """The phrase where nothing is told: no is no answer to what was not understood, nor to "how much".

    Only what is named is denied, and nothing that a recorded sentence speaks of, or may tell after all.
    """
    if not is_surely_heard(question, language):
        return "unclear"
    subject, topic = subject_of(question, language), topic_of(question, language)
    about = subjects()[subject]
    own = [fact for fact in recorded if fact.section in HISTORIES]
    named = (*topic.matters, *topic.places)
    spoken_of = any(has(each, fact) for each in named for fact in own) or any(
        words_in(fact.text, topic.words) for fact in own
    )
    told = [fact.text for fact in own if fact.section != "family_history"]
    asks_how = _PATTERNS["open_question"].search(sentences(question)[-1]) is not None
    may_be_told = not is_silent(told, about.tells, language) or likely(question, own, language).max(initial=0) >= _MAY
    is_open = not (about.tells or about.sections or subject == "complaint")  # whether it came before, what else is
    is_denied = named and not (spoken_of or may_be_told or is_open or about.story or about.given or asks_how)
    return "nothing" if is_denied else "untold"


def facts_for(question: str, facts: Sequence[RecordSentence], language: Language) -> list[RecordSentence]:
    """The facts that answer a question: of one for everything the story, of one for anything else all histories."""
    subject, topic = subject_of(question, language), topic_of(question, language)
    names_nothing = kind_named(subject) == "ambiguous" or not (topic.clinical or topic.words)
    if not (names_nothing and is_vague(question, language)) or is_rather_of_a_subject(question, language):
        return answering(facts, question, language)
    beside = {"opening": ("chief_complaint",), "other_symptoms": _HISTORIES}.get(subject, ())
    return [fact for fact in facts if fact.section in ("present_illness", *beside)]


def told_now(question: str, told: Sequence[tuple[str, str]], dialogue: Sequence[Turn], language: Language) -> list[str]:
    """What is said of it now, of sections and words: nothing twice.

    To a question for everything a few sentences at a time, of the histories none before the story is told.
    """
    left = unsaid([words for _, words in told], dialogue)
    if not is_vague(question, language):
        return left
    story = [words for section, words in told if section not in _HISTORIES and words in left]
    return (story or left)[:_AT_ONCE]
