"""Which facts of the record answer a question: the rules without a model.

The sentences are told that are likely to answer it (`pairs.py`); what a result was is told only to who names the
examination.
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
_ANSWERS = 0.3  # how likely a sentence must be to answer a question to be told
_TELLS, _UNTOLD = 0.06, 0.65  # the same if it tells what is only guessed at, and where that is clear and none tells it
_RATHER = 0.5  # how likely that it tells it
_BESIDE = 0.5  # of the likeliest sentence's likelihood, and as likely another is one that is told with it


def released_for(facts: Sequence[RecordSentence], words: str, kind: str, language: Language) -> list[RecordSentence]:
    """The facts that a specific question (``inquiry``) or specific ``advice`` may have."""
    if kind == "advice":
        return ordered_results(facts, words, language) or tried(facts, words, language)
    return answering(facts, words, language)


def answering(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """The facts that answer a question; none if it is about nothing that is on record.

    Results are given only if the question names the examination.
    """
    if names_examination(words) and (ordered := ordered_results(facts, words, language)):
        return ordered
    parts = [part for part in clauses(words, language) if _asks(part, language)]
    if not (parts or _asks(words, language)):
        return []
    told = [fact for fact in facts if fact.section in HISTORIES]
    person = [fact for fact in facts if fact.section == "person"]
    asks_sex = _PATTERNS["asks_sex"].search(words) is not None
    named = {matter.name for matter in topic_of(words, language).matters}
    found = set() if asks_sex and not named else {*_to_one(told, words, language)}
    found |= {fact for fact in person if asks_sex and _PATTERNS["sex"].match(fact.text)}
    for about in {subjects()[name] for part in parts for name in subjects_heard(part, language)}:
        if "person" in about.sections and is_surely_heard(words, language):
            found |= {*_recorded(person, about.record, language)}
        if named & {*about.whole_with}:
            of_it = [fact for fact in told if fact.section in about.sections]
            other = {*_recorded(of_it, about.whole_but, language)}
            found |= {*of_it} - other | {*_recorded(of_it, (*about.record, *about.whole_with), language)}
    beside = {fact for fact in found if fact.section != "chief_complaint"}
    return [fact for fact in facts if fact in (beside or found)]


def _asks(words: str, language: Language) -> bool:
    """Whether it asks or advises something; of results nothing is said to who names none."""
    is_of_results = subjects()[subject_of(words, language)].names == ("results",)
    asks = kind_label(words, language) in ("inquiry", "ambiguous", "advice") or is_rather_of_a_subject(words, language)
    return asks and not is_of_results


def _to_one(told: Sequence[RecordSentence], question: str, language: Language) -> list[RecordSentence]:
    """The facts of the histories that answer a question."""
    shares = likely(question, told, language)
    beside = _BESIDE * shares.max(initial=0)
    least = zip(told, shares, _enough(told, question, language), strict=True)
    return [fact for fact, share, enough in least if share >= max(enough, beside)]


def _enough(told: Sequence[RecordSentence], question: str, language: Language) -> list[float]:
    """How likely each fact must be to answer: more if it is clear what is asked and none tells it.

    Less if it tells what is not clear, or one of several things that are named: nothing else could answer.
    """
    topic = topic_of(question, language)
    heard_as = [name for each in subjects_heard(question, language) for name in subjects()[each].tells]
    named = [matter.name for matter in topic.matters if matter.name in matters_told()]  # "appetite, sleep and weight"
    at = [matters_told().index(name) for name in named or heard_as]  # who asks for exercise does not ask for all habits
    if not (heard_as and told):
        return [_ANSWERS] * len(told)
    telling = told_shares([fact.text for fact in told], language)[:, at].max(axis=1)
    tells = [
        bool(share >= _RATHER) and fact.section != "family_history" and not stand_apart(topic, fact.text)
        for share, fact in zip(telling, told, strict=True)
    ]
    is_clear = is_surely_heard(question, language)
    rest = _UNTOLD if is_clear and not any(tells) else _ANSWERS
    return [_TELLS if each and (len(named) > 1 or not is_clear) else rest for each in tells]


def _recorded(facts: Sequence[RecordSentence], names: Collection[str], language: Language) -> list[RecordSentence]:
    """The facts in which the record has one of these concepts."""
    about = [concept for concept in concepts(language) if concept.name in names]
    return [fact for fact in facts if any(concept.recorded.search(fact.text) for concept in about)]
