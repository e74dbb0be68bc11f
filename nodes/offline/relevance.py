"""Which facts of the record answer a question, and which results an order gets: the rules without a model.

A question is taken apart into what it is about: parts of the record (the family), parts of the body, complaints and
habits, words that no list knows, and how it is asked for (when, how bad, what makes it worse). A fact answers it if it
is about the same; the facts that have most in common are the answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from cases.text.named_tests import COLLECTIVE, NamedTest, placed_tests, told_of
from cases.text.record_sentences import RecordSentence
from cases.text.words import stem
from cases.text.words import words as cut
from cases.vocabulary import EXAMINATION_ITEMS, IMAGE_CLASSES, Language, normalise, spelled
from nodes.offline.consultation_words import Concept, Order, concepts, matters_in, named_in, orders, pattern

_JOINED = re.compile(
    r"[,;，；](?![查看测])|[、。\n+]|\. |\b(?:and|plus|then|as well as|along with)\b|以及|还有|加上|[和及与并再]"
)
_CLAUSE = re.compile(r"[,;:，；：]|\band\b|\bbut\b")


@dataclass(frozen=True)
class Topic:
    """What a question is about, taken apart."""

    sections: tuple[Concept, ...]
    matters: tuple[Concept, ...]
    places: tuple[Concept, ...]
    frames: tuple[Concept, ...]
    words: tuple[str, ...]
    frame_words: tuple[str, ...]

    @property
    def clinical(self) -> int:
        """How many things of a record it names."""
        return len(self.sections) + len(self.matters) + len(self.places)

    @property
    def is_empty(self) -> bool:
        """Whether the question is about nothing in particular."""
        return not (self.sections or self.matters or self.places or self.frames or self.words)


@lru_cache(maxsize=1024)
def topic_of(words: str, language: Language) -> Topic:
    """What the doctor's words are about."""
    found: dict[str, list[Concept]] = {"section": [], "matter": [], "place": [], "frame": []}
    rest, framing = words, ""
    for concept in concepts(language):
        if concept.asked.search(words):
            found[concept.kind].append(concept)
            rest = concept.asked.sub(" ", rest)
            if concept.kind == "frame":
                framing += " " + " ".join(match.group() for match in concept.asked.finditer(words))
    return Topic(
        sections=tuple(found["section"]),
        matters=tuple(found["matter"]),
        places=tuple(found["place"]),
        frames=tuple(found["frame"]),
        words=tuple(dict.fromkeys(stem(word) for word in matters_in(rest, language))),
        frame_words=tuple(dict.fromkeys(stem(word) for word in matters_in(framing, language))),
    )


def released_for(facts: Sequence[RecordSentence], words: str, kind: str, language: Language) -> list[RecordSentence]:
    """The facts that a specific question (``inquiry``) or specific ``advice`` may have."""
    if kind == "advice":
        return ordered_results(facts, words, language) or tried(facts, words, language)
    return answering(facts, words, language)


def open_results(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """The results that the doctor's words name, whatever a model makes of these words."""
    results = [fact for fact in facts if fact.is_result]
    return [fact for fact in results if fact in {*_opened(results, words, language)}]


def answering(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """The facts that answer a question; none if it is about nothing that is on record.

    Results are given only if the question names the examination.
    """
    if _examinations(words, language) and (ordered := ordered_results(facts, words, language)):
        return ordered
    told = [fact for fact in facts if not fact.is_result and fact.section != "chief_complaint"]
    topic = topic_of(words, language)
    for concept in topic.sections:
        section = [fact for fact in told if fact.section == concept.name]
        if not (topic.matters or topic.places or topic.words):
            return section
        named = [fact for fact in told if concept.recorded.search(fact.text)]
        return _best(section, topic, within=True) or _best(named, topic)
    return _best(told, topic)


def ordered_results(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """The results of all that the doctor names; where nothing is known by name, of a rare word that one has too."""
    results = [fact for fact in facts if fact.is_result]
    if _named(words, language):
        return open_results(facts, words, language)
    unknown = {*named_in(words, language)} & {*topic_of(words, language).words}  # no complaint, no part of the body
    rare = [word for word in unknown if _sentences_with(word, results) in (1, 2)]
    return [fact for fact in results if _words_in(fact.text, rare)]


@dataclass(frozen=True)
class _Name:
    """What an order names, and where in the folded words: as one of our patterns knows it, or by a test's own name."""

    start: int
    end: int
    known: Order | NamedTest

    @property
    def whole(self) -> str:
        """The item that is named as a whole, if one is."""
        known = self.known
        return "" if isinstance(known, NamedTest) and known.spellings else known.item or ""

    def of(self, results: Sequence[RecordSentence]) -> list[RecordSentence]:
        """What of the results it is about."""
        if isinstance(self.known, Order):
            return [fact for fact in results if fact.section == self.whole or self.known.recorded.search(fact.text)]
        filed = [fact for fact in results if fact.section == self.known.item]
        told = told_of(self.known, [fact.text for fact in filed])
        return [fact for fact in filed if fact.text in told]


@lru_cache(maxsize=1024)
def _named(words: str, language: Language) -> tuple[_Name, ...]:
    """All that is named, by any list."""
    tests = [_Name(*place) for place in placed_tests(words)]
    patterns = (
        _Name(*match.span(), order) for order in orders(language) for match in order.asked.finditer(normalise(words))
    )
    # "CT" within "PET-CT" is another examination.
    inside = (name for name in patterns if not any(test.start < name.start and name.end <= test.end for test in tests))
    return (*inside, *tests)


def _opened(results: Sequence[RecordSentence], words: str, language: Language) -> Iterator[RecordSentence]:
    """The results of each phrase of an order, so that an order for two things opens what each opens alone."""
    folded = normalise(words)
    cuts = [0, *(match.end() for match in _JOINED.finditer(folded)), len(folded) + 1]
    phrases = [
        (start, end, [name for name in _named(words, language) if start <= name.start < end])
        for start, end in pairwise(cuts)
    ]
    for number, (start, end, names) in enumerate(phrases):
        # "Chest and abdominal CT": a phrase that names nothing says more of its neighbours.
        before = takewhile(lambda phrase: not phrase[2], reversed(phrases[:number]))
        after = takewhile(lambda phrase: not phrase[2], phrases[number + 1 :])
        first = min([start, *(phrase[0] for phrase in before)])
        last = max([end, *(phrase[1] for phrase in after), *(name.end for name in names)])
        yield from _of_phrase(results, names, folded[first:last], language)


def _of_phrase(
    results: Sequence[RecordSentence], names: Sequence[_Name], phrase: str, language: Language
) -> Iterator[RecordSentence]:
    """The results of what one phrase names.

    Of a collection of tests ("blood for CRP") only what is named of it; a picture of another part of the body is none.
    """
    parts = [(name, name.of(results)) for name in names if not name.whole]
    called = {name.known.item for name, _ in parts} | {fact.section for _, found in parts for fact in found}
    narrowed = {name.whole for name in names} & {*COLLECTIVE} & called
    for name in names:
        found = name.of(results)
        if name.whole in narrowed:
            continue
        if not name.whole:
            found = [fact for fact in found if fact.section in narrowed] or found
        spelt = name.known.spellings[:2] if isinstance(name.known, NamedTest) else ()
        yield from _of_the_part(found, " ".join((phrase, *spelt)), language)


def _of_the_part(found: Sequence[RecordSentence], phrase: str, language: Language) -> Iterator[RecordSentence]:
    """Without the pictures of other parts of the body than those that are named."""
    for item in dict.fromkeys(fact.section for fact in found):
        shown = [fact for fact in found if fact.section == item]
        if item not in IMAGE_CLASSES or _shows(shown, phrase, language):
            yield from shown


def tried(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """What the history says of a treatment that the doctor names."""
    named = {match.group().casefold() for match in pattern("treatment", "", language).finditer(words)}
    told = [fact for fact in facts if fact.section in ("present_illness", "past_history")]
    words_named = [] if _examinations(words, language) else named_in(words, language)
    treated = [concept for concept in concepts(language) if concept.name in ("medicines", "treatment so far")]
    return [
        fact
        for fact in told
        if any(name in fact.text.casefold() for name in named)
        or (_words_in(fact.text, words_named) and any(each.recorded.search(fact.text) for each in treated))
    ]


def is_specific(words: str, language: Language) -> bool:
    """Whether the words name an examination, a value, a treatment, or something by its initials."""
    return (
        bool(_named(words, language))
        or pattern("treatment", "", language).search(words) is not None
        or re.search(r"(?<![A-Za-z])(?!OK|TV|AM|PM)[A-Z]{2,}", words) is not None
    )


def _examinations(words: str, language: Language) -> bool:
    """Whether an examination is named by words that say that it is one: names of items and tests stand in questions."""
    return any(order.asked.search(words) for order in orders(language)) or any(
        spelled(normalise(name)).search(normalise(words)) for term in EXAMINATION_ITEMS.terms for name in term.names
    )


def _shows(results: Sequence[RecordSentence], words: str, language: Language) -> bool:
    """Whether there are results, and not only of other parts of the body than those the doctor names."""
    for term in EXAMINATION_ITEMS.terms:  # "Neck Examination" does not say that the CT should be of the neck
        words = words.replace(normalise(term.label(language)), " ")
    wanted = {place.region for place in topic_of(words, language).places if place.region}
    shown = {
        concept.region
        for fact in results
        for concept in concepts(language)
        if concept.region and concept.asked.search(fact.text)
    }
    return bool(results) and (not wanted or not shown or bool(wanted & shown))


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
    more = 3 * (alone + (_words_in(fact.text, topic.frame_words) if alone else 0)) * of_the_illness
    if not (topic.matters or topic.places or topic.words):
        return frames * of_the_illness
    words = 0 if fact.section == "person" else _words_in(fact.text, topic.words)
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
            and (_words_in(clause, topic.words) or any(matter.recorded.search(clause) for matter in matters))
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


def _has(concept: Concept, fact: RecordSentence) -> bool:
    if fact.section == "person" and "person" not in concept.sections:
        return False
    return (not concept.sections or fact.section in concept.sections) and concept.recorded.search(fact.text) is not None


def _sentences_with(word: str, facts: Sequence[RecordSentence]) -> int:
    return sum(_words_in(fact.text, [word]) for fact in facts)


def _words_in(text: str, words: Sequence[str]) -> int:
    folded = text.casefold()
    stems = {stem(word) for word in cut(folded)}
    return sum(word in stems if word.isascii() else word in folded for word in words)
