"""MedQA questions: only those that describe a patient become cases, and the answer goes into the key alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from cases import Case
from cases.importers import ImportResult, import_cases
from cases.note_files import read_notes

QUESTION: dict[str, Any] = {
    "question": "A 34-year-old woman comes to the physician because of thirst for 2 months. Her need for water is "
    "5 L a day. She takes lithium daily. She is allergic to nuts. Her mother has gout. She does not smoke. Her "
    "temperature is 37.1°C. The lungs are clear. Serum sodium is 148 mEq/L. Which of the following is the most likely "
    "diagnosis?",
    "answer": "Diabetes insipidus",
    "options": {"A": "Diabetes insipidus", "B": "Polydipsia", "C": "Hypercalcemia"},
    "meta_info": "step1",
    "answer_idx": "A",
}
OTHER = {
    "question": "Which enzyme does allopurinol inhibit?",
    "answer": "Xanthine oxidase",
    "options": {"A": "Renin", "B": "Xanthine oxidase"},
}


def imported(tmp_path: Path, *questions: Any) -> ImportResult:
    source = tmp_path / "us_qbank.jsonl"
    source.write_text("".join(json.dumps(question) + "\n" for question in questions), "utf-8")
    return import_cases("medqa", source)


def only(result: ImportResult) -> Case:
    assert not result.errors
    (case,) = result.cases
    return case


def test_a_case_study_becomes_history_findings_and_the_diagnosis_as_key(tmp_path: Path) -> None:
    case = only(imported(tmp_path, QUESTION))
    patient = case.patient
    assert (case.id, patient.age_years, patient.sex) == ("us-qbank-00001", 34, "female")
    assert patient.chief_complaint.startswith("A 34-year-old woman comes") and "5 L a day" in patient.present_illness
    assert patient.past_history == "She takes lithium daily. She is allergic to nuts."
    assert (patient.personal_history, patient.family_history) == ("She does not smoke.", "Her mother has gout.")
    assert case.examinations.physical == {"General Examination": "Her temperature is 37.1°C. The lungs are clear."}
    assert case.examinations.auxiliary == {"Blood Test": "Serum sodium is 148 mEq/L."}
    assert case.key.diagnosis == ["Diabetes insipidus"]
    assert "insipidus" not in patient.model_dump_json() and case.key.options["B"] == "Polydipsia"


def test_each_line_of_a_table_is_a_result_of_its_own(tmp_path: Path) -> None:
    told = (
        "A 54-year-old man comes to the physician because of fatigue. He has hypertension. Serum studies show:\nK+ 5.9 "
        "mEq/L\nCreatinine 2.1 mg/dL\nUrine:\nProtein 2+\nRenal ultrasound shows small kidneys.\nWhat is the diagnosis?"
    )
    case = only(imported(tmp_path, {**QUESTION, "question": told}))
    assert case.examinations.auxiliary == {
        "Ultrasound": "Renal ultrasound shows small kidneys.",
        "Blood Test": "Serum studies show: K+ 5.9 mEq/L. Creatinine 2.1 mg/dL.",
        "Urine Test": "Urine: Protein 2+.",
    }
    assert case.key.question == "What is the diagnosis?"


@pytest.mark.parametrize(
    ("asked", "of_diagnosis"),
    [
        ("The most likely diagnosis is:", True),
        ("This patient most likely has", True),
        ("What is the most likely diagnosis? Choose one.", True),
        ("Select the most likely diagnosis.", True),
        ("The best next step in management is to", False),
    ],
)
def test_the_closing_question_is_no_part_of_the_note_in_whatever_form_it_asks(
    tmp_path: Path, asked: str, of_diagnosis: bool
) -> None:
    told = QUESTION["question"].removesuffix("Which of the following is the most likely diagnosis?").strip()
    (tmp_path / "q.jsonl").write_text(json.dumps({**QUESTION, "question": f"{told} {asked}"}) + "\n", "utf-8")
    (note,) = read_notes(tmp_path / "q.jsonl")
    assert note.text == told and note.diseases == ["Diabetes insipidus"] * of_diagnosis


def test_results_in_lines_before_the_question_stay_with_the_patient(tmp_path: Path) -> None:
    table = "Laboratory studies show:\n\nHemoglobin: 9 g/dL\nAST: 12 U/L\n\nWhich of the following"
    case = only(
        imported(tmp_path, {**QUESTION, "question": QUESTION["question"].replace("Which of the following", table)})
    )
    assert case.key.question == "Which of the following is the most likely diagnosis?"
    assert "AST: 12 U/L" in case.examinations.auxiliary["Blood Test"]


def test_words_that_the_patient_asks_stay_in_the_note(tmp_path: Path) -> None:
    told = "A 34-year-old woman comes to the physician because of thirst. She asks, “Is it serious?”"
    question = f"{told} Which of the following is the best response?"
    (tmp_path / "q.jsonl").write_text(json.dumps({**QUESTION, "question": question}) + "\n", "utf-8")
    assert read_notes(tmp_path / "q.jsonl")[0].text == told


def test_choices_in_a_list_are_read_as_those_in_an_object(tmp_path: Path) -> None:
    listed = [{"key": letter, "value": text} for letter, text in QUESTION["options"].items()]
    assert only(imported(tmp_path, {**QUESTION, "options": listed})) == only(imported(tmp_path, QUESTION))


def test_choices_in_a_bare_list_have_letters_in_their_order(tmp_path: Path) -> None:
    key = only(imported(tmp_path, {**QUESTION, "options": ["Polydipsia", "Diabetes insipidus"]})).key
    assert (key.options, key.option) == ({"A": "Polydipsia", "B": "Diabetes insipidus"}, "B")


def test_choices_in_one_text_are_read_and_those_in_an_unknown_form_left_out_with_a_warning(tmp_path: Path) -> None:
    key = only(imported(tmp_path, {**QUESTION, "options": "(A) Polydipsia (B) Diabetes insipidus"})).key
    assert (key.options, key.option) == ({"A": "Polydipsia", "B": "Diabetes insipidus"}, "B")
    unknown = imported(tmp_path, {**QUESTION, "options": [{"label": "A", "text": "Polydipsia"}, {"label": "B"}]})
    assert [problem.field for problem in unknown.warnings] == ["options"] and unknown.cases[0].key.options == {}


def test_an_answer_in_other_letters_keeps_its_options_and_a_bare_letter_is_no_diagnosis(tmp_path: Path) -> None:
    for answer in ("diabetes insipidus ", "A"):
        key = only(imported(tmp_path, {**QUESTION, "answer": answer})).key
        assert (key.diagnosis, key.option, len(key.options)) == (["Diabetes insipidus"], "A", 3)


def test_an_answer_beside_its_options_or_of_another_letter_is_told(tmp_path: Path) -> None:
    other = imported(tmp_path, {**QUESTION, "answer": "Polydipsia"})
    assert [problem.field for problem in other.warnings] == ["answer_idx"]
    assert (other.cases[0].key.diagnosis, other.cases[0].key.option) == (["Polydipsia"], "B")
    none = imported(tmp_path, {**QUESTION, "answer": "Sarcoidosis"})
    assert [problem.field for problem in none.warnings] == ["answer"] and none.cases[0].key.options == {}


def test_a_test_that_would_confirm_the_diagnosis_is_none(tmp_path: Path) -> None:
    asked = QUESTION["question"].replace("the most likely diagnosis", "the best test to confirm the diagnosis")
    key = only(imported(tmp_path, {**QUESTION, "question": asked})).key
    assert (key.diagnosis, key.treatment_course) == ([], "Diabetes insipidus")


def test_a_chinese_question_is_refused_by_line_and_field(tmp_path: Path) -> None:
    [error] = imported(tmp_path, {**QUESTION, "question": "一名50岁男性因胸痛2小时就诊。最可能的诊断是什么？"}).errors
    assert (error.record, error.field) == ("line 1", "question") and "not English" in error.message


def test_a_question_for_the_next_step_has_no_diagnosis_as_key(tmp_path: Path) -> None:
    asked = QUESTION["question"].replace("diagnosis?", "next step in management?")
    case = only(imported(tmp_path, {**QUESTION, "question": asked, "answer": "Hydrochlorothiazide"}))
    assert case.key.diagnosis == [] and case.key.treatment_course == "Hydrochlorothiazide"


def test_questions_that_describe_no_patient_are_left_out_and_counted_once(tmp_path: Path) -> None:
    result = imported(tmp_path, OTHER, QUESTION, OTHER)
    assert [case.id for case in result.cases] == ["us-qbank-00002"]
    assert [str(problem) for problem in result.warnings] == [
        f"{tmp_path / 'us_qbank.jsonl'}: 2 questions left out: no patient is described"
    ]


@pytest.mark.parametrize("opening", ["A newborn boy is brought in by", "An elderly man presents to"])
def test_a_patient_without_a_number_of_years_is_one_too(tmp_path: Path, opening: str) -> None:
    told = QUESTION["question"].replace("A 34-year-old woman comes to", opening)
    assert only(imported(tmp_path, {**QUESTION, "question": told}))


@pytest.mark.parametrize(
    ("change", "field"), [({"question": ""}, "question"), ({"answer": None}, "answer"), ({"options": "A"}, "options")]
)
def test_a_faulty_question_is_named_by_line_and_field(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    result = imported(tmp_path, {**QUESTION, **change}, QUESTION)
    assert [(problem.record, problem.field) for problem in result.errors] == [("line 1", field)]
    assert len(result.cases) == 1


def test_as_notes_questions_keep_their_words_and_the_answer_apart_and_no_other_choice(tmp_path: Path) -> None:
    imported(tmp_path, QUESTION, OTHER)
    (note,) = read_notes(tmp_path / "us_qbank.jsonl")
    assert note.text.startswith(QUESTION["question"].partition(" Which of")[0])
    assert note.answer == "Diagnosis: Diabetes insipidus." and note.source == "us_qbank.jsonl"
    assert not any(choice in note.model_dump_json() for choice in ("Polydipsia", "Hypercalcemia"))
    assert note.diseases == ["Diabetes insipidus"]


def test_a_narrative_that_stands_apart_from_its_question_is_the_patient(tmp_path: Path) -> None:
    file = tmp_path / "mediq.jsonl"
    context = ["A 20-year-old woman comes with cough for 3 months.", "She wheezes at night", "Her temperature is 37 C."]
    question = "Which of the following is the most likely diagnosis?"
    options = {"A": "Pneumonia", "B": "Asthma"}
    record = {"id": 0, "question": question, "context": context, "answer": "Asthma", "options": options}
    file.write_text(json.dumps(record), "utf-8")
    [case] = import_cases("medqa", file).cases
    assert (case.patient.age_years, case.patient.present_illness) == (20, "She wheezes at night.")
    assert (case.key.question, case.key.diagnosis) == (question, ["Asthma"])
