"""Offline rules for which facts of the record answer a question.

A turn is split into questions. For each, sentences that probably answer it are released (`pairs.py`), a result only if
the doctor names the examination.
"""

from collections.abc import Collection, Sequence

from cases.text.record_sentences import HISTORIES, RecordSentence
from cases.vocabulary import Language, patterns
from nodes.offline.consultation_words import concepts
from nodes.offline.meaning import ASKS, clauses, is_surely_heard, kind_label, subject_of, subjects, subjects_heard
from nodes.offline.orders import names_examination, ordered_results, tried
from nodes.offline.pairs import answer_scores, has
from nodes.offline.topics import topic_of

_PATTERNS = patterns("nodes.offline", "patterns")
_LEAST = -0.3  # score (`pairs.py`) of a sentence that is told: three quarters as probable as that nothing answers
_BEHIND_BEST = 1.6  # at most, of another sentence that is told: a fifth as probable as the best


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
    is_asking = ASKS.search(words) or _asks(words, language)  # without a mark, the turn as a whole has to ask
    questions = [part for part in others if is_asking and _asks(part, language)]
    found = {fact for question in questions for fact in _likely_answers(histories, question, language)}
    if not (found or asks_sex) and _asks(words, language):
        found = {*_likely_answers(histories, words, language)}  # a part alone may say too little
    found |= {fact for fact in person if asks_sex and _PATTERNS["sex"].match(fact.text)}
    matters = topic_of(words, language).matters
    if not found and len(matters) > 1:  # "How are your appetite, your sleep and your weight?"
        found = {fact for fact in histories if any(has(matter, fact) for matter in matters)}
    named = {matter.name for matter in matters}
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
    """Return whether the words may ask for something on record, other than results that they do not name.

    A demand ("Repeat all that was said") or small talk does so only as a question.
    """
    kind = kind_label(words, language)
    is_silent = kind in ("remark", "conclusion") or (kind in ("demand", "other_topic") and not ASKS.search(words))
    return not (is_silent or subjects()[subject_of(words, language)].names == ("results",))


def _likely_answers(facts: Sequence[RecordSentence], question: str, language: Language) -> list[RecordSentence]:
    """Return the facts that probably answer one question; what the opening has said, only if nothing else does."""
    scores = dict(zip(facts, answer_scores(question, facts, language), strict=True))
    for is_opening in (False, True):
        part = [fact for fact in facts if (fact.section == "chief_complaint") == is_opening]
        least = max(_LEAST, max((scores[fact] for fact in part), default=0) - _BEHIND_BEST)
        if found := [fact for fact in part if scores[fact] >= least]:
            return found
    return []


def _recorded(facts: Sequence[RecordSentence], names: Collection[str], language: Language) -> list[RecordSentence]:
    """Return the facts that mention one of these concepts."""
    about = [concept for concept in concepts(language) if concept.name in names]
    return [fact for fact in facts if any(concept.recorded.search(fact.text) for concept in about)]
