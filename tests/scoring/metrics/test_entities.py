import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.metrics.entities import Entity, entities, spacy_entities
from scoring.metrics.samples import MissingBackendError


def test_phrases_end_at_function_words_negations_and_punctuation() -> None:
    text = "WBC 12.5*10^9/L, no free air in the abdomen. Upper abdominal CT: <\\image00001.jpg> shows liver cyst."
    assert entities(text) == [
        Entity("WBC 12.5*10^9/L"),
        Entity("free air", denied=True),
        Entity("abdomen", denied=True),
        Entity("Upper abdominal CT"),
        Entity("liver cyst"),
    ]


def test_chinese_phrases_are_cut_by_jieba_words() -> None:
    assert entities("白细胞12.5×10^9/L，未见游离气体。肝囊肿。") == [
        Entity("白细胞12.5×10^9/L"),
        Entity("游离气体", denied=True),
        Entity("肝囊肿"),
    ]


def test_an_entity_stands_once_for_each_polarity() -> None:
    assert entities("Fever. No fever. Fever.") == [Entity("Fever"), Entity("fever", denied=True)]
    assert entities("") == []


def test_without_spacy_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingBackendError, match="spacy download en_core_web_sm"):
        spacy_entities("WBC 2.46")


@given(st.text(st.characters(), max_size=60))
def test_no_text_raises(text: str) -> None:
    assert all(entity.phrase.strip() for entity in entities(text))
