"""Offline rules for which facts of the record answer a question.

A turn is split into questions. For each, sentences that probably answer it are released (`pairs.py`), a result only if
the doctor names the examination.
"""

from collections.abc import Collection, Sequence

from cases.text.record_sentences import HISTORIES, RecordSentence
from cases.vocabulary import Language, patterns
from nodes.offline.consultation_words import concepts
from nodes.offline.meaning import (
    clauses,
    is_rather_of_a_subject,
    is_surely_heard,
    kind_label,
    matters_told,
    subject_of,
    subjects,
    subjects_heard,
    told_shares,
)
from nodes.offline.orders import names_examination, ordered_results, tried
from nodes.offline.pairs import likely, stand_apart
from nodes.offline.topics import topic_of

_PATTERNS = patterns("nodes.offline", "patterns")
_THRESHOLD = 0.3  # least probability of a sentence to answer a question
_LOW_THRESHOLD = 0.06  # of one that tells what is asked
_HIGH_THRESHOLD = 0.65  # if it is clear what is asked, and no sentence tells it
_OPENING_THRESHOLD = 0.25  # of one that the opening has said, told only if nothing else is
_TELLS = 0.5  # least probability that a sentence tells a matter
_OF_BEST = 0.5  # least share of the best sentence's probability


def released_for(facts: Sequence[RecordSentence], words: str, kind: str, language: Language) -> list[RecordSentence]:
    """Return the facts to release for a specific question (``inquiry``) or specific ``advice``."""
    if kind == "advice":
        return ordered_results(facts, words, language) or tried(facts, words, language)
    return answering(facts, words, language)


def answering(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """Return the facts that answer a turn, in the order of the record; none if nothing is asked or on record.

    Results are included only if the turn names the examination. What the opening has said is returned only if nothing
    else is.
    """
    if names_examination(words) and (ordered := ordered_results(facts, words, language)):
        return ordered
    histories = [fact for fact in facts if fact.section in HISTORIES]
    person = [fact for fact in facts if fact.section == "person"]
    parts = clauses(words, language)
    asks_sex = [part for part in parts if _PATTERNS["asks_sex"].search(part)]
    others = [part for part in parts if part not in asks_sex or topic_of(part, language).matters]
    questions = [part for part in others if _asks(part, language)]
    found = {fact for question in questions for fact in _likely_answers(histories, question, language)}
    if not (found or asks_sex) and _asks(words, language):
        found = {*_likely_answers(histories, words, language)}  # a part alone may say too little
    found |= {fact for fact in person if asks_sex and _PATTERNS["sex"].match(fact.text)}
    named = {matter.name for matter in topic_of(words, language).matters}
    for about in {subjects()[name] for question in questions for name in subjects_heard(question, language)}:
        if "person" in about.sections and is_surely_heard(words, language):
            found |= {*_recorded(person, about.record, language)}
        if named & {*about.whole_with}:
            section = [fact for fact in histories if fact.section in about.sections]
            excluded = {*_recorded(section, about.whole_but, language)}
            found |= {*section} - excluded | {*_recorded(section, (*about.record, *about.whole_with), language)}
    besides_opening = {fact for fact in found if fact.section != "chief_complaint"}
    return [fact for fact in facts if fact in (besides_opening or found)]


def _asks(words: str, language: Language) -> bool:
    """Return whether the words ask or advise something in particular, other than results that they do not name."""
    is_of_results = subjects()[subject_of(words, language)].names == ("results",)
    is_specific = kind_label(words, language) in ("inquiry", "advice") or is_rather_of_a_subject(words, language)
    return is_specific and not is_of_results


def _likely_answers(facts: Sequence[RecordSentence], question: str, language: Language) -> list[RecordSentence]:
    """Return the facts that probably answer one question; what the opening has said, only if nothing else does."""
    probabilities = dict(zip(facts, likely(question, facts, language), strict=True))
    thresholds = dict(zip(facts, _thresholds(facts, question, language), strict=True))
    opening_is_all = not any(fact.section == "present_illness" for fact in facts)
    for is_opening in (False, True):
        part = [fact for fact in facts if (fact.section == "chief_complaint") == is_opening]
        of_best = _OF_BEST * max((probabilities[fact] for fact in part), default=0)
        least = max(of_best, _OPENING_THRESHOLD * (is_opening and not opening_is_all))
        if found := [fact for fact in part if probabilities[fact] >= max(thresholds[fact], least)]:
            return found
    return []


def _thresholds(facts: Sequence[RecordSentence], question: str, language: Language) -> list[float]:
    """Return the least probability for each fact: lower if it tells what is asked, higher if no fact clearly does."""
    topic = topic_of(question, language)
    matters = [matter for name in subjects_heard(question, language) for matter in subjects()[name].tells]
    named = [matter.name for matter in topic.matters if matter.name in matters_told()]  # "appetite, sleep and weight"
    columns = [matters_told().index(name) for name in named or matters]  # exercise alone is not all habits
    if not (matters and facts):
        return [_THRESHOLD] * len(facts)
    probabilities = told_shares([fact.text for fact in facts], language)[:, columns].max(axis=1)
    tells = [
        bool(probability >= _TELLS) and fact.section != "family_history" and not stand_apart(topic, fact.text)
        for probability, fact in zip(probabilities, facts, strict=True)
    ]
    usual = _THRESHOLD if any(tells) or not is_surely_heard(question, language) else _HIGH_THRESHOLD
    return [_LOW_THRESHOLD if one else usual for one in tells]


def _recorded(facts: Sequence[RecordSentence], names: Collection[str], language: Language) -> list[RecordSentence]:
    """Return the facts that mention one of these concepts."""
    about = [concept for concept in concepts(language) if concept.name in names]
    return [fact for fact in facts if any(concept.recorded.search(fact.text) for concept in about)]
