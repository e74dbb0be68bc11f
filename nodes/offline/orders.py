"""Which results an order opens: what the doctor's words name of examinations, values and treatments."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, takewhile

from cases.text import lexicon
from cases.text.examined_parts import parts_of_the_body, told_as
from cases.text.named_tests import NamedTest, named_tests, occurs, reported, told_of, whole_words
from cases.text.ordered_tests import left_of, order_sentences, ordered_tests, phrases
from cases.text.record_sentences import RecordSentence
from cases.text.words import rules_of
from cases.vocabulary import (
    EXAMINATION_ITEMS,
    IMAGE_CLASSES,
    PHYSICAL_ITEMS,
    Language,
    data_file,
    normalise,
    patterns,
    spelled,
)
from nodes.offline.consultation_words import concepts, named_in, pattern
from nodes.offline.hearing import heard_tests
from nodes.offline.topics import topic_of, words_in

_PATTERNS = patterns("nodes.offline", "patterns")
_NOTHING = re.compile(r"(?!)")


def open_results(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """The results that the doctor's words name, whatever a model makes of these words."""
    results = [fact for fact in facts if fact.is_result]
    return [fact for fact in results if fact in {*_opened(results, words, language)}]


def ordered_results(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """The results of all that the doctor names; where nothing is known by name, of a rare word that one has too."""
    results = [fact for fact in facts if fact.is_result]
    if heard_tests(words) or ordered_tests(words):  # what is only named is not ordered by a word of its name either
        return open_results(facts, words, language)
    ordered = left_of(words)
    unknown = {*named_in(ordered, language)} & {*topic_of(ordered, language).words}  # no complaint, no part of the body
    rare = [word for word in unknown if sum(words_in(fact.text, [word]) for fact in results) in (1, 2)]
    return [fact for fact in results if words_in(fact.text, rare)]


def results_of(test: NamedTest, results: Sequence[RecordSentence], language: Language) -> list[RecordSentence]:
    """What of the results a test is about; of a record that files all that was seen as one, what is of that part."""
    by_hand = test.item in PHYSICAL_ITEMS.names
    places = (
        PHYSICAL_ITEMS.names if test.apart and by_hand else (test.item,)
    )  # an ECG stands where there is room for it
    filed = [fact for fact in results if fact.section in places]
    if (by_hand or test.apart) and not any(_names(test, fact) for fact in filed):
        others = [fact for fact in results if not by_hand or fact.section in PHYSICAL_ITEMS.names]
        elsewhere = [fact for fact in others if fact not in filed and _names(test, fact)]
        if elsewhere:  # a rectal examination stands with the belly's or with the urogenital one
            return elsewhere
    told = told_of(test, [fact.text for fact in filed])
    found = [fact for fact in filed if fact.text in told]
    if test.apart or not by_hand or not all(map(_is_apart, filed)):
        return found
    parts = parts_of_the_body()
    seen = [
        fact
        for fact in results
        if fact.section == lexicon.GENERAL
        and not any(named.apart for named in reported(fact.text))
        and (
            any(occurs(spelling, fact.text) for spelling in test.spellings)
            or lexicon.physical_item(fact.text.rpartition(":")[0]) == test.item
            or any(named.item == test.item for named in named_tests(fact.text))
            or _seen_by_hand(language)[test.item].search(fact.text)
            or any(item == test.item and occurs(word, fact.text) for word, item in parts if not told_as(word))
        )
    ]
    return seen or found


def _names(test: NamedTest, fact: RecordSentence) -> bool:
    """Whether a result has one of the names of a test that has any."""
    return any(told_of(test, [fact.text])) if test.apart else any(occurs(name, fact.text) for name in test.spellings)


@cache
def _seen_by_hand(language: Language) -> dict[str, re.Pattern[str]]:
    """What is said of each examination by hand."""
    rules = rules_of(language)
    begin = {"en": r"(?i)(?<![a-z])(?:{})", "zh": "(?:{})"}[rules]
    parts = data_file("nodes.offline", "seen_by_hand")["part"]
    return {PHYSICAL_ITEMS.names[0]: _NOTHING} | {part["item"]: re.compile(begin.format(part[rules])) for part in parts}


def _is_apart(fact: RecordSentence) -> bool:
    """Whether a result is of a test that stands with the physical examination for want of a place (an ECG)."""
    return any(test.apart for test in named_tests(fact.text))


def _opened(results: Sequence[RecordSentence], words: str, language: Language) -> Iterator[RecordSentence]:
    """The results of each phrase of an order, so that an order for two things opens what each opens alone."""
    for tests, phrase in _parted(words):
        yield from _of_phrase(results, tests, phrase, language)


def of_the_part(item: str, report: Sequence[str], words: str, language: Language) -> list[str]:
    """The sentences of an item's report that may be of the part of the body that the words order it of."""
    wanted = [
        " ".join((phrase, *test.spellings[:2]))
        for tests, phrase in _parted(words)
        for test in tests
        if test.item == item
    ]
    shown = {line for phrase in wanted for line in _shown(item, report, phrase, language)}
    return [line for line in report if not wanted or line in shown]


def _parted(words: str) -> Iterator[tuple[Sequence[NamedTest], str]]:
    """What each phrase of an order names, and the phrase itself."""
    folded, heard = normalise(words), heard_tests(words)
    stops = {end for _, end in order_sentences(folded)}
    cuts = sorted(stops | {end for _, end in phrases(folded)})
    ends = [end for end in cuts if not any(first < end < last for first, last, _ in heard)]  # of no name
    parts = [(start, end, [place for place in heard if start <= place[0] < end]) for start, end in pairwise([0, *ends])]
    for number, (start, end, tests) in enumerate(parts):
        # "Chest and abdominal CT": a phrase that names nothing says more of its neighbours in the sentence.
        before = takewhile(lambda phrase: not phrase[2] and phrase[1] not in stops, reversed(parts[:number]))
        after = takewhile(lambda phrase: not phrase[2] and phrase[0] not in stops, parts[number + 1 :])
        first = min([start, *(phrase[0] for phrase in before)])
        last = max([end, *(phrase[1] for phrase in after), *(place[1] for place in tests)])
        yield [test for *_, test in tests], folded[first:last]


def _of_phrase(
    results: Sequence[RecordSentence], tests: Sequence[NamedTest], phrase: str, language: Language
) -> Iterator[RecordSentence]:
    """The results of what one phrase names; a picture of another part of the body is none."""
    for test in tests:
        found = results_of(test, results, language)
        if any(occurs(spelling, fact.text) for spelling in test.spellings for fact in found):
            yield from found
        else:
            yield from _of_the_part(found, " ".join((phrase, *test.spellings[:2])), language)


def _of_the_part(found: Sequence[RecordSentence], phrase: str, language: Language) -> Iterator[RecordSentence]:
    """Without the pictures of other parts of the body than those that are named."""
    for item in dict.fromkeys(fact.section for fact in found):
        of_item = [fact for fact in found if fact.section == item]
        texts = [fact.text for fact in of_item]
        shown = _shown(item, texts, phrase, language) if item in IMAGE_CLASSES else texts
        yield from (fact for fact in of_item if fact.text in shown)


def tried(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """What the history says of a treatment that the doctor names."""
    named = {match.group().casefold() for match in pattern("treatment", "", language).finditer(words)}
    told = [fact for fact in facts if fact.section in ("present_illness", "past_history")]
    words_named = [] if heard_tests(words) else named_in(words, language)
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
        bool(ordered_tests(words))
        or pattern("treatment", "", language).search(words) is not None
        or re.search(r"(?<![A-Za-z])(?!OK|TV|AM|PM)[A-Z]{2,}", words) is not None
    )


def names_examination(words: str) -> bool:
    """Whether an item of examinations is named, which asks for its result, where a test's name stands in questions.

    The physical examination as a whole is one.
    """
    folded = normalise(words)
    return whole_words().search(folded) is not None or any(
        spelled(normalise(name)).search(folded) for term in EXAMINATION_ITEMS.terms for name in term.names
    )


def _shown(item: str, report: Sequence[str], words: str, language: Language) -> list[str]:
    """A report without its passages on other parts of the body than those the doctor names.

    A sentence that names a picture of the item begins a passage; one on no part in particular may be of any.
    """
    for term in EXAMINATION_ITEMS.terms:  # "Neck Examination" does not say that the CT should be of the neck
        words = words.replace(normalise(term.label(language)), " ")
    wanted = _regions(words, language)
    named = [[test for test in named_tests(line) if test.item == item] for line in report]
    shown: list[str] = []
    for first, end in pairwise(sorted({0, *(at for at, tests in enumerate(named) if tests), len(report)})):
        names = [name for tests in named[first:end] for test in tests for name in test.spellings]
        parts = _regions("\n".join((*report[first:end], *names)), language)
        if not wanted or not parts or any(_meet(one, other) for one in wanted for other in parts):
            shown += report[first:end]
    return shown


def _regions(text: str, language: Language) -> set[tuple[str, frozenset[int]]]:
    """The parts of the body that a text names, each with which of its own parts (the knee of the leg)."""
    with_the_pelvis = _PATTERNS["seen_with_the_pelvis"].search(text) is not None
    return ({("pelvis", frozenset[int]())} if with_the_pelvis else set()) | {
        (concept.region, frozenset(at for at, part in enumerate(concept.parts) if part.search(text)))
        for concept in concepts(language)
        if concept.region and concept.asked.search(text)
    }


def _meet(one: tuple[str, frozenset[int]], other: tuple[str, frozenset[int]]) -> bool:
    return one[0] == other[0] and (not (one[1] and other[1]) or bool(one[1] & other[1]))
