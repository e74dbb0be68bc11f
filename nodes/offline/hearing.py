"""Tests that a doctor's words order, by name, by description (`ordered_tests`), or by meaning.

Orders that name no test ("a needle in your arm, we'll fill a tube") are recognised by two linear classifiers on
sentence embeddings, trained on `order_wordings.toml`: whether the words are an order, and for which test. A third
classifier, trained on `named_orders.toml`, drops sentences that name a test without ordering it ("the scan was clear").
Sentences about the past, refusals, and questions to the patient are ruled out first, so that most turns need no
embedding.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cases.text.named_tests import NamedTest, is_whole, parts_of, test_called
from cases.text.ordered_tests import (
    Placed,
    Span,
    denied,
    is_within,
    order_sentences,
    ordered_tests,
    phrases,
    picture_of,
    with_mark,
)
from cases.vocabulary import EXAMINATION_ITEMS, PHYSICAL_ITEMS, Language, data_file, normalise, patterns, word_list
from nodes.offline.stored_weights import weights_in
from retrieval import MULTILINGUAL_MODEL, embed

WEIGHTS = Path(str(files("nodes.offline") / "hearing.npz"))
_PATTERNS = patterns("cases", "vocabularies/patterns")
NO_ORDER = "none"
# Minimum probabilities: that words are an order, of its most probable test, and of that test beside a named one.
_MIN_ORDER, _MIN_TEST, _MIN_TEST_BESIDE_NAMED = 0.6, 0.4, 0.6
_MIN_ORDER_OF_WHOLE = 0.75  # of an order for the whole examination, which releases much
# Minimum probabilities that a sentence that names a test orders it, and that one about the past or the future does.
_MIN_NAMED_ORDER, _MIN_NAMED_ORDER_NOT_NOW = 0.15, 0.5
_CLAUSE = re.compile("[^,;:]+")
_MIN_LENGTH = {True: 8, False: 3}  # characters of a phrase, by whether it is ASCII


@cache
def order_wordings(language: Language) -> list[tuple[str, str]]:
    """Return orders in everyday words, each with its test or ``NO_ORDER``."""
    wordings = data_file("nodes.offline", "order_wordings")
    entries = [*wordings["order"], {"test": NO_ORDER, **wordings["none"]}]
    return [(words, entry["test"]) for entry in entries for words in entry[language].split("\n")[:-1]]


@cache
def named_orders(language: Language) -> list[tuple[str, bool]]:
    """Return folded sentences that name a test, and whether they order it.

    Templates are filled with the name of each test.
    """
    sentences, tests = data_file("nodes.offline", "named_orders"), word_list("tests")
    names = [
        *(test[language] for test in tests["test"]),
        tests["whole"][language],
        *(term.label(language) for term in EXAMINATION_ITEMS.terms),
    ]
    return [
        (normalise(text), kind == "order")
        for kind, plain in sentences["plain"].items()
        for frames in [plain[language].split("\n")[:-1]]
        for text in (
            *sentences[kind][language].split("\n")[:-1],
            *(frames[place % len(frames)].replace("{}", name) for place, name in enumerate(names)),
        )
    ]


@lru_cache(maxsize=4096)
def heard_tests(words: str) -> tuple[Placed, ...]:
    """Return the ordered tests with their spans in the folded words; a test found by meaning has its phrase's span."""
    folded, unordered = normalise(words), [*_named_not_ordered(words)]
    named = [place for place in ordered_tests(words) if not is_within(place[:2], unordered)]
    found = [
        (start, end, part)
        for sentence, places in weighed(words)
        for start, end, test in _classified(folded, sentence, places, named)
        for part in parts_of(test)
    ]
    places = sorted((*named, *found), key=lambda place: (place[0], -place[1]))
    # 抽个血 matches two names.
    unique = {(*place[:2], place[2].item, place[2].spellings): place for place in reversed(places)}
    return tuple(reversed(unique.values()))


def _named_not_ordered(words: str) -> Iterator[Span]:
    """Yield the spans of sentences that name a test but do not order it; no questions, which may ask for a result.

    The classifier scores the parts before and after a colon, and each clause with a name; one above the threshold makes
    the sentence an order. One with little beside the names ("Please get an ECG and a troponin") always is.
    """
    asked, named = with_mark(words), [place[:2] for place in ordered_tests(words)]
    for start, end in order_sentences(asked):
        sentence = asked[start:end]
        if not is_within((start, end), named) or sentence.rstrip().endswith("?"):
            continue
        if _is_bare(asked, (start, end), named):
            continue
        clauses = [match for match in _CLAUSE.finditer(asked, start, end) if is_within(match.span(), named)]
        parts = [*sentence.split(":"), *(clause.group() for clause in clauses)]
        threshold = _MIN_NAMED_ORDER_NOT_NOW if _PATTERNS["not_now"].search(sentence) else _MIN_NAMED_ORDER
        if not any(_order_probability("named_order", [part.strip()])[0] >= threshold for part in parts if part.strip()):
            yield start, end


def _is_bare(folded: str, sentence: Span, named: Sequence[Span]) -> bool:
    """Whether a sentence has little beside names of tests and parts of the body: "Please get an MRI of the knee"."""
    parts_imaged = [(at, of.end()) for at, end in named for of in picture_of(folded[at:end]).finditer(folded, at)]
    beside = "".join(folded[at] for at in range(*sentence) if not is_within((at, at + 1), [*named, *parts_imaged]))
    return _PATTERNS["beside_names"].fullmatch(beside) is not None


def heard_items(words: str) -> set[str]:
    """Return the closed examination items of the ordered tests; an ECG is not a physical examination of the chest."""
    return {test.item for *_, test in heard_tests(words) if not (test.apart and test.item in PHYSICAL_ITEMS.names)}


def items_asked_about(words: str) -> set[str]:
    """Return the closed examination items that the words order, or name at all, as in a question for a result."""
    return heard_items(words) | {*EXAMINATION_ITEMS.mentioned_in(words)}


def is_order(words: str) -> bool:
    """Whether the words contain an order that is no question, with or without a test's name."""
    folded, named = normalise(words), [place[:2] for place in ordered_tests(words)]
    places = [*weighed_sentences(words)]
    if any(is_within(place, named) and _is_bare(folded, place, named) for place in places):
        return True
    texts = [folded[start:end].strip() for start, end in places]
    return bool(texts) and bool((_classify(texts)[0] >= _MIN_ORDER).any())


def is_for_the_patient_to_do(words: str) -> bool:
    """Whether the order is for something that the patient does on the spot: no sample, and no act of the doctor's.

    An order that examines several parts, or names a test in a sentence with the doctor's own act, is an examination.
    """
    ordered, folded, doctors_act = heard_tests(words), normalise(words), _PATTERNS["doctors_own_act"]
    named = [place for place in ordered_tests(words) if place in ordered]
    is_own = doctors_act.search(words) or not _PATTERNS["patients_act"].search(words)
    is_own = is_own or any(
        doctors_act.search(folded[start:end]) and is_within((start, end), [place[:2] for place in named])
        for start, end in order_sentences(folded)
    )
    several = len({test.item for *_, test in named}) > 1 and _PATTERNS["examines"].search(folded)
    return not (is_own or several) and all(is_by_hand(test) for *_, test in ordered)


def is_by_hand(test: NamedTest) -> bool:
    """Whether a test is a physical examination; an `apart` test, which is only filed as one, is not."""
    return test.item in PHYSICAL_ITEMS.names and not test.apart


def weighed_sentences(words: str) -> Iterator[Span]:
    """Yield the spans of the sentences that may be orders: no questions, and nothing past or postponed."""
    folded = normalise(words)
    asked, no_orders = with_mark(words), denied(words)
    for start, end in order_sentences(asked):
        sentence = asked[start:end]
        unproposed = sentence.rstrip().endswith("?") and not _PATTERNS["proposes"].search(sentence)
        if not (unproposed or any(_PATTERNS[name].search(sentence) for name in ("of_what_was", "not_now"))):
            start += sentence.rfind(":") + 1  # skip the speaker's name, or the heading of a list
            if not is_within((start, end), no_orders):
                yield start, min(end, len(folded))


def weighed(words: str) -> Iterator[tuple[Span, list[Span]]]:
    """Yield the span of each sentence that may be an order, with those to classify: it, and phrases without a name."""
    folded, named = normalise(words), [place[:2] for place in ordered_tests(words)]
    all_phrases = phrases(folded)
    starts = [start for start, _ in all_phrases]
    for first, last in weighed_sentences(words):
        within = all_phrases[max(0, bisect_right(starts, first) - 1) : bisect_left(starts, last)]
        cuts = [(max(start, first), min(end, last)) for start, end in within]
        parts = [
            (start, end)
            for start, end in cuts
            if len(folded[start:end].strip()) >= _MIN_LENGTH[folded[start:end].isascii()]
            and not is_within((start, end), named)
        ]
        if parts and not _PATTERNS["on_file"].search(folded[first:last]):
            yield (first, last), [*dict.fromkeys([(first, last), *parts])]


def weighed_texts(words: str) -> list[str]:
    """Return the folded texts of the words that are classified, and so embedded."""
    folded = normalise(words)
    return [folded[start:end].strip() for _, places in weighed(words) for start, end in places]


def _classified(folded: str, sentence: Span, places: Sequence[Span], named: Sequence[Placed]) -> list[Placed]:
    """Return the tests that a sentence orders without naming them, with the spans of their phrases.

    These are the tests of several phrases, or else the most probable one of the sentence or a phrase. If the sentence
    also names a test, return only tests of its phrases with a high probability that are no physical examinations.
    Physical examinations count only if the sentence speaks of examining.
    """
    named = [place for place in named if is_within(place[:2], [sentence])]
    orders, tests, probabilities = _classify([folded[start:end].strip() for start, end in places])
    if orders[0] < _MIN_ORDER:
        return []
    known = {test.item for *_, test in named}
    candidates = [
        (float(probabilities[at]), (*place, test))
        for at, (place, test) in enumerate(zip(places, tests, strict=True))
        if orders[at] >= (_MIN_ORDER_OF_WHOLE if is_whole(test) else _MIN_ORDER)
        and probabilities[at] >= (_MIN_TEST_BESIDE_NAMED if named else _MIN_TEST)
    ]
    if not _PATTERNS["examines"].search(folded[slice(*sentence)]):
        candidates = [each for each in candidates if not is_by_hand(each[1][2])]
    parts = [place for _, place in candidates if place[:2] != sentence]
    if named:
        return [place for place in parts if place[2].item not in known and not is_by_hand(place[2])]
    several = len({test.item for *_, test in parts}) > 1 and not all(is_by_hand(test) for *_, test in parts)
    return parts if several else [place for _, place in sorted(candidates, key=lambda each: -each[0])[:1]]


def _classify(texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NamedTest], NDArray[np.float32]]:
    """Return for n texts the probability of being an order (n,), the most probable test, and its probability (n,)."""
    weights = weights_in(WEIGHTS)  # of the three heads: (d + 1, 1) twice and (d + 1, tests), the bias last
    scores = _inputs(texts) @ weights["test"]
    probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    tests = [test_called(weights["test_labels"][at], "en") for at in probabilities.argmax(axis=1)]
    return _order_probability("order", texts), tests, np.round(probabilities.max(axis=1), 3)


def _order_probability(head: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return for n texts the probability that each is an order (n,), by the head ``order`` or ``named_order``."""
    scores = _inputs(texts) @ weights_in(WEIGHTS)[head][:, 0]
    probabilities: NDArray[np.float32] = np.round(1 / (1 + np.exp(-scores)), 3)
    return probabilities


def _inputs(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the embeddings of n texts with a last column of ones for the bias (n, d + 1)."""
    return np.hstack([embed(texts, MULTILINGUAL_MODEL), np.ones((len(texts), 1), np.float32)])
