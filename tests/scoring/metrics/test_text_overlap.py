from functools import cache
from typing import Any

import jieba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_chinese import Rouge

from scoring.metrics import text_overlap as text

ENGLISH = st.text("abcdeginst ABİß\n.,-'13", max_size=60)
CHINESE = st.text("咳嗽发热三天胸痛腹。！？?…….\n ”’，a1", max_size=40)


@cache
def scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # brings NLTK: not for every process that collects

    return RougeScorer(["rouge1", "rougeL"], use_stemmer=True)


@given(ENGLISH, ENGLISH)
def test_on_its_tokens_rouge_is_that_of_rouge_score(one: str, other: str) -> None:
    theirs = scorer().score(other, one)
    for ours, name in ((text.rouge_1, "rouge1"), (text.rouge_l, "rougeL")):
        found = ours(text.rouge_words(one), text.rouge_words(other))
        assert found == (theirs[name].precision, theirs[name].recall)


@settings(deadline=None)
@given(CHINESE, CHINESE)
def test_on_sets_of_tokens_rouge_1_is_that_of_rouge_chinese(one: str, other: str) -> None:
    found = text.rouge_1(text.rouge_chinese_words(one), text.rouge_chinese_words(other))
    try:
        theirs = Rouge().get_scores(" ".join(jieba.cut(one)), " ".join(jieba.cut(other)))[0]["rouge-1"]
    except ValueError:  # it cannot take an empty text
        assert found == (0, 0)
    else:
        assert found == (theirs["p"], theirs["r"])


def test_the_levenshtein_ratio_counts_a_replacement_as_two_edits() -> None:
    assert text.levenshtein_ratio("abcd", "abxd") == pytest.approx(1 - 2 / 8)
    assert text.levenshtein_ratio(["free", "air"], ["air"]) == pytest.approx(2 / 3)
    assert text.levenshtein_ratio("", "abc") == 0
    assert text.levenshtein_ratio("abc", "abc") == 1


def test_an_utterance_is_cut_by_its_own_language() -> None:
    assert text.words("Coughing for days!") == ["cough", "for", "day"]
    assert text.words("咳嗽三天，CT示肺炎。") == ["咳嗽", "三天", "ct", "示", "肺炎"]
    assert text.words("") == text.words("？!") == []
    # Letters that English lacks neither cut a word nor lose it.
    assert text.words("¿El médico notó 38,7 °C? Ménière") == ["el", "médico", "notó", "38", "7", "c", "ménière"]
    assert text.words("me\u0301dico") == ["médico"]  # decomposed
    assert text.words("5 \u00b5mol") == text.words("5 \u03bcmol") == ["5", "\u03bcmol"]  # micro sign and mu
    assert len(text.words("Žluť a έντονος πόνος")) == 4
    assert text.words("Sudden naïveté: coughing, 咳") == ["sudden", "naïveté", "cough"]
    assert text.words("０９ ＡＺ ａｚ") == ["09", "az", "az"]  # wide


def test_a_chinese_text_is_as_long_as_its_characters_and_another_as_its_words() -> None:
    assert text.spoken_length("A dry  cough.") == 3 and text.spoken_length("我 头疼。") == 4
    assert text.spoken_length("dys\u00adpnoea \u200b") == 1 and text.spoken_length("我\u200b头\ufeff疼。") == 4


@settings(deadline=None)
@given(st.text(st.characters(), max_size=50), st.text(st.characters(), max_size=50))
def test_no_text_is_too_strange_and_every_overlap_is_a_share(one: str, other: str) -> None:
    for cut in (text.words, text.rouge_words, text.rouge_chinese_words, text.jieba_words):
        here, there = cut(one), cut(other)
        for found in (*text.rouge_1(here, there), *text.rouge_l(here, there), text.levenshtein_ratio(here, there)):
            assert 0 <= found <= 1
        assert text.rouge_1(here, here).recall == (1 if here else 0)
