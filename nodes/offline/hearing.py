"""Which tests a doctor's words order: by name or description (`ordered_tests`), and by meaning where no rule finds one.

Of what nobody names ("a needle in your arm, we'll fill a tube") the embedding decides, by two small classifiers learned
from `order_wordings.toml`: whether it is an order, and for what. What was done, is not to be done, or is asked of the
patient is never weighed, so that most of what doctors say is never embedded. A sentence that names a test and has not
at all the meaning of an order ("the scan was clear") orders nothing: so says a third, which knows `named_orders.toml`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

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
from retrieval import MULTILINGUAL_MODEL, embed

WEIGHTS = Path(str(files("nodes.offline") / "hearing.npz"))
NO_ORDER = "none"
# How likely it must be that words are an order at all, for this test and no other, and so to count beside a named one.
_AN_ORDER, _OF_A_TEST, _SURELY = 0.6, 0.4, 0.6
_OF_THE_WHOLE_BODY = 0.75  # an order: what opens so much is to be surely one
# An order: what is less likely one orders nothing, though it names a test; the same of what seems over or put off.
_NOT_AT_ALL, _HARDLY = 0.15, 0.5
_CLAUSE = re.compile("[^,;:]+")
_SHORTEST = {True: 8, False: 3}  # characters of what is weighed, by whether it is Latin


@cache
def order_wordings(language: Language) -> list[tuple[str, str]]:
    """Orders in everyday words, with the test or ``NO_ORDER``."""
    told = data_file("nodes.offline", "order_wordings")
    entries = [*told["order"], {"test": NO_ORDER, **told["none"]}]
    return [(words, entry["test"]) for entry in entries for words in entry[language].split("\n")[:-1]]


@cache
def named_orders(language: Language) -> list[tuple[str, bool]]:
    """Folded sentences that name a test, and whether they order it; of each plain kind one for each test."""
    told, tests = data_file("nodes.offline", "named_orders"), word_list("tests")
    names = [
        *(test[language] for test in tests["test"]),
        tests["whole"][language],
        *(term.label(language) for term in EXAMINATION_ITEMS.terms),
    ]
    return [
        (normalise(text), kind == "order")
        for kind, plain in told["plain"].items()
        for frames in [plain[language].split("\n")[:-1]]
        for text in (
            *told[kind][language].split("\n")[:-1],
            *(frames[place % len(frames)].replace("{}", name) for place, name in enumerate(names)),
        )
    ]


@lru_cache(maxsize=4096)
def heard_tests(words: str) -> tuple[Placed, ...]:
    """The tests that words order, each with its place in the folded words; of a test by meaning, its phrase's."""
    folded, told = normalise(words), [*_only_named(words)]
    named = [place for place in ordered_tests(words) if not is_within(place[:2], told)]
    found = [
        (start, end, part)
        for sentence, places in weighed(words)
        for start, end, test in _by_meaning(folded, sentence, places, named)
        for part in parts_of(test)
    ]
    places = sorted((*named, *found), key=lambda place: (place[0], -place[1]))
    # 抽个血 has two names.
    once = {(*place[:2], place[2].item, place[2].spellings): place for place in reversed(places)}
    return tuple(reversed(once.values()))


def _only_named(words: str) -> Iterator[Span]:
    """The places of the sentences that name a test and order none: no questions, which may ask for a result.

    Of a list ("please have these done: ...") what stands before it is an order, or what stands in it; of any sentence
    the whole, or a clause with a name. Names with little beside them ("Please get an ECG and a troponin") are one.
    """
    asked, named = with_mark(words), [place[:2] for place in ordered_tests(words)]
    for start, end in order_sentences(asked):
        said = asked[start:end]
        if not is_within((start, end), named) or said.rstrip().endswith("?"):
            continue
        if _is_bare(asked, (start, end), named):
            continue
        clauses = [match for match in _CLAUSE.finditer(asked, start, end) if is_within(match.span(), named)]
        parts = [*said.split(":"), *(clause.group() for clause in clauses)]
        least = _HARDLY if _patterns()["not_now"].search(said) else _NOT_AT_ALL
        if not any(_share("named_order", [part.strip()])[0] >= least for part in parts if part.strip()):
            yield start, end


def _is_bare(folded: str, sentence: Span, named: Sequence[Span]) -> bool:
    """Whether a sentence has little beside the names of tests and what they are of: "Please get an MRI of the knee"."""
    told = [(at, of.end()) for at, end in named for of in picture_of(folded[at:end]).finditer(folded, at)]
    beside = "".join(folded[at] for at in range(*sentence) if not is_within((at, at + 1), [*named, *told]))
    return _patterns()["beside_names"].fullmatch(beside) is not None


def heard_items(words: str) -> set[str]:
    """The closed examination items that the ordered tests are; an ECG is no examination by hand of the chest."""
    return {test.item for *_, test in heard_tests(words) if not (test.apart and test.item in PHYSICAL_ITEMS.names)}


def is_order(words: str) -> bool:
    """Whether a sentence that is no question has the meaning of an order, named or not."""
    folded, named = normalise(words), [place[:2] for place in ordered_tests(words)]
    places = [*weighed_sentences(words)]
    if any(is_within(place, named) and _is_bare(folded, place, named) for place in places):
        return True
    said = [folded[start:end].strip() for start, end in places]
    return bool(said) and bool((_weigh(said)[0] >= _AN_ORDER).any())


def is_for_the_patient_to_do(words: str) -> bool:
    """Whether what is ordered is a thing that the patient does on the spot: no sample, and no act of the doctor's.

    Whoever examines several parts, or one in a sentence of its own, examines, whatever the patient is to do for it.
    """
    heard, folded, own = heard_tests(words), normalise(words), _patterns()["doctors_own_act"]
    named = [place for place in ordered_tests(words) if place in heard]
    is_own = own.search(words) or not _patterns()["patients_act"].search(words)
    is_own = is_own or any(
        own.search(folded[start:end]) and is_within((start, end), [place[:2] for place in named])
        for start, end in order_sentences(folded)
    )
    several = len({test.item for *_, test in named}) > 1 and _patterns()["examines"].search(folded)
    return not (is_own or several) and all(is_by_hand(test) for *_, test in heard)


def is_by_hand(test: NamedTest) -> bool:
    """Whether a test is an examination by the doctor's own hands; what is only filed there (`apart`) is none."""
    return test.item in PHYSICAL_ITEMS.names and not test.apart


def weighed_sentences(words: str) -> Iterator[Span]:
    """The places of the sentences that may be orders: no questions, and nothing past or put off."""
    folded = normalise(words)
    asked, nothing = with_mark(words), denied(words)
    for start, end in order_sentences(asked):
        said = asked[start:end]
        unproposed = said.rstrip().endswith("?") and not _patterns()["proposes"].search(said)
        if not (unproposed or any(_patterns()[name].search(said) for name in ("of_what_was", "not_now"))):
            start += said.rfind(":") + 1  # whose words they are, and what a list is of
            if not is_within((start, end), nothing):
                yield start, min(end, len(folded))


def weighed(words: str) -> Iterator[tuple[Span, list[Span]]]:
    """The places of the sentences that may be orders, each with what is weighed: it, and its phrases without a name."""
    folded, named = normalise(words), [place[:2] for place in ordered_tests(words)]
    for first, last in weighed_sentences(words):
        cuts = [(max(start, first), min(end, last)) for start, end in phrases(folded)]
        parts = [
            (start, end)
            for start, end in cuts
            if len(folded[start:end].strip()) >= _SHORTEST[folded[start:end].isascii()]
            and not is_within((start, end), named)
        ]
        if parts and not _patterns()["on_file"].search(folded[first:last]):
            yield (first, last), [*dict.fromkeys([(first, last), *parts])]


def weighed_texts(words: str) -> list[str]:
    """What is embedded of words, folded."""
    folded = normalise(words)
    return [folded[start:end].strip() for _, places in weighed(words) for start, end in places]


def _by_meaning(folded: str, sentence: Span, places: Sequence[Span], named: Sequence[Placed]) -> list[Placed]:
    """What an unnamed order is for: what each of its phrases is for, or the surest reading of it or of one of them.

    Beside a test that is named only what else is surely to be sent for, and of two examinations by hand one.
    """
    named = [place for place in named if is_within(place[:2], [sentence])]
    orders, tests, likely = _weigh([folded[start:end].strip() for start, end in places])
    if orders[0] < _AN_ORDER:
        return []
    known = {test.item for *_, test in named}
    passed = [
        (float(likely[at]), (*place, test))
        for at, (place, test) in enumerate(zip(places, tests, strict=True))
        if orders[at] >= (_OF_THE_WHOLE_BODY if is_whole(test) else _AN_ORDER)
        and likely[at] >= (_SURELY if named else _OF_A_TEST)
    ]
    if not _patterns()["examines"].search(folded[slice(*sentence)]):
        passed = [each for each in passed if not is_by_hand(each[1][2])]
    parts = [place for _, place in passed if place[:2] != sentence]
    if named:
        return [place for place in parts if place[2].item not in known and not is_by_hand(place[2])]
    several = len({test.item for *_, test in parts}) > 1 and not all(is_by_hand(test) for *_, test in parts)
    return parts if several else [place for _, place in sorted(passed, key=lambda each: -each[0])[:1]]


def _weigh(texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NamedTest], NDArray[np.float32]]:
    """Of each of n texts how likely it is an order (n), for which test most likely, and how likely that is (n)."""
    weights = _weights()
    scores = _rows(texts) @ weights["test"]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    tests = [test_called(weights["test_labels"][at], "en") for at in shares.argmax(axis=1)]
    return _share("order", texts), tests, np.round(shares.max(axis=1), 3)


def _share(head: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Of each of n texts how likely it is an order, by one of the two heads (n)."""
    shares: NDArray[np.float32] = np.round(1 / (1 + np.exp(-_rows(texts) @ _weights()[head][:, 0])), 3)
    return shares


def _rows(texts: Sequence[str]) -> NDArray[np.float32]:
    """The embeddings of n texts, the last column the constant (n, d + 1)."""
    return np.hstack([embed(texts, MULTILINGUAL_MODEL), np.ones((len(texts), 1), np.float32)])


@cache
def _weights() -> dict[str, Any]:
    """The weights, twice (d + 1, 1) and (d + 1, tests), the last row the constant, and the tests' names."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return {
            "order": stored["order"].astype(np.float32),
            "named_order": stored["named_order"].astype(np.float32),
            "test": stored["test"].astype(np.float32),
            "test_labels": stored["test_labels"].tolist(),
        }


def _patterns() -> Any:
    return patterns("cases", "vocabularies/patterns")
