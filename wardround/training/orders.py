"""Train the classifiers that recognise orders offline: ``python -m wardround.training.orders``.

The training data are ``nodes/offline/order_wordings.toml`` and ``named_orders.toml``, and the other wordings as
negative examples. Run this again when one of them changes (a test says when).
"""

import re

import numpy as np
from numpy.typing import NDArray

from cases.text.ordered_tests import ordered_tests
from cases.text.sentences import sentences
from cases.vocabulary import Language, normalise
from nodes.offline.hearing import NO_ORDER, WEIGHTS, named_orders, order_wordings, weighed_sentences
from nodes.offline.subjects import wordings
from retrieval import MULTILINGUAL_MODEL, embed
from wardround.training.fitting import LANGUAGES, digest_of, fitted, keep
from wardround.training.labelled import labelled_turns

# An opening that the second of two orders lacks: "I'd like to draw some blood and dip your water".
_OPENING = re.compile(
    r"(?:(?:I'd|I would|we'd) like to|I want to|I need to|I'm going to|(?:I|we|they|you)'ll(?: need to)?|we need to"
    r"|we should|let's|please|could you|would you mind|can you) ",
    re.IGNORECASE,
)


def orders_to_learn(language: Language) -> list[tuple[str, str]]:
    """Return folded texts with the test that each orders, or ``NO_ORDER`` for other wordings that may be classified."""
    orders = [(text, test) for text, test in order_wordings(language)]
    others = [
        (text, NO_ORDER)
        for name, texts in wordings(language).items()
        for text in texts
        if name != "demand" and not (name == "advice" and ordered_tests(text)) and [*weighed_sentences(text)]
    ]
    without_opening = [(_OPENING.sub("", text), test) for text, test in orders if _OPENING.match(text)]
    return [(normalise(text), test) for text, test in (*orders, *without_opening, *others)]


def orders_by_name_to_learn(language: Language) -> list[tuple[str, bool]]:
    """Return folded sentences that name a test, and whether they order it; those of labelled advice do."""
    turns = [text for text, kind in labelled_turns(language) if kind == "advice"]
    from_advice = [sentence for text in turns for sentence in sentences(text) if ordered_tests(sentence)]
    return [*named_orders(language), *((normalise(sentence), True) for sentence in from_advice)]


def fingerprint() -> str:
    """Return the SHA-256 of the training data."""
    learned = [(orders_to_learn(language), orders_by_name_to_learn(language)) for language in LANGUAGES]
    return digest_of(learned)


def train() -> dict[str, NDArray[np.generic]]:
    """Return the weights of the three heads of `nodes/offline/hearing.py`, in half precision, and the test names."""
    pairs = [pair for language in LANGUAGES for pair in orders_to_learn(language)]
    by_name = [pair for language in LANGUAGES for pair in orders_by_name_to_learn(language)]
    embedded = embed([text for text, _ in pairs], MULTILINGUAL_MODEL)
    embedded_with_names = np.vstack([embedded, embed([text for text, _ in by_name], MULTILINGUAL_MODEL)])
    is_order = [test != NO_ORDER for _, test in pairs]
    is_order_with_names = [*is_order, *(each for _, each in by_name)]
    ordered = [test for _, test in pairs if test != NO_ORDER]
    tests = list(dict.fromkeys(ordered))
    return {
        "fingerprint": np.array(fingerprint()),
        "order": fitted(embedded, is_order, [False, True]).astype(np.float16),
        "named_order": fitted(embedded_with_names, is_order_with_names, [False, True], strength=30).astype(np.float16),
        "test_labels": np.array(tests),
        "test": fitted(embedded[np.array(is_order)], ordered, tests, strength=30).astype(np.float16),
    }


if __name__ == "__main__":
    keep(WEIGHTS, train())
