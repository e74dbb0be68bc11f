"""Find the results of an examination requested in free words: by its item, and by its name in the texts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cases.case import ExaminationRecord
from cases.text.lexicon import test_item
from cases.text.named_tests import NamedTest, is_other, is_whole, labelled_test, named_tests, occurs, told_of
from cases.text.record_sentences import RecordSentence
from cases.text.sentences import sentences
from cases.text.words import has_chinese, language_of, rules_of
from cases.vocabulary import EXAMINATION_ITEMS, IMAGE_CLASSES, PHYSICAL_ITEMS, Language, normalise, patterns
from nodes.offline.hearing import heard_tests
from nodes.offline.orders import of_the_part, regions_of, results_of
from nodes.offline.places import called_by_doctors
from nodes.state.chart import Picture, each_file_once
from nodes.workflow.examiner import release

_PATTERNS = patterns("nodes.patients", "patterns")


@dataclass(frozen=True)
class Filed:
    """The results of one request: texts, and pictures instead of texts; both empty if nothing is on file."""

    texts: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()


def look_up(record: ExaminationRecord, name: str, folder: str, send_pictures: bool, words: str = "") -> Filed:
    """Return what the record holds of one examination.

    The name of a closed item gives its whole text; the name of a test gives the sentences that mention it, one of its
    other names, or a part of it. A picture is handed over instead of its written findings, unless these are about
    another test, or about another part of the body than the one that ``words`` name.
    """
    tests = named_tests(name) or labelled_test(name)
    texts: list[str] = []
    pictures: list[Picture] = []
    for test in tests:
        written = record.results.get(test.item, "") if test.item in IMAGE_CLASSES else ""
        meant = of_the_part(test.item, sentences(written), words, record.results)
        if written and not meant:
            continue
        unpictured = sentences(record.unpictured.get(test.item, ""))
        named = any(_is_called(test, image.name) for image in record.images if image.item == test.item)
        replaced = not written or named or any(line not in unpictured for line in told_of(test, meant))
        send = send_pictures and replaced
        results, shown = release(_with_ordered_pictures(record, test), [test.item], folder, send)
        pictures += shown
        if elsewhere := _filed_elsewhere(record, test):
            texts += elsewhere
            continue
        for text in results.values():
            report = sentences(text)
            lines = [line for line in told_of(test, report) if not written or line in meant]
            texts += [text] if lines == report else lines
    if not tests:
        lines = [line for text in record.results.values() for line in sentences(text)] if _is_test(name) else []
        texts = [line for line in lines if occurs(name, line)]
    told = [text for text in dict.fromkeys(texts) if not any(text in other for other in texts if other != text)]
    return Filed(tuple(told), tuple(each_file_once(pictures)))


def _filed_elsewhere(record: ExaminationRecord, test: NamedTest) -> list[str]:
    """Return findings of a physical examination that are filed under other items; none if all are under its own."""
    if test.item not in PHYSICAL_ITEMS.names:
        return []
    facts = [RecordSentence(item, line) for item, text in record.results.items() for line in sentences(text)]
    found = results_of(test, facts, language_of(*record.physical.values()))
    return [fact.text for fact in found] if any(fact.section != test.item for fact in found) else []


def _with_ordered_pictures(record: ExaminationRecord, test: NamedTest) -> ExaminationRecord:
    """Return the record with only those pictures of the test's class that an order by this name means."""
    of_class = [image for image in record.images if image.item == test.item and not is_other(test, image.name)]
    named = [image for image in of_class if occurs(test.spelling, image.name)]
    named = named or [image for image in of_class if _is_called(test, image.name)]
    meant = named or ([image for image in of_class if not image.name] if not test.spellings else of_class) or of_class
    if any(image.name for image in of_class) and test.spellings and not named:
        meant = [image for image in of_class if not image.name]
    return record.model_copy(update={"images": meant})


def _is_called(test: NamedTest, picture: str) -> bool:
    """Whether a picture's name is the test's, or another name of it: an angiogram is an angiography."""
    return any(occurs(name, picture) for name in (test.spelling, *test.spellings))


def told_once(filed: Mapping[str, Filed]) -> list[str]:
    """Return the names under which to tell results: those with a sentence or picture that none before them has.

    The same sentence on two pictures or samples ("Normal.") says something of each; a finding by hand may be filed
    under several parts. Of names without results, it is the first for each test and part.
    """
    names, said = [], set[object]()
    for name, results in filed.items():
        tests = tuple((test.item, test.spellings or frozenset(regions_of(name))) for test in named_tests(name))
        done = frozenset(item for item, _ in tests if item not in PHYSICAL_ITEMS.names)
        lines = {(done, line) for text in results.texts for line in sentences(text)}
        found: set[object] = {*lines, *(picture.file for picture in results.pictures)} or {tests or name}
        if not found <= said:
            names.append(name)
            said |= found
    return names


def as_spoken(name: str, words: str, language: Language) -> str:
    """Return a case-folded name as the words that contain it spell it, or else the vocabulary: "mri" becomes "MRI".

    Chinese words that ask for a test without naming it (张嘴我看看, 抽点血) become its name, if there is one. An order
    in the other language is answered in this one: in a Chinese dialogue, "ECG" becomes 心电图.
    """
    tests, is_chinese = named_tests(name), language == "zh"
    if tests and language == rules_of(language) and has_chinese(words) != is_chinese:
        own = [one for one in tests[0].spellings if has_chinese(one) == is_chinese]
        return next(iter(own), called_by_doctors(tests[0].item, language))
    if _PATTERNS["no_name"].search(name) and tests:
        whole = called_by_doctors(tests[0].item, "zh")
        formal = [one for one in tests[0].spellings or (whole,) if one == whole or one.endswith("检查")]
        name = next(iter(formal), name)
    spoken = re.search(re.escape(name), words, re.IGNORECASE)
    item = EXAMINATION_ITEMS.canonical(name) or name
    return spoken.group() if spoken else called_by_doctors(item, language) if normalise(item) == name else name


def is_asked_for(name: str, words: str) -> bool:
    """Whether the words name an examination itself, and not only a part of it."""
    known = {test.spelling for test in (*named_tests(name), *labelled_test(name))}
    asked = {*asked_for(name, words)}
    return bool(asked & known if known else asked)


def asked_for(name: str, words: str) -> list[str]:
    """Return what the words really ask for of the examination that an earlier step derived from them.

    The name itself if the words name the examination or the whole item that it belongs to; the narrower names if they
    name only parts of it; else nothing. So no request yields more than it says.
    """
    tests = [*named_tests(name), *labelled_test(name)]
    if not tests:
        spoken = [name] if occurs(name, words) else [part for part in _specific_words(name) if occurs(part, words)]
        return [part for part in spoken if _is_test(part)]
    allowed = []
    for test in tests:
        named = [found for *_, found in heard_tests(words) if found.item == test.item]
        if any(is_whole(found) or (not is_whole(test) and _covers(found, test)) for found in named):
            allowed.append(test.spelling)
        elif not test.spellings:
            allowed += [found.spelling for found in named]
    return list(dict.fromkeys(allowed))


def ordered_as(name: str, words: str) -> list[str]:
    """Return what `asked_for` does, but under the whole name if the words have it: "chest CT" is not told as "CT"."""
    asked, whole = asked_for(name, words), normalise(name)
    is_whole_name = len(asked) == 1 and occurs(whole, words) and named_tests(whole) == named_tests(asked[0])
    return [whole] if is_whole_name else asked


def part_of(name: str, words: str) -> str:
    """Return the words that say for which part of the body a test is ordered: its own name, or else the whole order."""
    return name if regions_of(name) and occurs(name, words) else words


def _covers(named: NamedTest, test: NamedTest) -> bool:
    """Whether the named test is the same one by any name, or the whole item that it belongs to."""
    return not named.spellings or bool({*named.spellings} & {*test.spellings})


def _specific_words(name: str) -> list[str]:
    rest = _PATTERNS["vague"].sub(" ", normalise(name))
    return list(re.findall(r"[a-z0-9][\w'-]{2,}|[一-鿿]{2,}", rest))


def _is_test(name: str) -> bool:
    """Whether a name outside the vocabularies is that of a test, not just any words that a text may contain."""
    rest = " ".join(_specific_words(name))
    if not rest:
        return False
    return test_item(rest) is not None if rest.isascii() else _PATTERNS["test_like"].search(rest) is not None
