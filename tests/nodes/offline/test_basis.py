from typing import Any

import pytest

from nodes.offline.basis import basis_of, finds_nothing
from nodes.state.chart import Chart, Presentation
from nodes.workflow.stages import read_chart


def chart(complaint: str, results: dict[str, str], language: Any = "en") -> Chart:
    door = Presentation(language=language, chief_complaint=complaint)
    return read_chart({"presentation": door, "results": results}, "treatment", None)


@pytest.mark.parametrize(
    ("language", "complaint", "results", "basis"),
    [
        (
            "en",
            "I cough.",
            {
                "General Examination": "Pulse 80/min.",
                "Neck Examination": "Stiff neck.",
                "Chest Examination": "Heart sounds are normal. Crackles on the right.",
                "Blood Test": "CRP 60 mg/L.",
                "CT": "No effusion. A mass of 3 cm.",
                "Pathological Examination": "Glands of atypical cells.",
            },
            "I cough. Glands of atypical cells. A mass of 3 cm. Crackles on the right. CRP 60 mg/L. "
            "Stiff neck. Pulse 80/min. No effusion. Heart sounds are normal.",
        ),
        (
            "zh",
            "咳嗽。",
            {
                "General Examination": "脉搏80次/分。",
                "Neck Examination": "颈项强直。",
                "Chest Examination": "心音正常。右肺湿啰音。",
                "Blood Test": "C反应蛋白60 mg/L。",
                "CT": "未见积液。右肺见3 cm肿块。",
                "Pathological Examination": "见异型细胞。",
            },
            "咳嗽。见异型细胞。右肺见3 cm肿块。右肺湿啰音。C反应蛋白60 mg/L。"
            "颈项强直。脉搏80次/分。未见积液。心音正常。",
        ),
    ],
)
def test_a_basis_says_first_what_tells_most_and_last_what_finds_nothing(
    language: str, complaint: str, results: dict[str, str], basis: str
) -> None:
    assert basis_of(["?"], chart(complaint, results, language)) == basis


@pytest.mark.parametrize(
    ("language", "results", "basis"),
    [
        (
            "en",
            {"reply 0": "General Examination: Pulse 80/min.", "reply 1": "X-ray of the chest: A shadow."},
            "I cough. A shadow. Pulse 80/min.",
        ),
        (
            "en",
            {
                "reply 0": "Head, Eyes, Ears, Nose and Throat Examination: A red throat.",
                "reply 1": "Sodium, TSH: high.",
            },
            "I cough. Sodium, TSH: high. A red throat.",
        ),
        (
            "en",
            {"reply 0": "Temperature: 38.8 °C. Pulse: 110/min.", "reply 1": "Rheumatoid factor: positive."},
            "I cough. Rheumatoid factor: positive. Temperature: 38.8 °C. Pulse: 110/min.",
        ),
        (
            "zh",
            {"reply 0": "一般检查：脉搏80次/分。", "reply 1": "X线检查：见片状影。"},
            "咳嗽。见片状影。脉搏80次/分。",
        ),
    ],
)
def test_results_told_in_the_dialogue_stand_in_a_basis_without_the_names_of_their_examinations(
    language: str, results: dict[str, str], basis: str
) -> None:
    assert basis_of(["?"], chart({"en": "I cough.", "zh": "咳嗽。"}[language], results, language)) == basis


def test_a_basis_has_whole_sentences_alone() -> None:
    long = " ".join(f"Shadow number {number} lies in the right lung." for number in range(40))
    basis = basis_of(["?"], chart("I cough.", {"CT": long}))
    assert 400 < len(basis) <= 500 and basis.endswith("lung.")


def test_what_semicolons_part_is_weighed_part_by_part_but_not_within_brackets() -> None:
    """A hemoglobin of 8 stood behind the pulse, as the platelets in the same sentence were normal."""
    results = {
        "General Examination": "Pulse 80/min.",
        "Blood Test": "Platelets: normal; hemoglobin: 8 g/dL (low).",
        "Urine Test": "Sediment (casts: none; red cells: many).",
    }
    assert basis_of(["?"], chart("I am tired.", results)) == (
        "I am tired. Hemoglobin: 8 g/dL (low). Sediment (casts: none; red cells: many). Pulse 80/min. "
        "Platelets: normal."
    )


def test_a_word_alone_is_no_part_of_a_basis() -> None:
    told = chart("I feel full.", {"Abdominal Examination": "Soft; spleen palpable 4 cm below the margin."})
    assert basis_of(["?"], told) == "I feel full. Soft, spleen palpable 4 cm below the margin."


@pytest.mark.parametrize(
    ("language", "long"), [("en", "A shadow, " * 60 + "a mass."), ("zh", "片状影，" * 200 + "肿块。")]
)
def test_what_has_no_room_does_not_keep_out_what_has(language: str, long: str) -> None:
    results = {"CT": long, "Blood Test": "CRP 60 mg/L."}
    assert basis_of(["?"], chart("?", results, language)) == {"en": "? CRP 60 mg/L.", "zh": "?CRP 60 mg/L."}[language]


@pytest.mark.parametrize(
    ("sentence", "nothing"),
    [
        ("No fracture.", True),
        ("The joint is normal.", True),
        ("The margin is not smooth.", False),
        ("No fracture, but a torn meniscus.", False),
        ("Breath sounds are absent on the right.", False),
        ("No pulse at the left foot.", False),
        ("No peripheral pulses.", False),
        ("No pathological reflexes.", True),
        ("No adventitious breath sounds.", True),
        ("No pulse deficit.", True),
        ("Heart sounds are regular, without murmur; the lungs are clear.", True),
        ("The lungs are clear with no wheeze.", True),
        ("Normal sinus rhythm with ST elevation.", False),
        ("HRP-2 positive; G6PD activity normal.", False),
        ("A smooth firm nodule of 2 cm.", False),
        ("Serum cholinesterase 780 U/L (normal 5000-12000).", False),
        ("Rheumatoid factor: Negative.", True),
        ("Gram stain: gram-negative diplococci.", False),
        ("Chest X-ray: No congestion or cardiomegaly.", True),
        ("A cleft with intact roof.", False),
        ("Cholinesterase 780 U/L (normal 5000-12000).", False),
        ("边缘光滑。", True),
        ("未见骨折。", True),
        ("边缘不规则。", False),
        ("未见骨折，半月板撕裂。", False),
        ("未闻及胎心。", False),
        ("未见异常搏动。", True),
        ("边缘光滑的结节12mm。", False),
        ("钾6.8 mmol/L（正常3.5～5.5）。", False),
        ("心律齐；半月板撕裂。", False),
        ("病理征阴性。", True),
        ("流感抗原（-）。", True),
        ("革兰阴性杆菌生长。", False),
        ("胸片：未见骨折。", True),
        ("胆碱酯酶780 U/L（正常5000-12000）。", False),
    ],
)
def test_a_sentence_finds_nothing_if_each_of_its_clauses_does(sentence: str, nothing: bool) -> None:
    assert finds_nothing(sentence) is nothing
