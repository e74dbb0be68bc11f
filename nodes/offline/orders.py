"""Which results an order opens: what the doctor's words name of examinations, values and treatments."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from cases.text.named_tests import COLLECTIVE, NamedTest, occurs, told_of
from cases.text.ordered_tests import denied, is_within, left_of, ordered_tests, phrases
from cases.text.record_sentences import RecordSentence
from cases.vocabulary import EXAMINATION_ITEMS, IMAGE_CLASSES, Language, normalise, spelled
from nodes.offline.consultation_words import Order, concepts, named_in, orders, pattern
from nodes.offline.topics import topic_of, words_in


def open_results(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """The results that the doctor's words name, whatever a model makes of these words."""
    results = [fact for fact in facts if fact.is_result]
    return [fact for fact in results if fact in {*_opened(results, words, language)}]


def ordered_results(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """The results of all that the doctor names; where nothing is known by name, of a rare word that one has too."""
    results = [fact for fact in facts if fact.is_result]
    if _named(words, language):
        return open_results(facts, words, language)
    ordered = left_of(words)
    unknown = {*named_in(ordered, language)} & {*topic_of(ordered, language).words}  # no complaint, no part of the body
    rare = [word for word in unknown if sum(words_in(fact.text, [word]) for fact in results) in (1, 2)]
    return [fact for fact in results if words_in(fact.text, rare)]


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
    folded = normalise(words)
    none = denied(words)
    tests = [_Name(*place) for place in ordered_tests(words)]
    patterns = (
        _Name(*match.span(), order)
        for order in orders(language)
        for match in order.asked.finditer(folded)
        if not is_within(match.span(), none)
    )
    # "CT" within "PET-CT" is another examination.
    inside = (name for name in patterns if not any(test.start < name.start and name.end <= test.end for test in tests))
    return (*inside, *tests)


def _opened(results: Sequence[RecordSentence], words: str, language: Language) -> Iterator[RecordSentence]:
    """The results of each phrase of an order, so that an order for two things opens what each opens alone."""
    for names, phrase in _parted(words, language):
        yield from _of_phrase(results, names, phrase, language)


def is_of_the_part(item: str, report: str, words: str, language: Language) -> bool:
    """Whether an item's report may be of the part of the body that the words order it of, if they name one."""
    wanted = [
        " ".join((phrase, *_spelt(name)[:2]))
        for names, phrase in _parted(words, language)
        for name in names
        if name.known.item == item
    ]
    return not wanted or any(_shows([report], phrase, language) for phrase in wanted)


def _spelt(name: _Name) -> tuple[str, ...]:
    return name.known.spellings if isinstance(name.known, NamedTest) else ()


def _parted(words: str, language: Language) -> Iterator[tuple[Sequence[_Name], str]]:
    """What each phrase of an order names, and the phrase itself."""
    folded = normalise(words)
    parts = [
        (start, end, [name for name in _named(words, language) if start <= name.start < end])
        for start, end in phrases(folded)
    ]
    for number, (start, end, names) in enumerate(parts):
        # "Chest and abdominal CT": a phrase that names nothing says more of its neighbours.
        before = takewhile(lambda phrase: not phrase[2], reversed(parts[:number]))
        after = takewhile(lambda phrase: not phrase[2], parts[number + 1 :])
        first = min([start, *(phrase[0] for phrase in before)])
        last = max([end, *(phrase[1] for phrase in after), *(name.end for name in names)])
        yield names, folded[first:last]


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
        spelt = _spelt(name)
        if any(occurs(spelling, fact.text) for spelling in spelt for fact in found):
            yield from found
        else:
            yield from _of_the_part(found, " ".join((phrase, *spelt[:2])), language)


def _of_the_part(found: Sequence[RecordSentence], phrase: str, language: Language) -> Iterator[RecordSentence]:
    """Without the pictures of other parts of the body than those that are named."""
    for item in dict.fromkeys(fact.section for fact in found):
        shown = [fact for fact in found if fact.section == item]
        if item not in IMAGE_CLASSES or _shows([fact.text for fact in shown], phrase, language):
            yield from shown


def tried(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """What the history says of a treatment that the doctor names."""
    named = {match.group().casefold() for match in pattern("treatment", "", language).finditer(words)}
    told = [fact for fact in facts if fact.section in ("present_illness", "past_history")]
    words_named = [] if names_examination(words, language) else named_in(words, language)
    treated = [concept for concept in concepts(language) if concept.name in ("medicines", "treatment so far")]
    return [
        fact
        for fact in told
        if any(name in fact.text.casefold() for name in named)
        or (words_in(fact.text, words_named) and any(each.recorded.search(fact.text) for each in treated))
    ]


def is_specific(words: str, language: Language) -> bool:
    """Whether the words name an examination, a value, a treatment, or something by its initials."""
    return (
        bool(_named(words, language))
        or pattern("treatment", "", language).search(words) is not None
        or re.search(r"(?<![A-Za-z])(?!OK|TV|AM|PM)[A-Z]{2,}", words) is not None
    )


def names_examination(words: str, language: Language) -> bool:
    """Whether an examination is named by words that say that it is one: names of items and tests stand in questions."""
    return any(order.asked.search(words) for order in orders(language)) or any(
        spelled(normalise(name)).search(normalise(words)) for term in EXAMINATION_ITEMS.terms for name in term.names
    )


def _shows(reports: Sequence[str], words: str, language: Language) -> bool:
    """Whether there are reports, and not only of other parts of the body than those the doctor names."""
    for term in EXAMINATION_ITEMS.terms:  # "Neck Examination" does not say that the CT should be of the neck
        words = words.replace(normalise(term.label(language)), " ")
    wanted = _regions(words, language)
    shown = {region for report in reports for region in _regions(report, language)}
    return bool(reports) and (not wanted or not shown or any(_meet(one, other) for one in wanted for other in shown))


def _regions(text: str, language: Language) -> set[tuple[str, frozenset[int]]]:
    """The parts of the body that a text names, each with which of its own parts (the knee of the leg)."""
    return {
        (concept.region, frozenset(at for at, part in enumerate(concept.parts) if part.search(text)))
        for concept in concepts(language)
        if concept.region and concept.asked.search(text)
    }


def _meet(one: tuple[str, frozenset[int]], other: tuple[str, frozenset[int]]) -> bool:
    return one[0] == other[0] and (not (one[1] and other[1]) or bool(one[1] & other[1]))
