"""What a patient says without a model: quotes the record, denies what is not in it, asks back on vague questions."""

import re

from cases.case import ExaminationRecord, PatientRecord
from cases.text.named_tests import named_tests
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.text.sentences import sentences
from cases.vocabulary import Language
from nodes.offline.doctor_actions import is_vague
from nodes.offline.relevance import answering
from nodes.patients.medchain import TOPICS
from nodes.state.chart import Turn
from prompts import load_words, mark

# An open question has the story told on, a few sentences at a time.
_OPEN = re.compile(
    r"\bwhat (?:brings|brought|seems|can i|may i|is (?:the|your) (?:problem|matter|trouble|complaint))|how can i help|"
    r"\bwhat'?s (?:the (?:problem|matter|trouble)|wrong|going on)|tell me (?:more|what happened)|"
    r"\btell me about (?:it|your (?:illness|complaint|problem|symptoms))|anything else|what else|"
    r"\bother (?:symptoms|complaints|problems)|how has it developed|how did it (?:begin|start|develop|go on)|"
    r"哪里不舒服|哪儿不舒服|怎么不舒服|怎么了|什么情况|其他不舒服|别的不舒服|还有什么|有什么不舒服|有什么变化|"
    r"详细说说|具体说说|怎么回事",
    re.IGNORECASE,
)
# What asks for an examination or its result, beside the names of examinations.
_EXAMINATION = re.compile(
    r"\b(?:examin\w*|tests?|tested|scan\w*|results?|laborator\w*|labs?|findings|reports?|records?|chart|imaging|"
    r"investigations?|work-?up)\b|检查|化验|检验|结果|报告|病历|档案|影像",
    re.IGNORECASE,
)
# What only asks whether something was ever so: a question for the patient, although it may name a test.
_HISTORY = re.compile(
    r"\b(?:have|has|had|did|do|does|are|is|was|were) (?:you|he|she|they|it|your|his|her|anyone|there)\b"
    r"(?!.*\bresults?\b)|"
    r"\b(?:ever|before|in the past|at home)\b|以前|过去|曾经?|有没有.{0,8}过|在家",
    re.IGNORECASE,
)
_AT_ONCE = 3
_BROAD = 3  # so many subjects of one history make a question about the whole of it
_ILLNESS = re.compile(
    r"\b(?:illness\w*|diseases?|conditions?|histor\w+|habits?|health problems)\b|疾病|什么病|病史|习惯|遗传病", re.I
)


def wants_examination(words: str) -> bool:
    """Whether the doctor asks for an examination or its result, and not only whether one was ever done."""
    for sentence in sentences(words):
        asked = _HISTORY.search(sentence) and re.search(r"[?？]\s*$|吗|没有", sentence)
        if not asked and (named_tests(sentence) or _EXAMINATION.search(sentence)):
            return True
    return False


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
    if _OPEN.search(question):
        return _tell(_story(facts, said), language) or str(words["all_said"])
    if found := _on_histories(facts, question, language) or answering(facts, question, language):
        fresh = [fact for fact in found if fact.text not in said]
        return _tell(fresh or found[:_AT_ONCE], language)
    return str(words["ask_back" if is_vague(question, language) else "nothing"])


def _on_histories(facts: list[RecordSentence], question: str, language: Language) -> list[RecordSentence]:
    """What the earlier, personal or family history says: what answers the question, or all of it to a broad one."""
    for section, pattern in TOPICS:
        subjects = {match.group().casefold() for match in re.finditer(pattern, question, re.IGNORECASE)}
        if subjects:
            recorded = [fact for fact in facts if fact.section == section]
            broad = len(subjects) >= _BROAD or _ILLNESS.search(question)
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
