"""The words of a question, which its embedding blurs, are features beside it."""

import numpy as np
import pytest

from cases.vocabulary import Language
from nodes.offline.classifiers import PAIR_WEIGHTS, asked_features, shared, shares
from nodes.offline.grams import BUCKETS, hashed_grams
from nodes.offline.subjects import matters_told


@pytest.mark.parametrize(
    ("one", "alike", "other"),
    [
        ("Are your waterworks all right?", "Any bother with the WATERWORKS?", "Any bother with the stairs?"),
        ("您平时身子骨硬朗不？", "老爷子身子骨怎么样？", "老爷子胃口怎么样？"),
    ],
)
def test_words_in_common_make_two_questions_alike_by_their_letters(one: str, alike: str, other: str) -> None:
    first, second, third = map(hashed_grams, (one, alike, other))
    assert np.isclose([np.linalg.norm(each) for each in (first, second, third)], 1).all()
    assert first @ second > first @ third + 0.1


def test_the_words_of_another_script_inside_a_sentence_are_words_of_their_own() -> None:
    whole, latin, chinese = map(hashed_grams, ("做过ct吗", "ct", "做过"))
    assert (whole != 0)[(latin != 0) | (chinese != 0)].all()


def test_a_text_of_no_words_has_no_grams() -> None:
    assert hashed_grams("?!").shape == (BUCKETS,) and not hashed_grams("?!").any()


def test_the_grams_of_a_language_that_nothing_was_learned_in_are_left_out() -> None:
    assert asked_features(["¿Toma algo?"], "en")[0, :BUCKETS].any()
    assert not asked_features(["¿Toma algo?"], "es")[0, :BUCKETS].any()


@pytest.mark.parametrize(("words", "language"), [("Do you smoke?", "en"), ("您抽烟吗？", "zh")])
def test_what_a_question_asks_for_is_that_of_all_features_together(words: str, language: Language) -> None:
    with np.load(PAIR_WEIGHTS, allow_pickle=False) as stored:
        weights = stored["asked"].astype(np.float64)
    together = shared(asked_features([words], language)[0] @ weights[:-1] + weights[-1])
    assert np.allclose(shares(words, language), together[:-1], atol=1e-3)
    assert matters_told()[int(np.argmax(together))] == "smoking"
