import pytest

from cases.text.record_sentences import HISTORIES
from cases.vocabulary import Language
from nodes.offline.consultation_words import concepts, matters_in, named_in, pattern

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])


@LANGUAGES
def test_every_concept_has_a_name_of_its_own_and_sections_that_exist(language: Language) -> None:
    names = [concept.name for concept in concepts(language)]
    assert len(set(names)) == len(names)
    for concept in concepts(language):
        assert set(concept.sections) <= {*HISTORIES, "person"}
        assert concept.kind != "section" or concept.name in HISTORIES


@LANGUAGES
@pytest.mark.parametrize("group", ["clinical", "treatment", "unnamed"])
def test_no_pattern_fits_everything(group: str, language: Language) -> None:
    assert pattern(group, language).search("") is None
    assert pattern(group, language).search("0") is None


def test_words_without_weight_are_left_out_whole_or_made_of_others() -> None:
    assert matters_in("How do you feel about the glaucoma?", "en") == ["glaucoma"]
    assert matters_in("您身体状况怎么样？", "zh") == []
    assert matters_in("青光眼严重吗？", "zh")[0].startswith("青光眼")


def test_advice_names_what_not_every_advice_speaks_of() -> None:
    assert named_in("I recommend treatment and further tests.", "en") == []
    assert named_in("I recommend melatonin.", "en") == ["melatonin"]


def test_what_one_has_done_before_is_a_matter_though_the_verb_is_one_character() -> None:
    assert matters_in("以前戴过吗？", "zh") == ["戴过"]
    assert matters_in("以前被蜂蜇过吗？", "zh") == ["蜂蜇"]  # a record says 蜂蜇后 as well
