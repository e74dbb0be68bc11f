"""What is on file for an examination asked for in free words: by its closed item, and by its name in the text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cases.case import ExaminationRecord
from cases.text.lexicon import test_item
from cases.text.named_tests import NamedTest, is_other, is_whole, labelled_test, named_tests, occurs, told_of
from cases.text.record_sentences import RecordSentence
from cases.text.sentences import sentences
from cases.text.words import language_of
from cases.vocabulary import IMAGE_CLASSES, PHYSICAL_ITEMS, normalise, patterns
from nodes.offline.hearing import heard_tests
from nodes.offline.orders import of_the_part, results_of
from nodes.state.chart import Picture
from nodes.workflow.examiner import release

_PATTERNS = patterns("nodes.patients", "patterns")


@dataclass(frozen=True)
class Filed:
    """What was found for one request: texts, and pictures that stand for texts; neither if nothing is on file."""

    texts: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()


def look_up(record: ExaminationRecord, name: str, folder: str, send_pictures: bool, words: str = "") -> Filed:
    """What the record holds of one examination.

    The name of a closed item gives its whole text; the name of a test gives the sentences in which it, another of its
    names or a part of it stands. A picture is handed over instead of its written findings, but none whose findings tell
    of another test, or of another part of the body than the words order it of.
    """
    names = named_tests(name) or labelled_test(name)
    texts: list[str] = []
    pictures: list[Picture] = []
    for test in names:
        known = record.results.get(test.item, "") if test.item in IMAGE_CLASSES else ""
        meant = of_the_part(test.item, sentences(known), words, language_of(words, known))
        if known and not meant:
            continue
        beside = sentences(record.unpictured.get(test.item, ""))
        of_a_picture = not known or any(line not in beside for line in told_of(test, meant))
        send = send_pictures and of_a_picture
        results, shown = release(_with_pictures_of(record, test), [test.item], folder, send)
        pictures += shown
        if seen := _seen_elsewhere(record, test):
            texts += seen
            continue
        for text in results.values():
            report = sentences(text)
            told = [line for line in told_of(test, report) if not known or line in meant]
            texts += [text] if told == report else told
    if not names:
        texts = _sentences_with((normalise(name),), record) if _is_test(name) else []
    return Filed(tuple(dict.fromkeys(texts)), tuple({picture.file: picture for picture in pictures}.values()))


def _seen_elsewhere(record: ExaminationRecord, test: NamedTest) -> list[str]:
    """What was found by hand, where a record files all that was seen as one; nothing where the test has its own."""
    if test.item not in PHYSICAL_ITEMS.names:
        return []
    facts = [RecordSentence(item, line) for item, text in record.results.items() for line in sentences(text)]
    seen = results_of(test, facts, language_of(*record.physical.values()))
    return [fact.text for fact in seen] if any(fact.section != test.item for fact in seen) else []


def _with_pictures_of(record: ExaminationRecord, test: NamedTest) -> ExaminationRecord:
    """The record with those pictures of the test's class that an order by this name is for."""
    of_class = [image for image in record.images if image.item == test.item and not is_other(test, image.name)]
    named = [image for image in of_class if image.name and occurs(test.spelling, image.name)]
    meant = named or ([image for image in of_class if not image.name] if not test.spellings else of_class) or of_class
    if any(image.name for image in of_class) and test.spellings and not named:
        meant = [image for image in of_class if not image.name]
    return record.model_copy(update={"images": meant})


def told_once(filed: Mapping[str, Filed]) -> list[str]:
    """The names to tell results under: of several for one result, or for one test without any, the first."""
    first: dict[object, str] = {}
    for name, one in filed.items():
        found = (one.texts, tuple(picture.file for picture in one.pictures))
        tests = tuple((test.item, test.spellings) for test in named_tests(name))
        first.setdefault(found if any(found) else tests or name, name)
    return [*first.values()]


def as_spoken(name: str, words: str) -> str:
    """A folded name as it stands in the words that it was heard in: "mri" was an MRI."""
    spoken = re.search(re.escape(name), words, re.IGNORECASE)
    return spoken.group() if spoken else name


def is_asked_for(name: str, words: str) -> bool:
    """Whether the words call an examination by one of its names, and not only a part of it."""
    known = {test.spelling for test in (*named_tests(name), *labelled_test(name))}
    asked = {*asked_for(name, words)}
    return bool(asked & known if known else asked)


def asked_for(name: str, words: str) -> list[str]:
    """What of an examination that a first step made of a request was really asked for in these words.

    The name itself if the words call the examination by one of its names (or the whole item that it belongs to); the
    narrower names of the words if they name only parts of it; nothing if they name nothing of it. So no request
    yields more than it says.
    """
    tests = [*named_tests(name), *labelled_test(name)]
    if not tests:
        spoken = [name] if occurs(name, words) else [part for part in _own_words(name) if occurs(part, words)]
        return [part for part in spoken if _is_test(part)]
    allowed = []
    for test in tests:
        named = [each for *_, each in heard_tests(words) if each.item == test.item]
        if any(is_whole(each) or (not is_whole(test) and _is_of(each, test)) for each in named):
            allowed.append(test.spelling)
        elif not test.spellings:
            allowed += [each.spelling for each in named]
    return list(dict.fromkeys(allowed))


def _is_of(named: NamedTest, test: NamedTest) -> bool:
    """Whether what is named is a test by another name, or the whole item that it belongs to."""
    return not named.spellings or bool({*named.spellings} & {*test.spellings})


def _sentences_with(names: tuple[str, ...], record: ExaminationRecord) -> list[str]:
    return [
        sentence
        for text in record.results.values()
        for sentence in sentences(text)
        if any(occurs(name, sentence) for name in names)
    ]


def _own_words(name: str) -> list[str]:
    left = _PATTERNS["vague"].sub(" ", normalise(name))
    return list(re.findall(r"[a-z0-9][\w'-]{2,}|[一-鿿]{2,}", left))


def _is_test(name: str) -> bool:
    """Whether a name outside the vocabularies is one of a test, and not just any words that a text may hold."""
    left = " ".join(_own_words(name))
    if not left:
        return False
    return test_item(left) is not None if left.isascii() else _PATTERNS["test_like"].search(left) is not None
