"""Which facts of the record answer a question: the rules without a model.

What a question is about is heard by its meaning (`meaning.subjects_heard`): a part of the history, how the complaint
is, or a particular symptom. The sentences of that part are the answer; of a particular thing those that have most in
common with the question, taken apart by the lists (`topics.topic_of`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from cases.text.jargon import in_lay_words
from cases.text.note_sections import note_sections
from cases.text.record_sentences import RecordSentence
from cases.text.words import rules_of
from cases.vocabulary import Language, patterns
from nodes.offline.consultation_words import Concept, concepts, pattern
from nodes.offline.meaning import (
    Subject,
    clauses,
    is_likely,
    nearest,
    subject_of,
    subjects,
    subjects_heard,
    telling,
    words_of,
)
from nodes.offline.orders import names_examination, ordered_results, tried
from nodes.offline.topics import Topic, topic_of, words_in

_PATTERNS = patterns("nodes.offline", "patterns")
_CLAUSE = re.compile(r"[,;:，；：]|\band\b|\bbut\b")
_NONE = {
    "en": re.compile(r"\b(?:no|not|never|nor|none|nobody|healthy)\b", re.IGNORECASE),
    "zh": re.compile("[无未没不否]|体健"),
}
_LISTED = re.compile(r"[,，、]|\b(?:and|or)\b|[和或]|还是")
_STORY = 2  # sentences that are told where the record does not say how the complaint began or went
_ANY = ("complaint",)  # what is not heard may be about any symptom
_OF_OTHERS = ("family_history", "person")  # where no sentence is searched for what is not surely heard


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
    if subject_of(words, language) == "results":
        return []  # of results nothing is told that is not named
    told = [fact for fact in facts if not fact.is_result and fact.section != "chief_complaint"]
    said = clauses(words, language)
    asked = [clause for clause in said if _PATTERNS["asks_sex"].search(clause)]
    parts = [clause for clause in said if clause not in asked or topic_of(clause, language).matters]
    heard = [clause for clause in parts if subjects_heard(clause, language)] or ([] if asked else [words])
    questions = [_question(clause, language) for clause in heard]
    found = {fact for question in questions for fact in _of_one(told, question)}
    if not (found or asked):
        found = {*_of_one(told, _question(words, language))}  # its parts alone may say too little
    found |= {fact for fact in told if asked and fact.section == "person" and _PATTERNS["sex"].match(fact.text)}
    named = {matter.name for matter in topic_of(words, language).matters}
    for subject in (question.subject for question in questions):
        if named & {*subject.whole_with}:
            of_it = [fact for fact in told if fact.section in subject.sections]
            other = {*_recorded(of_it, subject.whole_but, language)}
            found |= {*of_it} - other | {*_recorded(of_it, (*subject.record, *subject.whole_with), language)}
    if not found:
        opening = {fact for question in questions for fact in _of_the_complaint(facts, question)}
        found = opening or {fact for question in questions for fact in _close(told, question)}
        return [fact for fact in facts if fact in found]
    return [fact for fact in told if fact in found]


@dataclass(frozen=True)
class _Question:
    """One question, heard by its meaning and taken apart by the lists.

    Attributes:
        own: the names of the complaints and habits in it.
        usual: the words of the subject's wordings, which name nothing in particular of it.
        named: other parts of the history that it names a matter of.
        is_list: whether it asks for several things.
    """

    words: str
    language: Language
    topic: Topic
    subject: Subject
    own: frozenset[str]
    usual: frozenset[str]
    named: tuple[Subject, ...]
    is_list: bool

    @property
    def unlisted(self) -> set[str]:
        """The complaints in it that neither its subject nor a part of the history speaks of."""
        return {*self.own} - {name for each in self.named for name in each.record} - self.usual

    @property
    def is_described(self) -> bool:
        """Whether it describes a symptom ("Have you had to tighten your belt?") and names none."""
        if self.subject.sections or self.topic.matters or not self.subject.record:
            return False
        return not self.has_clinical(self.topic.words)

    @property
    def is_of_the_family(self) -> bool:
        of_oneself = self.subject.given and self.own & {*self.subject.record}  # a mother's pregnancy is the child's
        named = self.topic.sections and "family_history" not in self.usual and not of_oneself
        return self.subject is subjects()["family"] or bool(named)

    @property
    def is_of_the_story(self) -> bool:
        """Whether it asks how the complaint is: "Since when do you smoke?" is about the habit."""
        return self.subject.story and not (self.named and "onset" in self.subject.record)

    @property
    def asked(self) -> list[Subject]:
        """The parts of the history that it asks for."""
        heard = [] if self.subject.story or not self.subject.sections else [self.subject]
        if self.own & {*self.subject.record} and not self.is_list:
            return heard
        return [*heard, *(each for each in self.named if each != self.subject)]

    def has_clinical(self, words: Sequence[str]) -> bool:
        """Whether one of the words is a clinical one."""
        return any(map(pattern("clinical", "", self.language).search, words))

    @property
    def names_illness(self) -> bool:
        """Whether it names an illness, and not only that there may be one."""
        clinical, unnamed = (pattern(group, "", self.language) for group in ("clinical", "unnamed"))
        phrases = (match.group() for match in clinical.finditer(self.words) if " " in match.group())  # "blood pressure"
        return not all(map(unnamed.search, (*filter(clinical.search, self.topic.words), *phrases)))


def _question(words: str, language: Language) -> _Question:
    topic, names = topic_of(words, language), subjects_heard(words, language)
    usual = frozenset[str]().union(*(words_of(name, language) for name in names))
    own = frozenset(matter.name for matter in topic.matters)
    histories = [each for each in subjects().values() if each.sections and not each.story]
    named = tuple(each for each in histories if (own - usual) & {*each.record})
    subject = _joined([subjects()[name] for name in names or _ANY])
    return _Question(words, language, topic, subject, own, usual, named, _LISTED.search(words) is not None)


def _joined(close: Sequence[Subject]) -> Subject:
    """What several subjects of the same sections hold together."""
    if len(close) == 1:
        return close[0]
    record = dict.fromkeys(name for each in close for name in each.record)
    tells = tuple(dict.fromkeys(name for each in close for name in each.tells))
    names = tuple(name for each in close for name in each.names)
    return replace(close[0], names=names, record=tuple(record), tells=tells, rest=any(each.rest for each in close))


def _of_one(told: Sequence[RecordSentence], question: _Question) -> Sequence[RecordSentence]:
    """The facts that answer one question."""
    if question.is_of_the_family:
        telling = note_sections()["family_history"].told[rules_of(question.language)]
        filed = [fact for fact in told if fact.section == "family_history"]
        return _of_the_family(filed or [fact for fact in told if telling.search(fact.text)], question)
    told, subject = [fact for fact in told if fact.section != "family_history"], question.subject
    within = [fact for fact in told if fact.section in subject.sections or not subject.sections]
    if not subjects_heard(question.words, question.language):
        return _best(told, question.topic) if question.own or question.topic.places or question.topic.words else []
    guessed = question.has_clinical([question.words]) and not is_likely(question.words, question.language)
    if guessed and (found := _best(within, question.topic)):
        return found
    if question.is_described:
        return _telling(told, subject.tells, question.language)
    if question.is_of_the_story:
        return _of_the_story(within, question)
    if not question.asked:
        by_meaning = question.own & {*subject.record} and not question.topic.places
        return _each(told, question) or (_telling(told, subject.tells, question.language) if by_meaning else [])
    return _of_the_history(told, question)


def _close(told: Sequence[RecordSentence], question: _Question) -> Sequence[RecordSentence]:
    """The sentence of the part that is asked for, or of any, that is close to the question by meaning."""
    if question.own or question.topic.places or question.subject.tells:
        return []  # what tells of a subject is known
    sections = question.subject.sections if subjects_heard(question.words, question.language) else ()
    if question.is_of_the_family:
        sections = ("family_history",)
    within = [fact for fact in told if fact.section in sections or not (sections or fact.section in _OF_OTHERS)]
    return [within[at] for at in nearest([fact.text for fact in within], question.words, question.language)]


def _of_the_complaint(facts: Sequence[RecordSentence], question: _Question) -> Sequence[RecordSentence]:
    """What the opening says where the record says nothing more: how the complaint is, or a habit that it names."""
    opening = [fact for fact in facts if fact.section == "chief_complaint"]
    if question.subject.story and not any(fact.section == "present_illness" for fact in facts):
        return opening
    if not question.subject.sections:
        return []
    asked = [name for name in question.subject.tells if question.subject.story or name in question.own]
    return _telling(opening, asked, question.language)


def _of_the_story(within: Sequence[RecordSentence], question: _Question) -> Sequence[RecordSentence]:
    """How the complaint is in some respect; where the record does not say how it began or went, the first of its story.

    Of any other respect (how bad, what makes it worse) nothing else is told.
    """
    recorded = _telling(within, question.subject.tells, question.language)
    words = [word for word in question.topic.words if word not in question.usual]
    matters = [matter for matter in question.topic.matters if matter.name in question.unlisted]
    named = [
        fact for fact in recorded if words_in(_heard(fact.text), words) or any(_has(matter, fact) for matter in matters)
    ]
    return named or recorded or (within[:_STORY] if {*question.subject.tells} & {"onset", "course"} else [])


def _of_the_history(told: Sequence[RecordSentence], question: _Question) -> Sequence[RecordSentence]:
    """What the parts of the history that are asked for say, or what they say of something particular."""
    subject, topic, language = question.subject, question.topic, question.language
    general = [fact for each in question.asked for fact in _of_subject(told, each, question.own, language)]
    words = [word for word in topic.words if word not in question.usual]
    nearest = _best(general, topic, within=True)
    if not nearest and subject.sections and not subject.rest:
        nearest = [fact for fact in told if fact.section in subject.sections and words_in(_heard(fact.text), words)]
    foreign = question.has_clinical(words)
    if general and not foreign and subject.sections and not subject.rest:
        return nearest or general  # "Does any food make you itch?" is about allergies
    if nearest and not subject.rest:
        return nearest
    if foreign or {place.name for place in topic.places} - question.usual or question.unlisted - {*subject.record}:
        found: Sequence[RecordSentence] = _each(told, question)
        if subject.rest and question.is_list:  # of several illnesses each
            alike = [fact for fact in general if _best([fact], topic, within=True)]
            found = [fact for fact in told if fact in found or fact in alike]
        # "No serious disease" answers a question for one of them.
        denying = [fact for fact in general if _denies(fact, language)]
        return found or denying or ([] if subject.rest and question.names_illness else general)
    if subject.rest and not question.is_list and question.names_illness:
        return nearest or general  # "Have you got high blood pressure?"
    return general


def _of_subject(
    told: Sequence[RecordSentence], subject: Subject, own: frozenset[str], language: Language
) -> list[RecordSentence]:
    """What the first section of a subject that says anything about it says; of its matters those that are named."""
    names = [name for name in subject.tells if name in own] or subject.tells
    own_part = [fact for fact in told if fact.section in subject.sections]
    for section in subject.sections:
        recorded = [fact for fact in own_part if fact.section == section]
        if section == "person":
            found = _recorded(recorded, subject.record, language)
        else:
            found = _telling(recorded, names, language)
        if found:
            return found
    return own_part if subject.rest else []  # of an earlier illness at least what else there was


def _telling(facts: Sequence[RecordSentence], names: Sequence[str], language: Language) -> list[RecordSentence]:
    """The facts that tell one of these, as they are read by their meaning."""
    return [facts[at] for at in telling([fact.text for fact in facts], names, language)]


def _of_the_family(recorded: Sequence[RecordSentence], question: _Question) -> Sequence[RecordSentence]:
    """All of the family history, or what it says of a particular illness: at least that there is none of any kind."""
    general = {name for each in subjects().values() if each.sections for name in each.record} - {"allergy"}
    if not (question.names_illness or question.own - general or question.topic.places):
        return recorded
    nearest = _best(recorded, question.topic, within=True)
    return nearest or [fact for fact in recorded if _denies(fact, question.language)]


def _each(told: Sequence[RecordSentence], question: _Question) -> Sequence[RecordSentence]:
    """What answers a particular question; of several things that are listed ("appetite, sleep and weight") each."""
    topic = question.topic
    if question.is_list and len(topic.matters) > 1 and not (topic.places or topic.words):
        return [fact for fact in told if any(_has(matter, fact) for matter in topic.matters)]
    return _best(told, topic)


def _recorded(facts: Sequence[RecordSentence], names: Sequence[str], language: Language) -> list[RecordSentence]:
    """The facts in which the record has one of these concepts."""
    about = [concept for concept in concepts(language) if concept.name in names]
    return [fact for fact in facts if any(concept.recorded.search(fact.text) for concept in about)]


def _denies(fact: RecordSentence, language: Language) -> bool:
    return _NONE[rules_of(language)].search(fact.text) is not None


def _best(facts: Sequence[RecordSentence], topic: Topic, within: bool = False) -> list[RecordSentence]:
    """The facts with most in common with the topic, in their order; ``within`` the section that was asked for."""
    known = all(any(_has(about, fact) for fact in facts) for about in (*topic.matters, *topic.places))
    scored = [(fact, _common(fact, topic, within, known and not topic.words)) for fact in facts]
    most = max((score for _, score in scored), default=0)
    return [fact for fact, score in scored if score == most] if most > 0 else []


def _common(fact: RecordSentence, topic: Topic, within: bool, known: bool) -> float:
    """How much a fact has in common with the topic; 0 if it is about something else.

    Of what is ``known`` to be on record, a sentence of the present illness may tell more without naming it again.
    """
    of_the_illness = fact.section == "present_illness"
    frames = sum(1 for frame in topic.frames if frame.recorded.search(fact.text))
    alone = sum(1 for frame in topic.frames if frame.alone and frame.recorded.search(fact.text))
    more = 3 * (alone + (words_in(fact.text, topic.frame_words) if alone else 0)) * of_the_illness
    if not (topic.matters or topic.places or topic.words):
        return frames * of_the_illness
    words = 0 if fact.section == "person" else words_in(_heard(fact.text), topic.words)
    matters = [matter for matter in topic.matters if _has(matter, fact)]
    places = [place for place in topic.places if _has(place, fact)]
    if not (matters or places or words):
        return more if known else 0
    if within:
        return 2 * len(matters) + len(places) + words
    if topic.places and (topic.matters or topic.words) and words < 2 and not (topic.matters and words):
        # Pain here and a rash there do not make a rash here: both must stand in one clause.
        together = any(
            place.recorded.search(clause)
            and (words_in(clause, topic.words) or any(matter.recorded.search(clause) for matter in matters))
            for clause in _CLAUSE.split(fact.text)
            for place in places
        )
        if not together:
            return more if known else 0
    if topic.matters and not matters and not words:
        return more if known else 0
    if not (topic.matters or topic.places) and 3 * words <= len(topic.words):
        return 0  # one word of many is chance
    return 2 * len(matters) + len(places) + words + 0.5 * frames + more


@lru_cache(maxsize=4096)
def _heard(text: str) -> str:
    """A sentence, its jargon in everyday words beside it: who asks for high blood pressure means hypertension."""
    lay = in_lay_words(text, "en") if text.isascii() else text
    return text if lay == text else f"{text} {lay}"


def _has(concept: Concept, fact: RecordSentence) -> bool:
    if fact.section == "person" and "person" not in concept.sections:
        return False
    return (not concept.sections or fact.section in concept.sections) and concept.recorded.search(fact.text) is not None
