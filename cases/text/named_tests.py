"""Tests as doctors name them in free words, and the closed examination item that each is filed under."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

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

# Words that say that a region is examined, and how far they reach.
_EXAMINING = re.compile(
    r"(?=(\b(?:examine|palpate|auscultate|inspect|listen|feel|look (?:at|in|into|inside|down)|press on"
    r"|exam(?:ination)? of)\b[^,.;]{0,40}"
    r"|\b(?:check|shine a light in(?:to)?) (?:[a-z]+ )?(?:pupils|eyes?|ears?|throat|tonsils|mouth|skin)\b"
    r"|(?:检查|触诊|听诊|叩诊|[听看摸按查照敲][一个下听看摸按查照敲])[^,.;，。；、]{0,12}))"
)
_EXAMINED = re.compile(
    r"[a-z ]{1,40}? (?:exam(?:ination)?s?|check(?:-?up)?|looked at|listened to|examined|checked)\b"  # "a skin exam"
    r"|[^,.;，。；、\s]{1,10}?(?:查体|查个体|[查看摸听按瞧]一下|体检|体格检查|检查|听诊|触诊|叩诊|[让给]?我[看摸听按瞧](?:[看摸听按瞧]|一下)|[让给]我[看摸听按瞧])"
)
# Where a sample is named to be taken or looked at.
_SAMPLED = (
    r"\b(?:tests?|testing|check|analy[sz]e|send|collect|bring|give|leave|provide|sample of|look at)\b"
    r"[^,.;]{{0,25}}?\b({words})(?![a-z])",
    r"\b({words}) (?:samples?|tests?|check|specimen)\b",
    r"(?:化验|检验|[验留送查采测取](?![心意神]))[^,.;，。；、?？]{{0,6}}?({words})",
    r"({words})(?:去|也|都|做|一起)*(?:化验|检验|送检|样本|标本)",
)
# What follows in the clause where a report names its picture ("Angiography shows"): "reduced bone density" is none.
_SHOWS = re.compile(r"[^,.;，。；]*?(?:[:：]|\b(?:show|reveal|demonstrat)|示|见)")
_JOINED = re.compile(r"\b(?:and|plus|then)\b|[和及与并再]")
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
    found += _regions_examined(folded, [(start, end) for start, end, _ in found])
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


def _regions_examined(folded: str, tests: Sequence[tuple[int, int]]) -> list[tuple[int, int, NamedTest]]:
    """Regions that a word of examining is about, unless it belongs to a test (an ultrasound of the belly)."""
    return [
        (begin + match.start(), begin + match.end(), region)
        for begin, end in (*_after_a_verb(folded, tests), *_before_a_noun(folded, tests))
        for region in _regions()
        for match in spelled(region.spelling).finditer(folded[begin:end])
    ]


def _after_a_verb(folded: str, tests: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What verbs reach: up to the phrase of the next test ("examine the chest and get a CT of the head")."""
    for clause in _EXAMINING.finditer(folded):  # each verb reaches as far as it would alone: "look at ... and feel ..."
        begin, reach = clause.span(1)
        if any(start <= begin <= end + 1 for start, end in tests):
            continue
        test = min((start for start, _ in tests if begin < start < reach), default=None)
        joined = [match.start() for match in _JOINED.finditer(folded, begin, test or reach)]
        if test is None or joined:
            yield begin, joined[-1] if test is not None else reach


def _before_a_noun(folded: str, tests: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What stands before "examination", from the last test on ("a CT and a skin examination")."""
    for told in _EXAMINED.finditer(folded):
        yield max([told.start(), *(end for start, end in tests if start < told.end())]), told.end()


def labelled_test(text: str) -> list[NamedTest]:
    """The examination that a label stands for: an item's spelling, a region (`Chest`) alone, or all items by hand."""
    folded = normalise(text)
    if whole := whole_words().search(folded):
        return parts_of(whole_test(language_of(whole.group())))
    item = None if folded in _TOO_WIDE else EXAMINATION_ITEMS.canonical(text)
    return [NamedTest(folded, item)] if item else [name for name in _regions() if name.spelling == folded]


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
    return {name.spelling: name for name in reversed((*_tests(), *_items(), whole_test("en"), whole_test("zh")))}


@cache
def _names() -> tuple[NamedTest, ...]:
    regions = {name.spelling for name in _regions()}
    names = {name.spelling: name for name in (*_items(), *_tests()) if name.spelling not in (*regions, *_TOO_WIDE)}
    return tuple(names.values())


@cache
def _samples() -> tuple[tuple[NamedTest, tuple[re.Pattern[str], ...]], ...]:
    """What is sent to the laboratory, whatever it is called, beside a word that says that it is."""
    whole = {name.spelling: name for name in _tests() if not name.spellings}
    return tuple(
        (whole[entry["test"]], tuple(re.compile(frame.format(words=entry["words"])) for frame in _SAMPLED))
        for entry in word_list("tests")["sample"]
    )


@cache
def _regions() -> tuple[NamedTest, ...]:
    return tuple(
        NamedTest(normalise(word), EXAMINATION_ITEMS.require(region["item"]))
        for region in word_list("tests")["region"]
        for word in region["words"]
    )


def _items() -> Iterator[NamedTest]:
    for term in EXAMINATION_ITEMS.terms:
        for spelling in term.spellings:
            yield NamedTest(normalise(spelling), term.en)


def _tests() -> Iterator[NamedTest]:
    for test in word_list("tests")["test"]:
        names = [test["en"], test["zh"], *test.get("aliases", ())]
        spellings = tuple(normalise(spelling) for spelling in (*names, *test.get("parts", ())))
        for spelling in names:
            item = EXAMINATION_ITEMS.require(test["item"])
            yield NamedTest(normalise(spelling), item, () if test.get("whole") else spellings, "apart" in test)
