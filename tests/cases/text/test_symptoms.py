import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.text.symptoms import describe_symptoms
from cases.vocabulary import Language

ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=400) | st.lists(
    st.sampled_from(
        ["no ", "denies ", "chest pain", ", ", ". ", " but ", "but", "无", "没有", "否认", "头痛", "，", "。", "I "]
    )
).map("".join)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Cough for a week. Denies fever, chills, or night sweats.", "Cough for a week"),
        ("Cough for a week, no fever, but he has lost weight.", "Cough for a week, lost weight"),
        ("He has a cough but no chest pain or sweating, and is weak.", "cough, is weak"),
        ("Rash, but I have no fever.", "Rash"),
        ("Fever, but no appetite.", "Fever, no appetite"),
        ("Chest pain without sweating, radiating to the jaw", "Chest pain, radiating to the jaw"),
        ("Headache. He does not have a rash. He has no appetite.", "Headache, no appetite"),
        ("Hello doctor, I've been having headaches for three weeks.", "headaches for three weeks"),
        ("Headache. I can't move my left arm.", "Headache, can't move my left arm"),
        ("Fever of 38.5 C since Monday.", "Fever of 38.5 C since Monday"),
        ("No bowel movement for three days. Denies vomiting.", "No bowel movement for three days"),
        ("Rash. Itching rash. Itching rash on both arms.", "Itching rash on both arms"),
        ("Cough. Other symptoms: Fever.", "Cough, Fever"),
        ("Cough. Other symptoms of a cold.", "Cough, Other symptoms of a cold"),
        ("No", ""),
        ("Ulcer. I don't know. I can't tell hot from cold.", "Ulcer, can't tell hot from cold"),
        ("Ulcer. I have told you about the pain.", "Ulcer, told you about the pain"),
    ],
)
def test_english_words_become_a_description_without_denials_courtesies_and_repetitions(
    told: str, expected: str
) -> None:
    assert describe_symptoms(told, language="en") == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("反复上腹痛3年，加重2天，无发热、黄疸，否认外伤史。", "反复上腹痛3年，加重2天"),
        ("医生您好，我咳嗽无痰，没有发热", "咳嗽无痰"),
        ("患者无明显诱因出现头晕，无力，没胃口，无法站立", "无明显诱因出现头晕，无力，没胃口，无法站立"),
        ("颈部无痛性肿块1月。未见好转。", "颈部无痛性肿块1月，未见好转"),
        ("没有大便三天，但没有腹痛", "没有大便三天"),
        ("发热39.5℃伴咳嗽，不伴胸痛", "发热39.5℃伴咳嗽"),
        ("头晕2天。不知道。视物不清楚，说不清楚话", "头晕2天，视物不清楚，说不清楚话"),
    ],
)
def test_chinese_words_become_a_description_without_denials_and_courtesies(told: str, expected: str) -> None:
    assert describe_symptoms(told, language="zh") == expected


def test_parts_are_used_in_the_order_given_until_the_budget_is_used_up() -> None:
    course = ". ".join(f"Then symptom number {number} came" for number in range(40))
    description = describe_symptoms("Dizziness", course, language="en")
    assert description.startswith("Dizziness, symptom number 0 came")
    assert 200 < len(description) <= 240


def test_a_single_long_clause_is_cut_at_a_word() -> None:
    description = describe_symptoms("pain " * 100, language="en")
    assert len(description) <= 240
    assert description.endswith("pain")
    assert len(describe_symptoms("痛" * 100, language="zh")) == 70


@given(parts=st.lists(ANY_TEXT, max_size=4), language=st.sampled_from(["en", "zh"]))
def test_any_text_gives_one_line_within_the_budget(parts: list[str], language: Language) -> None:
    description = describe_symptoms(*parts, language=language)
    assert len(description) <= (240 if language == "en" else 70)
    assert "\n" not in description
    assert description == describe_symptoms(*parts, language=language)


@pytest.mark.parametrize("unit", ["and ", "i ", "no ", " ", "well, ", "有", "也", "没", "have been ", "a" * 50])
def test_long_monotonous_text_takes_no_time(unit: str) -> None:
    start = time.process_time()
    for language in ("en", "zh"):
        describe_symptoms(unit * (20_000 // len(unit)), language=language)
    assert time.process_time() - start < 2
