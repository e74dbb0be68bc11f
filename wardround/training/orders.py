"""Train what hears orders without a model: ``python -m wardround.training.orders``.

Learned from ``nodes/offline/order_wordings.toml`` and ``named_orders.toml``, and, as what orders nothing, from the
other wordings; run this again when one of them changes (a test says when).
"""

import hashlib
import re

import numpy as np
from numpy.typing import NDArray

from cases.text.ordered_tests import ordered_tests
from cases.text.sentences import sentences
from cases.vocabulary import Language, normalise
from nodes.offline.hearing import NO_ORDER, WEIGHTS, named_orders, order_wordings, weighed_sentences
from nodes.offline.meaning import wordings
from retrieval import MULTILINGUAL_MODEL, embed
from wardround.training.fitting import LANGUAGES, fitted, keep
from wardround.training.labelled import labelled_turns

# What is said only once of two orders: "I'd like to draw some blood and dip your water".
_SUBJECT = re.compile(
    r"(?:(?:I'd|I would|we'd) like to|I want to|I need to|I'm going to|(?:I|we|they|you)'ll(?: need to)?|we need to"
    r"|we should|let's|please|could you|would you mind|can you) ",
    re.IGNORECASE,
)


def orders_to_learn(language: Language) -> list[tuple[str, str]]:
    """Folded words with the test that they order, or with ``NO_ORDER``: all else that may be weighed and names none."""
    ordered = [(text, test) for text, test in order_wordings(language)]
    others = [
        (text, NO_ORDER)
        for name, texts in wordings(language).items()
        for text in texts
        if name != "demand" and not (name == "advice" and ordered_tests(text)) and [*weighed_sentences(text)]
    ]
    beside = [(_SUBJECT.sub("", text), test) for text, test in ordered if _SUBJECT.match(text)]
    return [(normalise(text), test) for text, test in (*ordered, *beside, *others)]


def orders_by_name_to_learn(language: Language) -> list[tuple[str, bool]]:
    """Folded sentences that name a test, and whether they order it: told ones, and those of labelled advice."""
    turns = [text for text, kind in labelled_turns(language) if kind == "advice"]
    said = [sentence for text in turns for sentence in sentences(text) if ordered_tests(sentence)]
    return [*named_orders(language), *((normalise(sentence), True) for sentence in said)]


def fingerprint() -> str:
    """SHA-256 of all that is learned from."""
    learned = [(orders_to_learn(language), orders_by_name_to_learn(language)) for language in LANGUAGES]
    return hashlib.sha256(repr(learned).encode()).hexdigest()


def train() -> dict[str, NDArray[np.generic]]:
    """The weights of the three heads of `nodes/offline/hearing.py`, in half precision, and the names of the tests."""
    pairs = [pair for language in LANGUAGES for pair in orders_to_learn(language)]
    by_name = [pair for language in LANGUAGES for pair in orders_by_name_to_learn(language)]
    heard = embed([text for text, _ in pairs], MULTILINGUAL_MODEL)
    heard_by_name = np.vstack([heard, embed([text for text, _ in by_name], MULTILINGUAL_MODEL)])
    is_order = [test != NO_ORDER for _, test in pairs]
    either = [*is_order, *(each for _, each in by_name)]
    ordered = [test for _, test in pairs if test != NO_ORDER]
    tests = list(dict.fromkeys(ordered))
    return {
        "fingerprint": np.array(fingerprint()),
        "order": fitted(heard, is_order, [False, True]).astype(np.float16),
        "named_order": fitted(heard_by_name, either, [False, True], strength=30).astype(np.float16),
        "test_labels": np.array(tests),
        "test": fitted(heard[np.array(is_order)], ordered, tests, strength=30).astype(np.float16),
    }


if __name__ == "__main__":
    keep(WEIGHTS, train())
