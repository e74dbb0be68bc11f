"""Which results an order releases: those of the examinations and values that the doctor's words name."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, takewhile

from cases.text import lexicon
from cases.text.examined_parts import parts_of_the_body, told_as
from cases.text.named_tests import NamedTest, named_tests, occurs, reported, told_of, whole_words
from cases.text.ordered_tests import left_of, order_sentences, ordered_tests, phrases
from cases.text.record_sentences import RecordSentence
from cases.text.words import language_of, rules_of
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
_NEVER = re.compile(r"(?!)")
_TISSUE = "Pathological Examination"
_BY_ORGAN = (_TISSUE, "Endoscopy")
Regions = set[tuple[str, frozenset[int]]]
_LANGUAGES: tuple[Language, ...] = ("en", "zh")  # that have rules


def open_results(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """Return the results that the doctor's words name by the rules, even where a model chooses what to release."""
    results = [fact for fact in facts if fact.is_result]
    by_phrase = _named_by_phrase(words)  # so that an order for two things releases both
    named = {fact for tests, phrase in by_phrase for fact in _phrase_results(results, tests, phrase, language)}
    return [fact for fact in results if fact in named]


def ordered_results(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """Return the results of everything that the doctor orders.

    If no test is recognised, match results by a rare word of the order: one that at most two results contain.
    """
    results = [fact for fact in facts if fact.is_result]
    if heard_tests(words) or ordered_tests(words):  # a test that is named but not ordered must not match by a word
        return open_results(facts, words, language)
    ordered = left_of(words)
    unknown = {*named_in(ordered, language)} & {*topic_of(ordered, language).words}  # no complaint, no part of the body
    rare = [word for word in unknown if sum(words_in(fact.text, [word]) for fact in results) in (1, 2)]
    return [fact for fact in results if words_in(fact.text, rare)]


def results_of(test: NamedTest, results: Sequence[RecordSentence], language: Language) -> list[RecordSentence]:
    """Return the results that a test is about.

    If a record files a whole physical examination as one, return its sentences on the part that the test examines.
    """
    by_hand = test.item in PHYSICAL_ITEMS.names
    sections = PHYSICAL_ITEMS.names if test.apart and by_hand else (test.item,)  # an ECG may be filed with any part
    filed = [fact for fact in results if fact.section in sections]
    if (by_hand or test.apart) and not any(_names(test, fact) for fact in filed):
        others = [fact for fact in results if not by_hand or fact.section in PHYSICAL_ITEMS.names]
        elsewhere = [fact for fact in others if fact not in filed and _names(test, fact)]
        if elsewhere:  # a rectal examination is filed with the abdominal or the urogenital one
            return elsewhere
    lines = told_of(test, [fact.text for fact in filed])
    in_report = [fact for fact in filed if fact.text in lines]
    if test.apart or not by_hand or not all(map(_is_apart, filed)):
        return in_report
    parts = parts_of_the_body()
    by_inspection = [
        fact
        for fact in results
        if fact.section == lexicon.GENERAL
        and not any(named.apart for named in reported(fact.text))
        and (
            any(occurs(spelling, fact.text) for spelling in test.spellings)
            or lexicon.physical_item(fact.text.rpartition(":")[0]) == test.item
            or any(named.item == test.item for named in named_tests(fact.text))
            or _finding_patterns(language)[test.item].search(fact.text)
            or any(item == test.item and occurs(word, fact.text) for word, item in parts if not told_as(word))
        )
    ]
    return by_inspection or in_report


def _names(test: NamedTest, fact: RecordSentence) -> bool:
    """Whether a result has one of a test's names."""
    return any(told_of(test, [fact.text])) if test.apart else any(occurs(name, fact.text) for name in test.spellings)


@cache
def _finding_patterns(language: Language) -> dict[str, re.Pattern[str]]:
    """Return a pattern for the findings of each physical examination."""
    rules = rules_of(language)
    template = {"en": r"(?i)(?<![a-z])(?:{})", "zh": "(?:{})"}[rules]
    parts = data_file("nodes.offline", "seen_by_hand")["part"]
    return {PHYSICAL_ITEMS.names[0]: _NEVER} | {
        part["item"]: re.compile(template.format(part[rules])) for part in parts
    }


def _is_apart(fact: RecordSentence) -> bool:
    """Whether a result is of a test that is filed with a physical examination only for want of a place (an ECG)."""
    return any(test.apart for test in named_tests(fact.text))


def of_the_part(item: str, report: Sequence[str], words: str, others: Mapping[str, str]) -> list[str]:
    """Return the sentences of an item's report that may be on the part of the body for which the words order it.

    ``others`` are all results by item, for a report of tissue that does not say of which organ.
    """
    beside = _beside(RecordSentence(*other) for other in others.items())
    wanted = [
        " ".join((phrase, *test.spellings[:2]))
        for tests, phrase in _named_by_phrase(words)
        for test in tests
        if test.item == item
    ]
    lines = {line for phrase in wanted for line in _lines_on_regions(item, report, phrase, beside)}
    return [line for line in report if not wanted or line in lines]


def _named_by_phrase(words: str) -> Iterator[tuple[Sequence[NamedTest], str]]:
    """Yield the tests that each phrase of an order names, and its text with its neighbours that name none."""
    folded, spans = normalise(words), heard_tests(words)
    stops = {end for _, end in order_sentences(folded)}
    cuts = sorted(stops | {end for _, end in phrases(folded)})
    ends = [end for end in cuts if not any(first < end < last for first, last, _ in spans)]  # none within a name
    parts = [(start, end, [place for place in spans if start <= place[0] < end]) for start, end in pairwise([0, *ends])]
    for number, (start, end, tests) in enumerate(parts):
        # "Chest and abdominal CT": a phrase without a test belongs to its neighbours in the sentence.
        before = takewhile(lambda phrase: not phrase[2] and phrase[1] not in stops, reversed(parts[:number]))
        after = takewhile(lambda phrase: not phrase[2] and phrase[0] not in stops, parts[number + 1 :])
        first = min([start, *(phrase[0] for phrase in before)])
        last = max([end, *(phrase[1] for phrase in after), *(place[1] for place in tests)])
        yield [test for *_, test in tests], folded[first:last]


def _phrase_results(
    results: Sequence[RecordSentence], tests: Sequence[NamedTest], phrase: str, language: Language
) -> Iterator[RecordSentence]:
    """Yield the results that one phrase names, without imaging of other parts of the body."""
    for test in tests:
        found = results_of(test, results, language)
        named = any(occurs(spelling, fact.text) for spelling in test.spellings for fact in found)
        if named and test.item not in _BY_ORGAN:
            yield from found
        else:
            yield from _without_other_parts(found, " ".join((phrase, *test.spellings[:2])), _beside(results))


def _beside(results: Iterable[RecordSentence]) -> str:
    """Return what pictures show, which tells of which organ a report of tissue is that does not say so."""
    return "\n".join(fact.text for fact in results if fact.section in IMAGE_CLASSES)


def _without_other_parts(found: Sequence[RecordSentence], phrase: str, beside: str) -> Iterator[RecordSentence]:
    """Yield the results without imaging of other parts of the body than the phrase names."""
    for item in dict.fromkeys(fact.section for fact in found):
        of_item = [fact for fact in found if fact.section == item]
        texts = [fact.text for fact in of_item]
        lines = _lines_on_regions(item, texts, phrase, beside) if item in IMAGE_CLASSES else texts
        yield from (fact for fact in of_item if fact.text in lines)


def tried(facts: Sequence[RecordSentence], words: str, language: Language) -> list[RecordSentence]:
    """Return the sentences of the history about a treatment that the doctor names: of a known one, by that name."""
    named = {match.group().casefold() for match in pattern("treatment", language).finditer(words)}
    history = [fact for fact in facts if fact.section in ("present_illness", "past_history")]
    named_stems = [] if named or heard_tests(words) else named_in(words, language)
    treatments = [concept for concept in concepts(language) if concept.name in ("medicines", "treatment so far")]
    return [
        fact
        for fact in history
        if any(name in fact.text.casefold() for name in named)
        or (words_in(fact.text, named_stems) and any(each.recorded.search(fact.text) for each in treatments))
    ]


def is_specific(words: str, language: Language) -> bool:
    """Whether the words name an examination, a value, a treatment, or something by its initials."""
    return (
        pattern("treatment", language).search(words) is not None
        or re.search(r"(?<![A-Za-z])(?!OK|TV|AM|PM)[A-Z]{2,}", words) is not None
        or bool(ordered_tests(words))
    )


def names_examination(words: str) -> bool:
    """Whether the words name an examination item or the whole physical examination, and so ask for its result."""
    folded = normalise(words)
    return whole_words().search(folded) is not None or any(
        spelled(normalise(name)).search(folded) for term in EXAMINATION_ITEMS.terms for name in term.names
    )


def _lines_on_regions(item: str, report: Sequence[str], words: str, beside: str) -> list[str]:
    """Return the lines of a report without the passages on other parts of the body than the doctor names.

    A line that names a test of the item begins a passage. One that names no part is on those in the other names of its
    tests, or else kept; of tissue, it is on the organs that the report names elsewhere, or else the results ``beside``
    it.
    """
    for term in EXAMINATION_ITEMS.terms:  # the "neck" of "Neck Examination" must not restrict a CT
        for language in _LANGUAGES:
            words = words.replace(normalise(term.label(language)), " ")
    wanted, organs = regions_of(words), organs_of(words) if item in _BY_ORGAN else set()
    elsewhere = organs_of("\n".join(report)) or organs_of(beside) if item == _TISSUE else set()
    named = [[test for test in named_tests(line) if test.item == item] for line in report]
    written = language_of(*report)  # 多普勒 has an English name of the liver's
    kept: list[str] = []
    for first, end in pairwise(sorted({0, *(at for at, tests in enumerate(named) if tests), len(report)})):
        names = [
            name
            for tests in named[first:end]
            for test in tests
            for name in test.spellings
            if language_of(name) == written
        ]
        passage, called = "\n".join(report[first:end]), "\n".join(names)
        regions, told = regions_of(passage) or regions_of(called), organs_of(f"{passage}\n{called}") or elsewhere
        if _overlap(wanted, regions) and _overlap(organs, told):
            kept += report[first:end]
    return kept


def organs_of(text: str) -> Regions:
    """Return the organs that a text on tissue or an endoscopy names, in either language."""
    return {(str(at), frozenset()) for at, organ in enumerate(_organs()) if any(one.search(text) for one in organ)}


@cache
def _organs() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    listed = data_file("nodes.offline", "organs")["organ"]
    return tuple((re.compile(rf"(?i)(?<![a-z])(?:{one['en']})"), re.compile(one["zh"])) for one in listed)


def regions_of(text: str) -> Regions:
    """Return the regions of the body that a text names, each with its named parts by index (the knee of the leg).

    In both languages, as an order need not be in the record's; their parts have the same order.
    """
    has_pelvis = _PATTERNS["seen_with_the_pelvis"].search(text) is not None
    return ({("pelvis", frozenset[int]())} if has_pelvis else set()) | {
        (concept.region, frozenset(at for at, part in enumerate(concept.parts) if part.search(text)))
        for language in _LANGUAGES
        for concept in concepts(language)
        if concept.region and (concept.asked.search(text) or concept.seen.search(text))
    }


def _overlap(wanted: Regions, named: Regions) -> bool:
    """Whether what is wanted may be what is named: one of its regions and parts, or either names none."""
    return not (wanted and named) or any(
        region == other and (not (parts and others) or bool(parts & others))
        for region, parts in wanted
        for other, others in named
    )
