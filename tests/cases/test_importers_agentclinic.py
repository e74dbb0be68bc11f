"""AgentClinic records become cases: what the patient knows, what examinations show, and the diagnosis alone as key."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cases import Case
from cases.importers import ImportResult, import_cases
from cases.text.prose import phrase

DATA = Path(__file__).resolve().parents[3] / "shared" / "datasets" / "agentclinic"

OSCE: dict[str, Any] = {
    "Objective_for_Doctor": "Assess the patient and find the kidney stone.",
    "Patient_Actor": {
        "Demographics": "26-year-old female nurse",
        "History": "She has had pain in the left flank since yesterday.",
        "Symptoms": {"Primary_Symptom": "Flank pain", "Secondary_Symptoms": ["Nausea", "Red urine"]},
        "Past_Medical_History": ["Gout", "Asthma"],
        "Current_Medications": ["Allopurinol"],
        "Social_History": "Not specified",
        "Family_History": "Mother had gout.",
        "Review_of_Systems": {"General": "No fever.", "GI": "Vomited once."},
    },
    "Physical_Examination_Findings": {
        "Vital_Signs": {"Temperature": "37.0°C", "Heart_Rate": "95 bpm"},
        "General_Examination": {"Appearance": "In pain", "Skin": "Pale"},
        "Abdominal_Exam": {"Palpation": {"Left": "Tender", "Right": "Soft"}},
    },
    "Test_Results": {
        "Laboratory_Tests": {"Creatinine": 1.1, "Urinalysis": {"RBC": "many"}, "Sodium": "Not provided"},
        "Imaging": {"CT_Abdomen": {"Findings": "A 5 mm stone in the left ureter."}, "Renal_Ultrasound": {}},
        "Electrocardiogram": {"Findings": "Sinus rhythm"},
        "Suggestion": "Consider lithotripsy.",
        "Quux_Index": "7",
    },
    "Correct_Diagnosis": "Ureteral stone",
}

NEJM = {
    "image_url": "https://example.org/picture",
    "question": "A 70-year-old man with gout presented to the clinic with a 2-day history of a red, swollen toe. "
    "Laboratory studies showed a raised uric acid level. What is the diagnosis?",
    "patient_info": "For your role as a patient, you are a 70-year-old man: - **Toe**: Your toe has hurt for 2 days. "
    "Remember, you are not aware of your diagnosis.",
    "physical_exams": "Laboratory studies: - Uric acid: 9 mg/dL - Joint aspiration: Needle-shaped crystals. "
    "Radiograph of the foot: Soft-tissue swelling.",
    "answers": [{"text": "Cellulitis", "correct": False}, {"text": "Acute gouty arthritis", "correct": True}],
}


def read(folder: Path, *records: object) -> ImportResult:
    path = folder / "my_cases.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    return import_cases("agentclinic", path)


def osce(**changes: object) -> dict[str, object]:
    return {"OSCE_Examination": {key: value for key, value in {**OSCE, **changes}.items() if value is not None}}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    result = read(tmp_path, osce())
    assert not result.errors
    return result.cases[0]


def test_an_import_says_in_how_many_cases_unusual_signs_are_read_as_usual_ones(tmp_path: Path) -> None:
    result = read(tmp_path, osce(), osce(Correct_Diagnosis="Ureteral\u00a0stone"))
    assert [case.key.diagnosis for case in result.cases] == [["Ureteral stone"]] * 2
    (told,) = [problem for problem in result.warnings if "usual signs" in problem.message]
    assert told.message.endswith("read as usual signs or left out (in 1 of 2 cases)")


def test_the_patient_knows_history_symptoms_and_background(case: Case) -> None:
    patient = case.patient
    assert (patient.age_years, patient.sex, patient.occupation) == (26, "female", "nurse")
    assert patient.chief_complaint == "Flank pain"
    assert patient.present_illness == (
        "She has had pain in the left flank since yesterday. Other symptoms: Nausea; Red urine. "
        "Review of systems: General: No fever; GI: Vomited once."
    )
    assert patient.past_history == "Gout. Asthma. Current Medications: Allopurinol."
    assert patient.family_history == "Mother had gout."


def test_what_is_not_specified_is_absent(case: Case) -> None:
    assert "specified" not in case.patient.personal_history
    assert "Sodium" not in case.examinations.auxiliary["Blood Test"]


def test_findings_are_sorted_into_the_closed_items(case: Case) -> None:
    assert case.examinations.results == {
        "General Examination": "Temperature: 37.0°C. Heart Rate: 95 bpm. Appearance: In pain. Quux Index: 7.",
        "Chest Examination": "Electrocardiogram: Sinus rhythm.",
        "Abdominal Examination": "Abdominal Exam: Palpation (Left: Tender; Right: Soft).",
        "Skin Examination": "Pale.",
        "CT": "CT Abdomen: A 5 mm stone in the left ureter.",
        "Blood Test": "Creatinine: 1.1.",
        "Urine Test": "RBC: many.",
    }


def test_the_key_holds_the_recorded_items_and_the_diagnosis_and_nothing_else(case: Case) -> None:
    assert case.key.diagnosis == ["Ureteral stone"]
    assert case.key.examination_items == list(case.examinations.results)
    assert case.key.model_dump(exclude_defaults=True).keys() == {"diagnosis", "examination_items", "inferred"}
    assert case.key.stated.model_dump(exclude_defaults=True).keys() == {"diagnosis"}


def test_the_objective_for_the_doctor_is_nowhere_in_the_case(case: Case) -> None:
    assert "kidney stone" not in case.model_dump_json()


def test_a_test_without_an_item_is_noted_in_the_provenance(case: Case) -> None:
    assert "Electrocardiogram under Chest Examination" in case.provenance.note


def test_what_no_rule_knows_and_what_is_no_finding_is_warned_about(tmp_path: Path) -> None:
    warnings = "\n".join(map(str, read(tmp_path, osce()).warnings))
    assert "'Quux Index'" in warnings and "'Suggestion' is not a finding" in warnings


@pytest.mark.parametrize("content", [3, True, {"by": 2}])
def test_a_field_that_nobody_reads_is_left_out_whatever_it_holds(content: object, tmp_path: Path) -> None:
    result = read(tmp_path, osce(Difficulty=content))
    assert len(result.cases) == 1 and "'Difficulty' is not a finding; left out" in str(result.warnings)


def test_what_stands_beside_a_tests_findings_and_is_left_out_is_warned_about(tmp_path: Path) -> None:
    result = read(tmp_path, osce(Test_Results={"CT_Scan": {"Findings": "A mass.", "Notes": "See MRI.", "Remarks": ""}}))
    assert result.cases[0].examinations.results["CT"] == "A mass."
    assert "'CT Scan: Notes' is not a finding; left out" in [problem.message for problem in result.warnings]
    assert not any("Remarks" in problem.message for problem in result.warnings)


def test_diagnoses_in_a_list_are_several_and_a_letter_is_no_occupation(tmp_path: Path) -> None:
    actor = {**OSCE["Patient_Actor"], "Demographics": "3 months, F"}
    [case] = read(tmp_path, osce(Patient_Actor=actor, Correct_Diagnosis=["Ureteral stone", None, "Gout"])).cases
    assert (case.key.diagnosis, case.patient.age_years) == (["Ureteral stone", "Gout"], 0.25)
    assert (case.patient.sex, case.patient.occupation, case.patient.personal_history) == ("female", "", "")


@pytest.mark.parametrize(
    "tests",
    [
        [{"Test": "CBC", "Result": "WBC 12"}, {"Test": "Chest X-ray", "Result": "Clear"}],
        "CBC: WBC 12. Chest X-ray: Clear.",
        ["CBC: WBC 12", "Chest X-ray: Clear"],
    ],
)
def test_tests_in_a_list_or_in_running_text_are_filed_under_their_names(tmp_path: Path, tests: object) -> None:
    result = read(tmp_path, osce(Test_Results=tests, Physical_Examination_Findings={}))
    found = {"X-ray": "Chest X-ray: Clear.", "Blood Test": "CBC: WBC 12."}
    assert (result.cases[0].examinations.results, result.problems) == (found, [])


def test_ids_are_the_files_name_and_the_records_number(tmp_path: Path) -> None:
    result = read(tmp_path, osce(), {}, osce())
    assert [case.id for case in result.cases] == ["my-cases-001", "my-cases-003"]


def test_a_diagnosis_that_the_patient_could_tell_is_warned_about(tmp_path: Path) -> None:
    result = read(tmp_path, osce(Correct_Diagnosis="gout"))
    assert [problem.field for problem in result.warnings if "names the diagnosis" in problem.message] == [
        "patient.past_history",
        "patient.family_history",
    ]


def test_of_symptoms_in_a_list_the_first_is_the_complaint(tmp_path: Path) -> None:
    actor = {"History": "Since May.", "Symptoms": ["Flank pain", "Nausea", "Red urine"]}
    patient = read(tmp_path, osce(Patient_Actor=actor)).cases[0].patient
    assert (patient.chief_complaint, patient.present_illness) == (
        "Flank pain",
        "Since May. Other symptoms: Nausea; Red urine.",
    )


def test_without_a_primary_symptom_the_history_opens_the_complaint(tmp_path: Path) -> None:
    result = read(tmp_path, osce(Patient_Actor={"History": "He feels ill. Since May.", "Symptoms": {}}))
    assert result.cases[0].patient.chief_complaint == "He feels ill."
    assert any("Primary_Symptom" in problem.message for problem in result.warnings)


@pytest.mark.parametrize(
    ("record", "field", "expected"),
    [
        (osce(Patient_Actor=None), "Patient_Actor", "found nothing"),
        (osce(Patient_Actor=[]), "Patient_Actor", "found a list"),
        (osce(Patient_Actor={}), "Symptoms", "a Primary_Symptom, or a History"),
        (osce(Correct_Diagnosis=None), "Correct_Diagnosis", "expected the diagnosis"),
        (
            osce(Correct_Diagnosis={"Primary": "Gout"}),
            "Correct_Diagnosis",
            "or a list, found an object",
        ),
        ({"OSCE_Examination": "x"}, "OSCE_Examination", "expected an object"),
        ({"other": 1}, "", "expected OSCE_Examination, or question and answers, found nothing; the record has 'other'"),
        ([1], "", "expected an object with OSCE_Examination, found a value 1"),
        ({**NEJM, "answers": "B"}, "answers", "a list of {text, correct}"),
        ({**NEJM, "answers": NEJM["answers"][:1]}, "answers", "no answer is marked as correct"),
    ],
)
def test_a_record_that_does_not_fit_names_the_field_and_what_was_expected(
    record: object, field: str, expected: str, tmp_path: Path
) -> None:
    result = read(tmp_path, record, osce())
    assert len(result.cases) == 1 and len(result.errors) == 1
    assert result.errors[0].record.startswith("line 1")
    assert field in result.errors[0].field and expected in result.errors[0].message


def test_a_departments_file_is_refused_for_records_that_name_no_department(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(osce()), "utf-8")
    assert import_cases("agentclinic", path, departments=path).errors


def test_a_journal_question_becomes_a_case(tmp_path: Path) -> None:
    result = read(tmp_path, NEJM)
    case = result.cases[0]
    assert not result.problems
    assert (case.patient.age_years, case.patient.sex) == (70, "male")
    assert case.patient.chief_complaint == "A 2-day history of a red, swollen toe."
    assert case.patient.present_illness == "You are a 70-year-old man. Toe: Your toe has hurt for 2 days."
    assert case.examinations.results == {
        "Spine and Limb Examination": "Joint aspiration: Needle-shaped crystals.",
        "X-ray": "Radiograph of the foot: Soft-tissue swelling.",
        "Blood Test": "Uric acid: 9 mg/dL. Laboratory studies showed a raised uric acid level.",
    }
    assert case.key.question == "What is the diagnosis?"
    assert (case.key.options, case.key.option) == ({"A": "Cellulitis", "B": "Acute gouty arthritis"}, "B")
    assert case.key.diagnosis == ["Acute gouty arthritis"]
    assert "https://example.org/picture" in case.provenance.note and not case.examinations.images


def test_the_right_answer_may_be_marked_by_the_word_true(tmp_path: Path) -> None:
    marked = [{"text": "Cellulitis", "correct": "False"}, {"text": "Acute gouty arthritis", "correct": "True "}]
    assert read(tmp_path, {**NEJM, "answers": marked}).cases == read(tmp_path, NEJM).cases
    vague = [{"text": "Cellulitis", "correct": "probably"}, {"text": "Gout", "correct": "no"}]
    (problem,) = read(tmp_path, {**NEJM, "answers": vague}).errors
    assert "no answer is marked as correct" in problem.message


def test_what_a_writer_declined_to_write_is_no_finding_and_no_gold_examination(tmp_path: Path) -> None:
    declined = (
        "The provided text does not include any physical examination findings. I cannot generate them. "
        "If you have more information, please provide it."
    )
    question = "A 60-year-old man presented with a lump. What is the diagnosis?"
    result = read(tmp_path, {**NEJM, "question": question, "physical_exams": declined})
    case = result.cases[0]
    assert case.examinations.results == {} and case.key.examination_items == []
    [problem] = result.problems
    assert (problem.severity, problem.field) == ("warning", "physical_exams")


@pytest.mark.parametrize(
    "said",
    [
        "The supplied case does not mention any readings. It merely describes how the lump grew. No measured values "
        "are given.",
        "For an instrument reader there are no details, such as blood counts, in the text provided.",
        "It only mentions that a scan was done, without describing what it found in the report.",
        "To write them, details of the scan are needed, but they are not given in the text you've shared.",
        "- Patient: 60-year-old man - Test performed: Radiograph of the neck",
        "Radiograph of the neck: Completed. A needle biopsy was obtained.",
    ],
)
def test_what_a_writer_says_of_its_text_and_a_test_without_a_result_are_no_finding(said: str, tmp_path: Path) -> None:
    question = "A 60-year-old man presented with a lump. A CT of the neck was performed (left). What is the diagnosis?"
    result = read(tmp_path, {**NEJM, "question": question, "physical_exams": said})
    assert result.cases[0].examinations.results == {} and result.cases[0].key.examination_items == []
    assert [problem.message for problem in result.problems] == ["contains no result; left out"]


def test_a_journal_question_that_only_asks_is_not_the_patients_complaint(tmp_path: Path) -> None:
    info = "A 40-year-old man has had an itchy rash for 3 weeks."
    [case] = read(tmp_path, {**NEJM, "question": "What is the diagnosis?", "patient_info": info}).cases
    assert case.patient.chief_complaint == info and case.key.question == "What is the diagnosis?"
    assert (case.patient.age_years, case.patient.sex) == (40, "male")


def test_of_a_refusal_what_it_tells_after_all_is_kept_under_its_test(tmp_path: Path) -> None:
    said = (
        "Based on the given case, the tests are: 1. **Biopsy of the lump:** - Cells: Atypical. - Staining: Positive. "
        "2. **Computed tomography of the neck:** - The findings are not described in the text. "
        "Imaging studies: - Spread to the liver. Laboratory studies showed anaemia. Eye exam: Swollen iris."
    )
    question = "A 60-year-old man presented with a lump. What is the diagnosis?"
    found = read(tmp_path, {**NEJM, "question": question, "physical_exams": said}).cases[0].examinations.results
    assert found == {
        "Pathological Examination": "Cells: Atypical. Staining: Positive.",
        "General Examination": "Spread to the liver.",
        "Blood Test": "Laboratory studies showed anaemia.",
        "Head, Eyes, Ears, Nose and Throat Examination": "Eye exam: Swollen iris.",
    }


@pytest.mark.parametrize(
    ("asked", "diagnosis", "treatment"),
    [
        ("What is the most likely diagnosis?", ["Acute gouty arthritis"], ""),
        ("Which of these is the best treatment?", [], "Acute gouty arthritis"),
        ("Which further test is likely to reveal the diagnosis?", [], "Acute gouty arthritis"),
        ("What is this sign called?", [], ""),
    ],
)
def test_the_right_answer_is_a_diagnosis_only_where_one_is_asked(
    asked: str, diagnosis: list[str], treatment: str, tmp_path: Path
) -> None:
    key = read(tmp_path, {**NEJM, "question": f"A man of 70 presented with a red toe. {asked}"}).cases[0].key
    assert (key.diagnosis, key.treatment_course, key.option) == (diagnosis, treatment, "B")


def test_what_a_question_tells_right_after_its_complaint_is_examined_too(tmp_path: Path) -> None:
    question = "A girl of 7 presented with a rash. On exam she had purulent tonsils. What is the diagnosis?"
    case = read(tmp_path, {**NEJM, "question": question, "physical_exams": "The case does not include any."}).cases[0]
    assert case.examinations.results == {"General Examination": "On exam she had purulent tonsils."}


def test_an_actor_is_told_facts_and_not_how_to_play_them(tmp_path: Path) -> None:
    info = (
        "For the patient actor portraying a boy: - **Symptoms to present:** - Mention that you've limped for two days. "
        "- Your mother is 37 years old. - **Behavior to exhibit:** - Walk slowly. "
        "- **What not to mention:** - The scan."
    )
    patient = (
        read(tmp_path, {**NEJM, "question": "A boy presented with a limp.", "patient_info": info}).cases[0].patient
    )
    assert patient.present_illness == "You've limped for two days. Your mother is 37 years old."
    assert patient.age_years is None


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Not done but would show clusters of cells if performed.", ""),
        ("Findings not given, but imagine a pale disc.", ""),
        ("No examination details provided, but consider looking for pus.", ""),
        ("Optional and not usually needed. Might show bodies in the skin, if performed.", ""),
        ("Details of earlier illnesses are not provided, but he took many tablets.", "He took many tablets"),
        ("No other relevant history mentioned; recent behaviour is odd.", "Recent behaviour is odd"),
        ("The case at hand does not mention any illness. He smokes.", "He smokes"),
        ("I can't write findings that were not given.", ""),
        ("I can't write since my hand went numb", "I can't write since my hand went numb"),
        ("A smoker. No other exposures mentioned.", "A smoker"),
        ("Denies fever; no cough was mentioned to the nurse.", "Denies fever; no cough was mentioned to the nurse"),
        ("No significant history.", "No significant history"),
    ],
)
def test_what_a_writer_puts_where_nothing_was_recorded_is_left_out_and_the_rest_kept(written: str, kept: str) -> None:
    assert phrase(written) == kept


def test_of_a_journal_question_the_patient_knows_neither_findings_nor_stage_directions(tmp_path: Path) -> None:
    patient = read(tmp_path, NEJM).cases[0].patient.model_dump_json()
    assert not any(words in patient for words in ("uric", "Remember", "your role", "What is the diagnosis"))


@pytest.mark.skipif(not DATA.is_dir(), reason="the AgentClinic data lies outside the repository and is not here")
@pytest.mark.parametrize(("name", "count"), [("agentclinic_medqa", 107), ("agentclinic_medqa_extended", 214)])
def test_every_released_case_imports_without_an_error(name: str, count: int) -> None:
    result = import_cases("agentclinic", DATA / f"{name}.jsonl")
    assert len(result.cases) == count and not result.errors
    assert len(result.warnings) < count / 20
    for case in result.cases:
        assert case.patient.age_years is not None and case.examinations.results and len(case.key.diagnosis) == 1
        # Nothing of the source's notation is left in what people read.
        assert not any(mark in text for text in case.examinations.results.values() for mark in ("_", "{", "..", ": ;"))


def test_objects_that_stand_one_after_the_other_are_a_record_each_and_named_so(tmp_path: Path) -> None:
    path = tmp_path / "forked.jsonl"
    path.write_text(",\n".join(json.dumps(record, indent=4) for record in (osce(), osce(), {"other": 1})), "utf-8")
    result = import_cases("agentclinic", path)
    assert [case.id for case in result.cases] == ["forked-001", "forked-002"]
    assert [problem.record for problem in result.errors] == ["object 3"]


@pytest.mark.parametrize("wrapped", [lambda one: [[one, one], [one]], lambda one: [{"cases": [one, one]}, one]])
def test_cases_in_lists_within_a_list_are_read_and_named_by_both_numbers(
    wrapped: Callable[[object], object], tmp_path: Path
) -> None:
    source = tmp_path / "osce.json"
    source.write_text(json.dumps(wrapped({"OSCE_Examination": OSCE})))
    found = import_cases("agentclinic", source)
    assert (len(found.cases), found.errors) == (3, [])
    source.write_text(json.dumps(wrapped({"OSCE_Examination": {**OSCE, "Patient_Actor": 1}})))
    assert "entry 1.2" in {problem.record for problem in import_cases("agentclinic", source).errors}


def test_an_entry_that_is_no_case_is_an_error_even_if_it_is_an_empty_list(tmp_path: Path) -> None:
    source = tmp_path / "osce.json"
    source.write_text(json.dumps([{"OSCE_Examination": OSCE}, []]))
    assert [problem.record for problem in import_cases("agentclinic", source).errors] == ["entry 2"]


def test_of_a_broken_row_of_objects_nothing_is_read(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(json.dumps(osce(), indent=4) + "\n" + json.dumps(osce(), indent=4)[:-3], "utf-8")
    result = import_cases("agentclinic", path)
    assert not result.cases and ["is not JSON" in problem.message for problem in result.errors] == [True]


def test_a_file_in_another_encoding_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "gb.jsonl"
    path.write_bytes(json.dumps(osce(Correct_Diagnosis="肺炎"), ensure_ascii=False).encode("gb18030"))
    [problem] = import_cases("agentclinic", path).errors
    assert "(GB18030 or Windows-1252, perhaps: save it as UTF-8)" in problem.message


def test_age_and_sex_beside_the_demographics_are_read_and_are_no_past_history(tmp_path: Path) -> None:
    actor = {**osce()["OSCE_Examination"]["Patient_Actor"], "Demographics": "A nurse", "Age": 35, "Gender": "female"}
    result = read(tmp_path, osce(Patient_Actor=actor))
    [patient] = [case.patient for case in result.cases]
    assert (patient.age_years, patient.sex) == (35, "female") and not result.errors
    assert "35" not in patient.past_history


def test_a_finding_is_filed_whole_under_its_test(tmp_path: Path) -> None:
    ct = "Computed tomographic angiography of the abdomen revealed an embolus."
    catheter = "Left and right heart catheterization showed discordance (right, solid; left, dotted)."
    told = f"A 40-year-old man presented with dyspnea. On physical examination, he was pale. {ct} {catheter}"
    question = f"{told} What is the diagnosis?"
    [case] = read(tmp_path, {**NEJM, "question": question, "physical_exams": ""}).cases
    assert case.examinations.auxiliary["CT"] == ct
    assert any(catheter in text for text in case.examinations.results.values())
