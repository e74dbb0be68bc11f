"""What is on file for an examination asked for in free words: by its closed item, and by its name in the text."""

import re
from dataclasses import dataclass

from cases.case import ExaminationRecord
from cases.text.lexicon import test_item
from cases.text.named_tests import NamedTest, labelled_test, named_tests, occurs
from cases.text.sentences import sentences
from cases.vocabulary import normalise, patterns
from nodes.state.chart import Picture
from nodes.workflow.examiner import release

# Items under which many tests are filed together: what is not named in the text was not done.
_COLLECTIVE = ("Blood Test", "Urine Test", "Stool Test")
_PATTERNS = patterns("nodes.patients", "patterns")


@dataclass(frozen=True)
class Filed:
    """What was found for one request: texts, and pictures that stand for texts; neither if nothing is on file."""

    texts: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()


def look_up(record: ExaminationRecord, name: str, folder: str, send_pictures: bool) -> Filed:
    """What the record holds of one examination.

    The name of a closed item gives its whole text; the name of a test gives the sentences in which it, another of its
    names or a part of it stands. A picture is handed over instead of its written findings.
    """
    names = named_tests(name) or labelled_test(name)
    texts: list[str] = []
    pictures: list[Picture] = []
    for test in names:
        results, shown = release(record, [test.item], folder, send_pictures)
        pictures += shown
        if not shown:
            texts += _sentences_on(test, record) or _whole(test, results)
    if not names:
        texts = _sentences_with((normalise(name),), record) if _is_test(name) else []
    return Filed(tuple(dict.fromkeys(texts)), tuple({picture.file: picture for picture in pictures}.values()))


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
        named = [each for each in named_tests(words) if each.item == test.item]
        if any(not each.spellings or set(each.spellings) & set(test.spellings) for each in named):
            allowed.append(test.spelling)
        elif not test.spellings:
            allowed += [each.spelling for each in named]
    return list(dict.fromkeys(allowed))


def _sentences_on(test: NamedTest, record: ExaminationRecord) -> list[str]:
    own = record.model_copy(
        update={
            "physical": {item: text for item, text in record.physical.items() if item == test.item},
            "auxiliary": {item: text for item, text in record.auxiliary.items() if item == test.item},
        }
    )
    return _sentences_with(test.spellings, own)


def _sentences_with(names: tuple[str, ...], record: ExaminationRecord) -> list[str]:
    return [
        sentence
        for text in record.results.values()
        for sentence in sentences(text)
        if any(occurs(name, sentence) for name in names)
    ]


def _whole(test: NamedTest, results: dict[str, str]) -> list[str]:
    return [] if test.spellings and test.item in _COLLECTIVE else list(results.values())


def _own_words(name: str) -> list[str]:
    left = _PATTERNS["vague"].sub(" ", normalise(name))
    return list(re.findall(r"[a-z0-9][\w'-]{2,}|[一-鿿]{2,}", left))


def _is_test(name: str) -> bool:
    """Whether a name outside the vocabularies is one of a test, and not just any words that a text may hold."""
    left = " ".join(_own_words(name))
    if not left:
        return False
    return test_item(left) is not None if left.isascii() else _PATTERNS["test_like"].search(left) is not None
