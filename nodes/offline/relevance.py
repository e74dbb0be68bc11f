"""Offline rules for which facts of the record answer a question.

A turn is split into questions. For each, sentences that probably answer it are released (`pairs.py`), a result only if
the doctor names the examination.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from cases.text.record_sentences import HISTORIES, RecordSentence
from cases.vocabulary import Language, patterns
from nodes.offline.classifiers import shares, told_shares
from nodes.offline.clauses import clauses
from nodes.offline.consultation_words import concepts, in_known_words
from nodes.offline.doctor_actions import is_asking, kind_label, without_consent
from nodes.offline.earlier_episodes import asks_of_earlier_episodes, tells_of_earlier_episodes
from nodes.offline.meaning import ASKS, is_surely_heard, subject_of, subjects_heard
from nodes.offline.orders import names_examination, ordered_results, tried
from nodes.offline.pairs import answer_scores, with_known_words
from nodes.offline.subjects import matters_told, subjects
from nodes.offline.topics import topic_of

_PATTERNS = patterns("nodes.offline", "patterns")
_LEAST = 0.5  # score (`pairs.py`) of a sentence that is told
_LEAST_SUPPORTED = -1.5  # the same of one that probably tells what is asked for
_LEAST_TELLING = -3.0  # the same of a sentence of the family, or that tells one of several matters asked about
_LEAST_OF_SYMPTOMS = -5.0  # the same of one that tells one of three or more symptoms asked about
_SUPPORTED = 0.25  # least probability that a sentence tells what is asked for
_TELLS = 0.5  # least probability that a sentence tells a matter
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
    words = without_consent(words, language)
    if names_examination(words) and (ordered := ordered_results(facts, words, language)):
        return ordered
    histories = [fact for fact in facts if fact.section in HISTORIES]
    person = [fact for fact in facts if fact.section == "person"]
    parts = clauses(words, language)
    asks_sex = [part for part in parts if _PATTERNS["asks_sex"].search(part)]
    others = [part for part in parts if part not in asks_sex or topic_of(part, language).matters]
    is_question = ASKS.search(words) is not None
    may_ask = is_question or _asks(words, language, is_question)  # without a mark, the turn as a whole has to ask
    # Small talk asks nothing beside a question, nor in a turn that as a whole asks nothing.
    besides_talk = [part for part in others if not _is_small_talk(part, language)]
    is_idle = _is_small_talk(words, language) and not is_asking(words, language)
    if is_idle or any(is_asking(part, language) for part in besides_talk):
        others = besides_talk
    questions = [part for part in others if may_ask and _asks(part, language, is_question)]
    found = {fact for question in questions for fact in _likely_answers(histories, question, language)}
    names_several = sum(topic_of(part, language).clinical > 0 for part in besides_talk) > 1
    if besides_talk and not (found or asks_sex or names_several) and _asks(words, language, is_question):
        found = {*_likely_answers(histories, words, language)}  # a part alone may say too little
    found |= {fact for fact in person if asks_sex and _PATTERNS["sex"].match(fact.text)}
    named = {matter.name for matter in topic_of(words, language).matters}
    asks_name_alone = _PATTERNS["asks_name"].search(words) and "age" not in named
    for about in {subjects()[name] for question in questions for name in subjects_heard(question, language)}:
        if "person" in about.sections and not asks_name_alone and is_surely_heard(words, language):
            found |= {*_recorded(person, about.record, language)}
        is_heading = "past_history" in about.sections and _PATTERNS["past_history"].search(words)
        if named & {*about.whole_with} or is_heading:
            section = [fact for fact in histories if fact.section in about.sections and _is_own(fact)]
            excluded = {*_recorded(section, {*about.whole_but} - named, language)}
            found |= {*section} - excluded | {*_recorded(section, (*about.record, *about.whole_with), language)}
    besides_opening = {fact for fact in found if fact.section != "chief_complaint"}
    return [fact for fact in facts if fact in (besides_opening or found)]


def _is_small_talk(words: str, language: Language) -> bool:
    return kind_label(words, language) == "other_topic"


def _asks(words: str, language: Language, is_question: bool) -> bool:
    """Return whether the words may ask for something on record, other than results that they do not name.

    Without a question mark in the turn, they have to be an inquiry; advice to stop smoking does not ask for the habit,
    nor "at your age" for the age.
    """
    kind = kind_label(words, language)
    if kind in ("advice", "vague_advice", "remark") and not is_question:
        return False
    return is_asking(words, language) and subject_of(words, language) != "results"


def _likely_answers(facts: Sequence[RecordSentence], question: str, language: Language) -> list[RecordSentence]:
    """Return the facts that probably answer one question; what the opening has said, only if nothing else does.

    What another section says of relatives is scored as if it stood in the family history, if that is asked for; if it
    is not, relatives' allergies and operations are no answer.
    """
    of_family = "family" in subjects_heard(question, language) or _PATTERNS["names_relatives"].search(question)
    facts = list(facts) if of_family else without_the_family(facts)
    if asks_of_earlier_episodes(question, language) and not of_family:
        return [fact for fact in facts if _is_own(fact) and tells_of_earlier_episodes(fact.text, language)]
    placed = [replace(each, section="family_history") if of_family and not _is_own(each) else each for each in facts]
    least_telling = dict(zip(facts, _least_telling(placed, question, language), strict=True))
    scores = dict(zip(facts, answer_scores(question, placed, language), strict=True))
    support = dict(zip(facts, support_of(placed, question, language), strict=True))
    for is_opening in (False, True):
        part = [fact for fact in facts if (fact.section == "chief_complaint") == is_opening]
        near_best = max((scores[fact] for fact in part), default=0) - _BEHIND_BEST
        least = {fact: _LEAST_SUPPORTED if support[fact] >= _SUPPORTED else _LEAST for fact in part}
        least = {fact: min(max(least[fact], near_best), least_telling[fact]) for fact in part}
        if found := [fact for fact in part if scores[fact] >= least[fact]]:
            return found
    return []


def support_of(facts: Sequence[RecordSentence], question: str, language: Language) -> NDArray[np.float64]:
    """Return the probability that each fact tells the matter that the question asks for (n,).

    The classifier of pairs alone trusts likeness more than it should in wordings that it has not learned.
    """
    if not facts:
        return np.zeros(0)
    tells = told_shares([fact.text for fact in with_known_words(facts, language)], language)
    support: NDArray[np.float64] = tells @ shares(in_known_words(question, language), language)
    return support


def without_the_family(facts: Sequence[RecordSentence]) -> list[RecordSentence]:
    """Return the facts without the family history, and without what another section states of it."""
    own = (fact for fact in facts if fact.section != "family_history")
    return [fact for fact in own if not _PATTERNS["of_the_family"].search(fact.text)]


def _is_own(fact: RecordSentence) -> bool:
    """Whether a sentence says nothing of what a relative has or had."""
    return _PATTERNS["of_relatives"].search(fact.text) is None


def _least_telling(facts: Sequence[RecordSentence], question: str, language: Language) -> list[float]:
    """Return the least score of each fact that tells what is surely asked for; it is infinite of the others.

    They are those of the family, which are there if asked about, or else those that tell one of several matters: "How
    are your appetite, your sleep and your weight?" is answered by no sentence as a whole.
    """
    of_family = [fact.section == "family_history" for fact in facts]
    matters = {each.name for each in topic_of(question, language).matters} & {*matters_told()}
    if any(of_family) or len(matters) < 2 or not facts:
        return [_LEAST_TELLING if is_there else inf for is_there in of_family]
    about = [each for each in subjects().values() if matters & {*each.tells}]
    is_of_symptoms = len(matters) > 2 and all(each.sections[:1] in ((), ("present_illness",)) for each in about)
    columns = [matters_told().index(name) for name in matters]
    told = told_shares([fact.text for fact in facts], language)[:, columns].max(axis=1)
    least = _LEAST_OF_SYMPTOMS if is_of_symptoms else _LEAST_TELLING
    return [least if probability >= _TELLS else inf for probability in told]


def _recorded(facts: Sequence[RecordSentence], names: Collection[str], language: Language) -> list[RecordSentence]:
    """Return the facts that mention one of these concepts."""
    about = [concept for concept in concepts(language) if concept.name in names]
    return [fact for fact in facts if any(concept.recorded.search(fact.text) for concept in about)]
