"""Tests as doctors name them in free words, and the closed examination item that each is filed under."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from cases.text.examined_parts import examined_parts, parts_of_the_body, told_as
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

# What follows in the clause where a report names its picture ("Angiography shows"): "reduced bone density" is none.
_SHOWS = re.compile(r"[^,.;，。；]*?(?:[:：]|\b(?:show|reveal|demonstrat)|示|见)")
# Items under which many tests are filed together: what is not named in the text was not done.
COLLECTIVE = ("Blood Test", "Urine Test", "Stool Test")
_TOO_WIDE = ("general", "general condition", "general appearance")  # spellings of an item that name none in free words


@dataclass(frozen=True)
class NamedTest:
    """One name in free words.

    Attributes:
        spelling: as it stands there, folded.
        item: the closed examination item under which its result is filed.
        spellings: other names of the same test, and of its parts; empty if the name stands for the whole item.
        apart: whether it is filed under an item for want of one of its own, as an electrocardiogram is.
    """

    spelling: str
    item: str
    spellings: tuple[str, ...] = ()
    apart: bool = False


def named_tests(text: str) -> list[NamedTest]:
    """The examinations that a text calls by a name of their own, in its order; a name inside a longer one is that."""
    first: dict[str, NamedTest] = {}
    for _, _, name in placed_tests(text):
        first.setdefault(name.spelling, name)
    return list(first.values())


@lru_cache(maxsize=4096)
def placed_tests(text: str) -> tuple[tuple[int, int, NamedTest], ...]:
    """The same, each with its place in the folded text, as often as it stands there."""
    folded = normalise(text)
    there = [name for name in _names() if name.spelling in folded]  # 850 patterns are compiled and tried for longer
    found = [(*match.span(), name) for name in there for match in spelled(name.spelling).finditer(folded)]
    by_hand = [(start, end, name.item in PHYSICAL_ITEMS.names and not name.apart) for start, end, name in found]
    found += [
        (start, end, NamedTest(word, item, told_as(word))) for start, end, word, item in examined_parts(folded, by_hand)
    ]
    found += [(*match.span(1), name) for name, asked in _samples() for each in asked for match in each.finditer(folded)]
    longest = [
        (start, end, name)
        for start, end, name in found
        if not any(
            (a <= start and end <= b and (a, b) != (start, end)) or (not name.spellings and start < a < end < b)
            for a, b, _ in found
        )  # "查血" is not in "查血酮"
    ]
    return tuple(sorted(longest, key=lambda place: (place[0], -place[1])))


def told_of(test: NamedTest, report: Sequence[str]) -> list[str]:
    """The sentences of its item's report that tell of a test.

    A report that does not repeat the test's name ("The stomach ...") is about it, unless many tests are filed there, or
    it names another of its kind. An item's name alone ("an X-ray", "the chest") means nothing that is only filed there.
    """
    own = [line for line in report if _tells_of(test, line)]
    if not test.spellings:
        return _without_apart(report, passages=test.item in IMAGE_CLASSES)
    if test.item in IMAGE_CLASSES and not test.apart:
        others = (name for name in named_tests(" ".join(report)) if name.item == test.item and name.spellings)
        return own if any(not {*name.spellings} & {*test.spellings} for name in others) else [*report]
    return own or ([] if test.apart or test.item in COLLECTIVE else _without_apart(report, passages=False))


def is_other(test: NamedTest, name: str) -> bool:
    """Whether a picture's name is that of one which is only filed under the test's item, and which is not the test."""
    kept_apart = [each for each in named_tests(name) if each.item == test.item and each.apart]
    return bool(kept_apart) and not any({*each.spellings} & {*test.spellings} for each in kept_apart)


def reported(line: str) -> list[NamedTest]:
    """The tests that a line says the result of ("Angiography shows ...", 肺功能：...)."""
    return [name for _, end, name in placed_tests(line) if _SHOWS.match(normalise(line), end)]


def _without_apart(report: Sequence[str], passages: bool) -> list[str]:
    """A report without what is only filed there (an angiogram, an ECG): of pictures as far as the next is named."""
    plain, kept = [], True
    for line in report:
        names = reported(line)
        kept = not any(name.apart for name in names) if names or not passages else kept
        plain += [line] if kept else []
    return plain


def occurs(spelling: str, text: str) -> bool:
    """Whether a name stands in a text as a word of its own; Chinese has no word boundaries, so anywhere."""
    folded = normalise(spelling)
    return folded != "" and spelled(folded).search(normalise(text)) is not None


def _tells_of(test: NamedTest, line: str) -> bool:
    """Whether a line has one of the test's names, and not only within another test's: haemoglobin is no HbA1c."""
    folded = normalise(line)
    found = [match.span() for name in test.spellings for match in spelled(name).finditer(folded)]
    others = [
        (start, end)
        for start, end, name in (placed_tests(line) if found else ())
        if name.spellings and not {*name.spellings} & {*test.spellings}
    ]
    return any(not any(a <= start and end <= b and (a, b) != (start, end) for a, b in others) for start, end in found)


def labelled_test(text: str) -> list[NamedTest]:
    """The examination that a label stands for: an item's spelling, a region (`Chest`) alone, or all items by hand."""
    folded = normalise(text)
    if whole := whole_words().search(folded):
        return parts_of(whole_test(language_of(whole.group())))
    item = None if folded in _TOO_WIDE else EXAMINATION_ITEMS.canonical(text)
    return (
        [NamedTest(folded, item)]
        if item
        else [NamedTest(word, item, told_as(word)) for word, item in parts_of_the_body() if word == folded]
    )


@cache
def whole_words() -> re.Pattern[str]:
    """Words for the physical examination as a whole."""
    return re.compile("".join(word_list("tests")["whole"]["words"].split("\n")))


def whole_test(language: Language) -> NamedTest:
    """The physical examination as a whole, as it is called in a language."""
    return NamedTest(word_list("tests")["whole"][rules_of(language)], PHYSICAL_ITEMS.names[0])


def parts_of(test: NamedTest) -> list[NamedTest]:
    """The test alone; of the physical examination as a whole each of its items, by the name of the whole."""
    return [NamedTest(test.spelling, item) for item in PHYSICAL_ITEMS.names] if is_whole(test) else [test]


def is_whole(test: NamedTest) -> bool:
    """Whether a test is called the physical examination as a whole."""
    return test.spelling in (whole_test("en").spelling, whole_test("zh").spelling)


def test_called(test: str, language: Language) -> NamedTest:
    """A test, an item as a whole, or all items by hand, by its English name, as it is called in a language."""
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
    unsaid = {*_TOO_WIDE, *(word for word, _ in parts_of_the_body())}  # alone, a part of the body is no examination
    items = [name for name in _items() if name.spelling not in unsaid]
    return tuple({name.spelling: name for name in (*items, *_listed(), *_tests())}.values())


@cache
def _samples() -> tuple[tuple[NamedTest, tuple[re.Pattern[str], ...]], ...]:
    """What is sent to the laboratory, whatever it is called, beside a word that says that it is."""
    return tuple(
        (
            _by_spelling()[normalise(entry["test"])],
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
        further = _further().get(normalise(test["en"]), ((), ()))
        names = [*map(normalise, (test["en"], test["zh"], *test.get("aliases", ()))), *further[0]]
        told = [*map(normalise, test.get("parts", ())), *further[1]]
        for spelling in names:
            spellings = () if test.get("whole") else (*names, *told)
            yield NamedTest(spelling, EXAMINATION_ITEMS.require(test["item"]), spellings, "apart" in test)


def _listed() -> Iterator[NamedTest]:
    """The tests of the long list that are not of the other."""
    known = {normalise(test["en"]) for test in word_list("tests")["test"]}
    for listed in word_list("listed_tests")["listed"]:
        for names, told in _lines(listed["names"]):
            spellings = () if listed.get("whole") else (*names, *told)
            for spelling in names if names[0] not in known else ():
                yield NamedTest(spelling, EXAMINATION_ITEMS.require(listed["item"]), spellings, "apart" in listed)


@cache
def _further() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Further names of a test by its first, and what else its result may be told as."""
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for listed in word_list("listed_tests")["listed"]:
        for names, told in _lines(listed["names"]):
            before = found.get(names[0], ((), ()))
            found[names[0]] = (*before[0], *names[1:]), (*before[1], *told)
    return found


def _lines(listed: str) -> Iterator[tuple[list[str], list[str]]]:
    """Of each line of the long list its names, and what follows the colon, folded."""
    for line in listed.splitlines():
        names, _, told = line.partition(" : ")
        yield [normalise(name) for name in names.split(", ")], [normalise(name) for name in told.split(", ") if name]
