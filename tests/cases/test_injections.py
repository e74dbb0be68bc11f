"""Variants of cases whose text tries to command the models: one attack, one place, the same key."""

import json

import pytest

from cases import Case, load_cases
from cases.injections import PLACES, attacks, injected, injected_earlier
from cases.vocabulary import Language
from nodes.workflow.stages import LEVEL1
from retrieval import feature_line, remember

LANGUAGES: tuple[Language, ...] = ("en", "zh")
CASES = load_cases()
PICTURED = next(case for case in CASES if case.examinations.images)


def texts_with(case: Case, attack: str) -> list[str]:
    """The paths of the texts that hold an attack."""
    found: list[str] = []

    def search(value: object, path: str) -> None:
        if isinstance(value, dict):
            for name, part in value.items():
                search(part, f"{path}.{name}")
        elif isinstance(value, list):
            for part in value:
                search(part, path)
        elif isinstance(value, str) and attack in value:
            found.append(path)

    search(case.model_dump(mode="json"), "")
    return found


def test_there_are_six_attacks_each_in_both_languages_and_each_its_own() -> None:
    assert len({attack.name for attack in attacks()}) == len(attacks()) >= 6
    for language in LANGUAGES:
        assert len({attack.text(language) for attack in attacks()}) == len(attacks())
        assert any("</data>" in attack.text(language) for attack in attacks()), "one that tries to close the tags"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_variant_holds_one_attack_in_one_place_in_the_language_of_its_case(language: Language) -> None:
    case = next(case for case in CASES if case.language == language and case.examinations.auxiliary)
    variants = injected(case)
    assert len(variants) == len(attacks()) * len(PLACES)
    assert len({variant.id for variant in [case, *variants]}) == len(variants) + 1
    where = {"complaint": ".patient.chief_complaint", "history": ".patient.past_history", "report": ".examinations"}
    for place, variant in zip([place for place in PLACES for _ in attacks()], variants, strict=True):
        (attack,) = [attack for attack in attacks() if variant.id == f"{case.id}-{place}-{attack.name}"]
        (path,) = texts_with(variant, attack.text(language))
        assert path.startswith(where[place])


def test_a_variant_is_a_valid_case_and_keeps_the_key_the_split_and_the_pictures() -> None:
    for variant in injected(PICTURED):
        again = Case.model_validate_json(variant.model_dump_json())
        assert again.model_dump(exclude={"folder"}) == variant.model_dump(exclude={"folder"})
        assert (variant.key, variant.split, variant.folder) == (PICTURED.key, PICTURED.split, PICTURED.folder)
        assert variant.examinations.images == PICTURED.examinations.images


def test_a_variant_no_longer_holds_the_record_in_its_sources_words() -> None:
    case = PICTURED.model_copy(update={"provenance": PICTURED.provenance.model_copy(update={"record": "As it was."})})
    assert {one.provenance.record for one in injected(case)} == {""}


def test_the_attacked_report_is_that_of_a_picture_if_there_is_one() -> None:
    (item,) = {image.item for image in PICTURED.examinations.images}
    for attack in attacks():
        (variant,) = [variant for variant in injected(PICTURED) if variant.id.endswith(f"-report-{attack.name}")]
        assert texts_with(variant, attack.text(PICTURED.language)) == [f".examinations.auxiliary.{item}"]


def test_a_case_without_results_has_no_variant_of_a_report() -> None:
    bare = PICTURED.model_copy(update={"examinations": type(PICTURED.examinations)()})
    assert {variant.id.split("-")[-2] for variant in injected(bare)} == {"complaint", "history"}


def test_an_earlier_case_tells_the_attack_when_it_is_recalled_and_decides_the_same() -> None:
    for case in (PICTURED, next(case for case in CASES if case.language == "zh")):
        for attack, variant in zip(attacks(), injected_earlier(case), strict=True):
            told = remember(Case.model_validate_json(variant.model_dump_json()))
            assert attack.text(case.language) in feature_line(told, case.language, LEVEL1.recalls)
            assert told.diagnosis == case.key.diagnosis and told.department == case.key.department
            assert json.dumps(attack.name)[1:-1] in told.id and told.id != case.id
