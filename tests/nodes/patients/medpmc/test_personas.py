from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import load_cases
from cases.text.fact_preservation import changes
from cases.text.sentences import sentences
from cases.vocabulary import Language
from nodes.patients.medpmc.personas import PROFESSIONS, Persona, profession_of
from prompts import load_words

TEN = [Persona(sex=sex, profession=profession) for sex, profession in product(("female", "male"), PROFESSIONS)]
TOLD = sorted(
    {
        (case.language, sentence)
        for case in load_cases()
        for text in case.patient.model_dump(exclude={"age_years", "sex"}).values()
        for sentence in sentences(text)
    }
)


@given(st.sampled_from(TOLD), st.sampled_from(TEN))
def test_a_manner_keeps_every_fact_of_the_built_in_patients_and_adds_none(
    told: tuple[Language, str], persona: Persona
) -> None:
    language, plain = told
    said = persona.in_manner(plain, language)
    assert plain in said and said == persona.in_manner(plain, language)
    assert not changes(plain, said, language)


@pytest.mark.parametrize(("profession", "language"), list(product(PROFESSIONS, ("en", "zh"))))
def test_what_a_manner_says_by_itself_holds_no_fact(profession: str, language: Language) -> None:
    for manners in load_words("medpmc/words", language)["manner"][profession].values():
        for before, after in manners:
            assert before and not changes("", f"{before} {after}", language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_two_of_the_ten_speak_alike(language: Language) -> None:
    plain = {"en": "It hurts.", "zh": "疼。"}[language]
    assert len({persona.in_manner(plain, language) for persona in TEN}) == len(TEN) == 10


@pytest.mark.parametrize("persona", TEN, ids=str)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_opening_is_said_in_two_of_four_answers_in_a_row(persona: Persona, language: Language) -> None:
    plain = {"en": "It hurts.", "zh": "疼。"}[language]
    openings = [persona.in_manner(plain, language, turn).partition(plain)[0] for turn in range(8)]
    said = [opening for opening in openings if opening]
    assert len(said) == 4 and not any(
        opening and opening in openings[at + 1 : at + 4] for at, opening in enumerate(openings)
    )


@pytest.mark.parametrize("persona", TEN, ids=str)
def test_nothing_is_said_after_a_question(persona: Persona) -> None:
    assert persona.in_manner("Which one?", "en").endswith("Which one?")
    assert persona.in_manner("哪一项？", "zh").endswith("哪一项？")


@pytest.mark.parametrize(
    ("occupation", "profession"),
    [
        ("Orchard farmer", "farmer"),
        ("Secondary school student", "student"),
        ("Accountant", "office_worker"),
        ("office cleaner", "worker"),
        ("Bricklayer", "worker"),
        ("Retired nurse", "doctor"),
        ("nursery school child", "student"),
        ("Kindergarten child", "student"),
        ("nursery school teacher", "office_worker"),
        ("Kindergarten cook", "worker"),
        ("Taxi driver", "worker"),
        ("Tax accountant", "office_worker"),
        ("", "worker"),
    ],
)
def test_a_persona_follows_the_recorded_occupation(occupation: str, profession: str) -> None:
    assert profession_of(occupation, "en") == profession


@pytest.mark.parametrize(
    ("occupation", "profession"),
    [
        ("茶农", "farmer"),
        ("小学生", "student"),
        ("退休会计", "office_worker"),
        ("出租车司机", "worker"),
        ("护士", "doctor"),
        ("幼儿园大班儿童", "student"),
        ("幼儿园教师", "office_worker"),
        ("街道办事处科员", "office_worker"),
        ("农民工", "worker"),
    ],
)
def test_a_persona_follows_the_recorded_occupation_in_chinese(occupation: str, profession: str) -> None:
    assert profession_of(occupation, "zh") == profession
