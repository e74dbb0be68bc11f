"""The director's grades by rules beside grades given by reading."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cases import load_cases
from cases.text.jargon import in_lay_words
from cases.text.sentences import sentences
from cases.vocabulary import Language
from prompts import mark
from scoring.consultation import reference_parts
from scoring.mvme.judges import GradingView, ReportParts, director

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("parts_labelled.toml").read_text("utf-8"))["case"]


def graded(section: Any, report: str, reference: str) -> str:
    view = GradingView(ReportParts(**{section: report}), ReportParts(**{section: reference}), [section])
    option: str = director.offline(view).options[section]
    return option


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["development", "check"])
def test_it_agrees_with_grades_given_by_reading(part: str, language: str) -> None:
    pairs = [
        (option, graded(case["section"], report, case["reference"]))
        for case in CASES
        if (case["part"], case["language"]) == (part, language)
        for option in "ABCD"
        for report in case[option]
    ]
    assert sum(wanted == given for wanted, given in pairs) / len(pairs) >= 0.8
    assert all(abs(ord(wanted) - ord(given)) <= 1 for wanted, given in pairs)


@pytest.mark.slow
def test_it_tells_the_own_history_whole_or_halved_from_another_patients() -> None:
    told = [case.patient.present_illness for case in load_cases()[::4] if case.patient.present_illness]
    own = [graded("symptoms", text, text) for text in told]
    half = [graded("symptoms", text[: len(text) // 2], text) for text in told]
    other = [graded("symptoms", told[place - 1], text) for place, text in enumerate(told)]
    assert set(own) == {"A"} and set(half) <= {"A", "B", "C"} and half.count("B") > len(half) / 2
    assert other.count("D") >= 0.9 * len(other)


@pytest.mark.parametrize(
    ("reference", "contrary"),
    [
        ("She has fever, cough and pain in the left ear.", "She has no fever, no cough and no pain in the left ear."),
        ("有发热、咳嗽，左耳疼痛。", "无发热，无咳嗽，无左耳疼痛。"),
    ],
)
def test_what_asserts_and_denies_everything_states_little_or_nothing(reference: str, contrary: str) -> None:
    assert graded("symptoms", reference, reference) == "A"
    assert graded("symptoms", f"{reference} {contrary}", reference) in "CD"


OTHER_WORDS = {
    "en": [("shows?", "reveals"), ("normal", "unremarkable"), ("is", "appears to be"), ("with", "along with")],
    "zh": [
        ("提示", "显示"),
        ("增高", "升高"),
        ("正常", "未见异常"),
        ("可见", "见到"),
        ("患者", "病人"),
        ("给予", "予以"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["symptoms", "examinations", "basis", "treatment", "diagnosis"])
def test_the_key_is_graded_no_lower_than_a_paraphrase_and_that_far_above_another_patients(
    part: str, language: Language
) -> None:
    """Other words, lay terms and another order of sentences, before the built-in keys; every sixth case."""
    texts = [getattr(reference_parts(case), part) for case in load_cases() if case.language == language]
    bound = r"\b" if language == "en" else ""
    own: list[str] = []
    other: list[str] = []
    for number in range(0, len(texts), 6):
        text, foreign = texts[number], texts[number - 7]
        told = text if part == "diagnosis" else mark("space", language).join(reversed(sentences(text)))
        for old, new in OTHER_WORDS[language]:
            told = re.sub(f"{bound}{old}{bound}", new, told)
        told = in_lay_words(told, language)
        grades = [graded(part, said, text) for said in (text, told, foreign)]
        assert grades[0] == "A", (text, grades)
        own.append(grades[1])
        other.append(grades[2])
    assert own.count("A") + own.count("B") >= 0.85 * len(own) and other.count("D") >= 0.85 * len(other), (own, other)


@pytest.mark.parametrize(
    ("report", "reference", "option"),
    [
        ("Pneumothorax (right)", "Pneumothorax (left)", "C"),
        ("气胸（右侧）", "左侧气胸", "C"),
        ("1. 肺炎（右）2. 气胸（左）", "右肺炎\n左侧气胸", "A"),
        ("Appendicitis (ruled out)", "Appendicitis", "D"),
        ("急性阑尾炎（已排除）", "急性阑尾炎", "D"),
        ("Appendicitis (severe)", "Asthma (severe)", "D"),
    ],
)
def test_a_side_and_a_denial_in_brackets_are_read(report: str, reference: str, option: str) -> None:
    assert graded("diagnosis", report, reference) == option
