"""What a patient says without a model: quotes the record, denies what is not in it, asks back on vague questions."""

import re

from cases.case import ExaminationRecord, PatientRecord
from cases.text.named_tests import named_tests
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.text.sentences import sentences
from cases.vocabulary import Language, patterns
from nodes.offline.doctor_actions import is_vague
from nodes.offline.relevance import answering
from nodes.patients.medchain import TOPICS
from nodes.state.chart import Turn
from prompts import load_words, mark

_PATTERNS = patterns("nodes.offline", "patterns")
_AT_ONCE = 3
_BROAD = 3  # so many subjects of one history make a question about the whole of it


def wants_examination(words: str) -> bool:
    """Whether the doctor asks for an examination or its result, and not only whether one was ever done."""
    for sentence in sentences(words):
        asked = _PATTERNS["history"].search(sentence) and re.search(r"[?？]\s*$|吗|没有", sentence)
        if not asked and (named_tests(sentence) or _PATTERNS["examination"].search(sentence)):
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
    said = "\n".join(turn.text for turn in dialogue if turn.speaker == "patient")
    facts = record_sentences(record, ExaminationRecord(), language)
    if _PATTERNS["open"].search(question):
        return _tell(_story(facts, said), language) or str(words["all_said"])
    if found := _on_histories(facts, question, language) or answering(facts, question, language):
        fresh = [fact for fact in found if fact.text not in said]
        return _tell(fresh or found[:_AT_ONCE], language)
    if _PATTERNS["character"].search(question):  # of the complaint itself, which nobody denies who has come for it
        return _tell(_story(facts, said), language) or str(words["all_said"])
    return str(words["ask_back" if is_vague(question, language) else "nothing"])


def _on_histories(facts: list[RecordSentence], question: str, language: Language) -> list[RecordSentence]:
    """What the earlier, personal or family history says: what answers the question, or all of it to a broad one."""
    for section, pattern in TOPICS:
        subjects = {match.group().casefold() for match in re.finditer(pattern, question, re.IGNORECASE)}
        if subjects:
            recorded = [fact for fact in facts if fact.section == section]
            broad = len(subjects) >= _BROAD or _PATTERNS["illness"].search(question)
            return recorded if broad else answering(recorded, question, language)
    return []


def _story(facts: list[RecordSentence], said: str) -> list[RecordSentence]:
    """The next sentences of the story, beginning with the complaint."""
    untold = [
        fact
        for section in ("chief_complaint", "present_illness")
        for fact in facts
        if fact.section == section and fact.text.rstrip(".。") not in said
    ]
    return untold[:_AT_ONCE]


def _tell(facts: list[RecordSentence], language: Language) -> str:
    return mark("space", language).join(fact.text for fact in facts)
