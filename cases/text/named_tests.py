"""Find tests as doctors name them in free text, and the closed examination item of each."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from cases.grouping import grouped
from cases.text.examined_parts import examined_parts, parts_of_the_body, told_as
from cases.text.lexicon import GENERAL
from cases.text.words import language_of, rules_of
from cases.vocabulary import (
    EXAMINATION_ITEMS,
    IMAGE_CLASSES,
    PHYSICAL_ITEMS,
    Language,
    label,
    normalise,
    spelled,
    word_list,
)

# Follows the name of a picture whose findings are reported ("Angiography shows"); "reduced bone density" is no name.
_SHOWS = re.compile(r"[^,.;，。；]{0,200}?(?:[:：]|\b(?:show|reveal|demonstrat)|示|见)")
_BEGINNING = re.compile(r"(?<![a-z0-9])[\x00-\x7f]|[^\x00-\x7f]")  # where `spelled` lets a name begin
# Vital signs by their letters (T 36.8, P 80, BP120/80), or as a whole (stable), and the temperature in words.
_VITAL_SIGNS = re.compile(
    r"(?<![A-Za-z])(?:T[:： ]*(?:3[4-9]|4[0-2]|9[5-9]|10[0-6])|(?:(?:HR|PR?|RR?)[:： ]*|B[Pp])\d{2})(?!\d{2})"
    r"|(?:(?i:\bvital(?:s| signs)\b)|\bVSS?\b|生命体征)(?!.*\d)"
)
_FEVER = re.compile(r"\b(?:a?febrile|a?pyrexial|fever)\b|发热|发烧", re.IGNORECASE)
# Items under which many tests are filed: a test not named in the report was not done.
COLLECTIVE = ("Blood Test", "Urine Test", "Stool Test")
_TOO_GENERAL = ("general", "general condition", "general appearance")  # spellings that name no test in free text


@dataclass(frozen=True)
class NamedTest:
    """A test named in free text.

    Attributes:
        spelling: the name as it appears there, folded.
        item: the closed examination item under which its result is filed.
        spellings: other names of the test and its parts; empty if the name means the whole item.
        apart: whether it is filed under an item only because it has none of its own, like an electrocardiogram.
    """

    spelling: str
    item: str
    spellings: tuple[str, ...] = ()
    apart: bool = False


def named_tests(text: str) -> list[NamedTest]:
    """Return the tests that a text names, in order; a name within a longer name does not count."""
    first: dict[str, NamedTest] = {}
    for _, _, name in placed_tests(text):
        first.setdefault(name.spelling, name)
    return list(first.values())


@lru_cache(maxsize=4096)
def placed_tests(text: str) -> tuple[tuple[int, int, NamedTest], ...]:
    """Return every named test with its span in the folded text."""
    folded = normalise(text)
    beginnings = {folded[found.start() : found.start() + 2] for found in _BEGINNING.finditer(folded)}
    begun = (each for part in beginnings for each in _by_beginning().get(part, ()))
    candidates = sorted(each for each in begun if each[1].spelling in folded)  # trying all 3,900 patterns takes longer
    found = [(*match.span(), name) for _, name in candidates for match in spelled(name.spelling).finditer(folded)]
    by_hand = [(start, end, name.item in PHYSICAL_ITEMS.names and not name.apart) for start, end, name in found]
    found += [
        (start, end, NamedTest(word, item, told_as(word))) for start, end, word, item in examined_parts(folded, by_hand)
    ]
    sampled = [(name, each) for name, words, asked in _samples() if words.search(folded) for each in asked]
    found += [(*match.span(1), name) for name, each in sampled for match in each.finditer(folded)]
    other_kind = _of_another_kind((start, end, name.item) for start, end, name in found if name.item in IMAGE_CLASSES)
    found = [(start, end, name) for start, end, name in found if (start, end, name.item) not in other_kind]
    within, gone_beyond = _overlapping((start, end) for start, end, _ in found)  # "查血" is not in "查血酮"
    longest = [
        (start, end, name)
        for start, end, name in found
        if (start, end) not in within and (name.spellings or (start, end) not in gone_beyond)
    ]
    return tuple(sorted(longest, key=lambda place: place[0]))


def _of_another_kind(imaging: Iterable[tuple[int, int, str]]) -> set[tuple[int, int, str]]:
    """Return the names that begin within one of another item and end behind it: a CT scan of the abdomen is a CT."""
    ordered = sorted(set(imaging))
    starts = [start for start, *_ in ordered]
    return {
        later
        for place, (start, end, item) in enumerate(ordered)
        for later in ordered[place + 1 : bisect_left(starts, end)]
        if start < later[0] and end < later[1] and later[2] != item
    }


def _overlapping(spans: Iterable[tuple[int, int]]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the spans that lie within another, and those within which another begins that ends behind them."""
    ordered = sorted(set(spans), key=lambda span: (span[0], -span[1]))
    starts = [start for start, _ in ordered]
    within, gone_beyond, furthest = set[tuple[int, int]](), set[tuple[int, int]](), -1
    for place, (start, end) in enumerate(ordered):
        if end <= furthest:
            within.add((start, end))
        furthest = max(furthest, end)
        if any(start < other and end < last for other, last in ordered[place + 1 : bisect_left(starts, end)]):
            gone_beyond.add((start, end))
    return within, gone_beyond


def told_of(test: NamedTest, report: Sequence[str]) -> list[str]:
    """Return the sentences of its item's report that are about a test.

    A report that does not repeat the test's name ("The stomach ...") is about it, unless many tests are filed under the
    item, or the report names another of its kind. Of the general examination, a line with vital signs by their letters
    (P 80) or as a whole may be about it, and about the temperature "afebrile". An item's name alone ("an X-ray", "the
    chest") excludes the tests that are `apart`.
    """
    own = [line for line in report if _tells_of(test, line)]
    if not test.spellings:
        return _without_apart(report, passages=test.item in IMAGE_CLASSES)
    if test.item in IMAGE_CLASSES and not test.apart:
        others = (name for name in named_tests(" ".join(report)) if name.item == test.item and name.spellings)
        return own if any(not {*name.spellings} & {*test.spellings} for name in others) else [*report]
    if test.item == GENERAL and not own:
        signs = (_VITAL_SIGNS, _FEVER) if "temperature" in test.spellings else (_VITAL_SIGNS,)
        return [line for line in report if any(each.search(line) for each in signs)]
    return own or ([] if test.apart or test.item in COLLECTIVE else _without_apart(report, passages=False))


def is_other(test: NamedTest, name: str) -> bool:
    """Whether a picture's name is that of an `apart` test of the same item, other than this test."""
    others = [other for other in named_tests(name) if other.item == test.item and other.apart]
    return bool(others) and not any({*other.spellings} & {*test.spellings} for other in others)


def reported(line: str) -> list[NamedTest]:
    """Return the tests whose result a line reports ("Angiography shows ...", 肺功能：...)."""
    words = normalise(line)
    return [name for _, end, name in placed_tests(line) if _SHOWS.match(words, end)]


def _without_apart(report: Sequence[str], passages: bool) -> list[str]:
    """Drop the lines about `apart` tests (an angiogram, an ECG), with ``passages`` up to the next test's name."""
    plain, keep = [], True
    for line in report:
        names = reported(line)
        keep = not any(name.apart for name in names) if names or not passages else keep
        plain += [line] if keep else []
    return plain


def occurs(spelling: str, text: str) -> bool:
    """Whether a name occurs in a text as a separate word; in Chinese, which has no word boundaries, anywhere."""
    folded = normalise(spelling)
    return folded != "" and spelled(folded).search(normalise(text)) is not None


def _tells_of(test: NamedTest, line: str) -> bool:
    """Whether a line has one of the test's names outside another test's name: haemoglobin is not HbA1c."""
    folded = normalise(line)
    found = [match.span() for name in test.spellings for match in spelled(name).finditer(folded)]
    others = [
        (start, end)
        for start, end, name in (placed_tests(line) if found else ())
        if name.spellings and not {*name.spellings} & {*test.spellings}
    ]
    return any(not any(a <= start and end <= b and (a, b) != (start, end) for a, b in others) for start, end in found)


def labelled_test(text: str) -> list[NamedTest]:
    """Return the tests that a label means: an item, a region (`Chest`), or the whole physical examination."""
    folded = normalise(text)
    if whole := whole_words().search(folded):
        return parts_of(whole_test(language_of(whole.group())))
    item = None if folded in _TOO_GENERAL else EXAMINATION_ITEMS.canonical(text)
    return (
        [NamedTest(folded, item)]
        if item
        else [NamedTest(word, item, told_as(word)) for word, item in parts_of_the_body() if word == folded]
    )


@cache
def whole_words() -> re.Pattern[str]:
    """Return the pattern of words for the whole physical examination."""
    return re.compile("".join(word_list("tests")["whole"]["words"].split("\n")))


def whole_test(language: Language) -> NamedTest:
    """Return the whole physical examination as it is called in a language."""
    return NamedTest(word_list("tests")["whole"][rules_of(language)], PHYSICAL_ITEMS.names[0])


def parts_of(test: NamedTest) -> list[NamedTest]:
    """Return the test alone, or all physical items, under the name of the whole, if it is the whole examination."""
    return [NamedTest(test.spelling, item) for item in PHYSICAL_ITEMS.names] if is_whole(test) else [test]


def is_whole(test: NamedTest) -> bool:
    """Whether a test is the whole physical examination."""
    return test.spelling in (whole_test("en").spelling, whole_test("zh").spelling)


def test_called(test: str, language: Language) -> NamedTest:
    """Return a test, item or the whole physical examination by its English name, as it is called in a language."""
    tests = word_list("tests")
    entry = next((entry for entry in (*tests["test"], tests["whole"]) if entry["en"] == test), None)
    spelling = normalise(label(test, language) if entry is None else entry[language])
    return _by_spelling()[spelling]


@cache
def _by_spelling() -> dict[str, NamedTest]:
    return {
        name.spelling: name for name in reversed((*_tests(), *_items(), whole_test("en"), whole_test("zh"), *_listed()))
    }


@cache
def _names() -> tuple[NamedTest, ...]:
    ambiguous = {*_TOO_GENERAL, *(word for word, _ in parts_of_the_body())}  # a part of the body alone names no test
    items = [name for name in _items() if name.spelling not in ambiguous]
    return tuple({name.spelling: name for name in (*items, *_listed(), *_tests())}.values())


@cache
def _by_beginning() -> Mapping[str, list[tuple[int, NamedTest]]]:
    """Return the numbered names by their first two characters."""
    return grouped((name.spelling[:2], (number, name)) for number, name in enumerate(_names()))


@cache
def _samples() -> tuple[tuple[NamedTest, re.Pattern[str], tuple[re.Pattern[str], ...]], ...]:
    """Return laboratory samples, each with its words and the patterns of phrases that order it by one of them."""
    return tuple(
        (
            _by_spelling()[normalise(entry["test"])],
            re.compile(entry["words"]),
            tuple(re.compile(frame.format(words=entry["words"])) for frame in word_list("tests")["sampled"]),
        )
        for entry in word_list("tests")["sample"]
    )


def _items() -> Iterator[NamedTest]:
    for term in EXAMINATION_ITEMS.terms:
        for spelling in term.spellings:
            yield NamedTest(normalise(spelling), term.en)


def _tests() -> Iterator[NamedTest]:
    for test in word_list("tests")["test"]:
        extra = _extra_names().get(normalise(test["en"]), ((), ()))
        names = [*map(normalise, (test["en"], test["zh"], *test.get("aliases", ()))), *extra[0]]
        parts = [*map(normalise, test.get("parts", ())), *extra[1]]
        for spelling in names:
            spellings = () if test.get("whole") else (*names, *parts)
            yield NamedTest(spelling, EXAMINATION_ITEMS.require(test["item"]), spellings, "apart" in test)


def _listed() -> Iterator[NamedTest]:
    """Yield the tests of the long list (``listed_tests.toml``) that are not in ``tests.toml``."""
    known = {normalise(test["en"]) for test in word_list("tests")["test"]}
    for listed in word_list("listed_tests")["listed"]:
        for names, parts in _lines(listed["names"]):
            spellings = () if listed.get("whole") else (*names, *parts)
            for spelling in names if names[0] not in known else ():
                yield NamedTest(spelling, EXAMINATION_ITEMS.require(listed["item"]), spellings, "apart" in listed)


@cache
def _extra_names() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return further names, and names in results, from the long list by a test's first name."""
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for listed in word_list("listed_tests")["listed"]:
        for names, parts in _lines(listed["names"]):
            earlier = found.get(names[0], ((), ()))
            found[names[0]] = (*earlier[0], *names[1:]), (*earlier[1], *parts)
    return found


def _lines(listed: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield for each line of the long list the folded names, and the names in results after the colon."""
    for line in listed.splitlines():
        names, _, parts = line.partition(" : ")
        yield [normalise(name) for name in names.split(", ")], [normalise(name) for name in parts.split(", ") if name]
