"""The offline patient's answers: facts on record, a denial of what is not, and the story for an open question."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Literal

from cases.case import ExaminationRecord, PatientRecord
from cases.text.named_tests import named_tests
from cases.text.record_sentences import HISTORIES, RecordSentence, record_sentences
from cases.text.sentences import sentences
from cases.vocabulary import Language, patterns
from nodes.offline.clauses import clauses
from nodes.offline.consultation_words import in_known_words
from nodes.offline.doctor_actions import is_asking, is_vague, kind_label, without_consent
from nodes.offline.hearing import heard_tests
from nodes.offline.meaning import (
    asks_of_the_story,
    is_rather_of_a_subject,
    is_silent,
    is_surely_heard,
    is_understood,
    subject_of,
)
from nodes.offline.own_words import said_of, unsaid
from nodes.offline.pairs import answer_scores, has, with_known_words
from nodes.offline.relevance import answering, support_of, without_the_family
from nodes.offline.subjects import kind_named, matters_told, subjects
from nodes.offline.topics import topic_of, words_in
from nodes.offline.wellbeing import asks_if_well
from nodes.reconstruction.lay_speech import capitalised
from nodes.state.chart import Turn
from prompts import load_words, mark

Silence = Literal["nothing", "untold", "unclear"]  # denied, not known, not understood

_PATTERNS = patterns("nodes.offline", "patterns")
_MAX_SENTENCES = 3  # of one answer to an open question
# Score of a possible answer (`pairs.py`), and probability that a sentence tells what is asked for, beside which a
# question is not denied.
_POSSIBLE, _POSSIBLE_SUPPORT = -1.3, 0.12
# What is said to words that ask for nothing; vague advice is asked about, and a test has no result yet.
_REPLIES = {
    "conclusion": "thanks",
    "remark": "thanks",
    "test": "advised",
    "advice": "followed",
    "vague_advice": "which",
    "demand": "agreed",
    "other_topic": "off_topic",
}
# What the record may say of a matter in words that the lists of clinical words do not have.
_SAYS = {"fever": "degrees", "sickness": "vomits", "past illnesses": "long_ill"}
_BACKGROUND = ("past_history", "personal_history", "family_history")


@lru_cache(maxsize=4096)  # each stage reads the whole dialogue
def wants_examination(words: str) -> bool:
    """Whether the doctor asks for an examination or its result, and not only whether one was ever done."""
    return any(
        heard_tests(sentence) or _PATTERNS["examination"].search(sentence)
        for sentence in sentences(words)
        if not _asks_history(sentence)
    )


def asks_whether_done(words: str) -> bool:
    """Whether the doctor only asks if an examination was ever done, and orders none."""
    return bool(named_tests(words)) and not heard_tests(words) and all(map(_asks_history, sentences(words)))


def _asks_history(sentence: str) -> bool:
    return bool(_PATTERNS["history"].search(sentence) and re.search(r"[?？]\s*$|吗|没有", sentence))


def asks_openly(question: str) -> bool:
    """Whether yes or no does not answer a question."""
    return _PATTERNS["open_question"].search(sentences(question)[-1]) is not None


def tells_diagnosis(words: str) -> bool:
    """Whether the doctor tells the patient the diagnosis."""
    return _PATTERNS["tells"].search(words) is not None


def answer_from_record(question: str, record: PatientRecord, dialogue: list[Turn], language: Language) -> str:
    """Return the patient's answer: the sentences of the record that answer the question and are not yet said.

    Args:
        question: the doctor's last words.
        record: all that the patient knows.
        dialogue: the turns before the question.
        language: of the dialogue.
    """
    words, question = load_words("consultation/words", language)["patient"], without_consent(question, language)
    recorded = record_sentences(record, ExaminationRecord(), language)
    told = [each for each in said_of(facts_for(question, recorded, language), record, language) if each[1]]
    reply = told_now(question, told, dialogue, language)
    if _PATTERNS["names_examples"].search(question):  # open where none of its examples is recorded and not yet said
        rest = [each for each in said_of(_story(recorded), record, language) if each[1]]
        reply = (reply or told_now(question, rest, dialogue, language))[:_MAX_SENTENCES]
    phrase: str = "all_said" if told else denial(question, language, recorded)
    is_question = question.rstrip().endswith(("?", "？")) and is_asking(question, language)
    if phrase == "unclear" or (phrase != "all_said" and not is_question):
        phrase = _REPLIES.get(_kind_of_turn(question, language, is_question), phrase)
    return mark("space", language).join(reply) or str(words[phrase])


def _kind_of_turn(words: str, language: Language, is_question: bool) -> str:
    """Return what words do that no fact answers; advice that names a test is a ``test``."""
    kind = kind_label(words, language)
    if not is_question and tells_diagnosis(words):
        return "conclusion"
    return "test" if kind == "advice" and heard_tests(words) else kind


def denial(question: str, language: Language, recorded: Sequence[RecordSentence]) -> Silence:
    """Return the phrase where no fact answers: ``unclear`` if the question is not understood, else denied or untold.

    Whether something is as usual is understood, whatever it is. Only what the question names is denied (``nothing``),
    unless the record mentions it or may answer after all. What cannot be denied is an open question ("how much"), and
    that something is as it should be ("Can you see clearly?"). Of several questions, one that is not denied keeps the
    others from it.
    """
    silences = {_denial_of_one(each, language, recorded) for each in clauses(question, language)}
    return silences.pop() if len(silences) == 1 else "untold"


def _denial_of_one(question: str, language: Language, recorded: Sequence[RecordSentence]) -> Silence:
    """Return the phrase where no fact answers one question of a turn."""
    if not is_understood(question, language):
        is_clear = _PATTERNS["as_usual"].search(question) and asks_if_well(question, language)
        return "untold" if is_clear else "unclear"
    is_surely = is_surely_heard(question, language)
    question = in_known_words(question, language)
    subject, topic = subject_of(question, language), topic_of(question, language)
    about = subjects()[subject]
    histories = with_known_words([fact for fact in recorded if fact.section in HISTORIES], language)
    named = (*topic.matters, *topic.places)
    is_mentioned = any(has(each, fact) for each in named for fact in histories) or any(
        words_in(fact.text, topic.words) for fact in histories
    )
    texts = [fact.text for fact in histories if fact.section != "family_history"]
    says = [_PATTERNS[_SAYS[each.name]] for each in named if each.name in _SAYS]
    is_mentioned = is_mentioned or any(each.search(text) for each in says for text in texts)
    matters = {*about.tells, *(each.name for each in named)} & {*matters_told()}
    may_be_recorded = (
        not is_silent(texts, sorted(matters), language)
        or answer_scores(question, histories, language).max(initial=_POSSIBLE) > _POSSIBLE
        or support_of(histories, question, language).max(initial=0) > _POSSIBLE_SUPPORT
    )
    is_open = not (about.tells or about.sections or subject == "complaint")  # earlier episodes, other symptoms
    is_of_the_story = about.story or asks_of_the_story(question, language)
    is_deniable = (
        named
        and is_surely
        and not (is_mentioned or may_be_recorded or is_open or is_of_the_story or about.given)
        and not asks_openly(question)
        and not asks_if_well(question, language)
    )
    return "nothing" if is_deniable else "untold"


def facts_for(question: str, facts: Sequence[RecordSentence], language: Language) -> list[RecordSentence]:
    """Return the facts that answer: the story for an open question, nothing for a remark, else by `answering`.

    Of the story, earlier illnesses are told where they are asked for alone.
    """
    subject, topic = subject_of(question, language), topic_of(question, language)
    names_nothing = kind_named(subject) == "ambiguous" or not (topic.clinical or topic.words)
    is_open = names_nothing and is_vague(question, language) and not is_rather_of_a_subject(question, language)
    if _PATTERNS["names_examples"].search(question) or not is_open:
        return answering(facts, question, language)
    if not is_asking(question, language):
        return []
    return _story(facts, {"opening": ("chief_complaint",), "other_symptoms": _BACKGROUND}.get(subject, ()))


def _story(facts: Sequence[RecordSentence], beside: Collection[str] = ()) -> list[RecordSentence]:
    """Return the story of the complaint with what stands in other sections."""
    own, earlier = {*without_the_family(facts)}, _PATTERNS["of_earlier_illnesses"]
    story = [fact for fact in facts if fact.section == "present_illness" and fact in own]
    of_now = {fact for fact in story if not earlier.fullmatch(fact.text)}
    return [fact for fact in facts if fact.section in beside or fact in of_now]


def told_now(question: str, told: Sequence[tuple[str, str]], dialogue: Sequence[Turn], language: Language) -> list[str]:
    """Return what to say now of (section, words) pairs, without what was said before.

    To an open question, say at most `_MAX_SENTENCES` at a time, and nothing of the background before the story is told.
    Only the first sentence may begin with "No", which answers the whole question.
    """
    said = unsaid([words for _, words in told], dialogue)
    if is_vague(question, language) and not _PATTERNS["names_examples"].search(question):
        story = [words for section, words in told if section not in _BACKGROUND and words in said]
        said = (story or said)[:_MAX_SENTENCES]
    return [*said[:1], *(capitalised(_PATTERNS["no_first"].sub("", words)) for words in said[1:])]
