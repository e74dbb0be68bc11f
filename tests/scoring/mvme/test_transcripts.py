"""Reading AI Hospital's files: their spellings, and what does not fit, named by record and field."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.mvme.transcripts import (
    Collaboration,
    Dialogue,
    Evaluation,
    OneStep,
    kind_of,
    read_collaborations,
    read_evaluations,
    read_references,
    read_reports,
    sections,
)
from tests.scoring.ai_hospital_files import COLLABORATIONS, DIALOGUES, EVALUATIONS, released

EVALUATION: dict[str, Any] = {
    "doctor_name": "GPT-4",
    "patient_id": 7,
    "model_name": "gpt-4",
    "reference_diagnosis": {"patient_id": 7, "diagnosis": "肺炎", "basis": "胸片", "treatment": None},
    "doctor_diagnosis": {"patient_id": 7, "diagnosis": "#诊断结果#\n肺炎\n\n#诊断依据#\n胸片"},
    "diagnosis_analyis": "一致",
    "diagnosis_choice": "A",
    "treatment_choice": None,
}


def write(folder: Path, *records: object) -> Path:
    path = folder / "records.jsonl"
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


@pytest.mark.parametrize(
    "report",
    [
        "#诊断结果#\n(1) 肺炎\n\n#诊断依据#\n胸片",
        "# 诊断结果 #\n(1) 肺炎\n# 诊断依据 #\n胸片",
        "＃诊断结果＃\n(1) 肺炎\n＃诊断依据＃：胸片",
        "##诊断结果##\n(1) 肺炎\n##主任医生##\n略\n##诊断依据##\n胸片",
        "#最终诊断#\n\n#诊断结果#\n(1) 肺炎\n\n#诊断依据#\n胸片",
        "#最终诊断结果#\n(1) 肺炎\n#诊断依据#\n胸片",
        "# 诊断结果\n(1) 肺炎\n# 诊断依据\n胸片",
        "前言 #诊断结果# (1) 肺炎 #诊断依据# 胸片",
        "#\u00a0诊断结果\n(1)\u00a0肺炎\r\n#\u202f诊断\u200b依据\n胸片",
    ],
)
def test_a_report_has_its_parts_however_its_headings_are_spelt(report: str) -> None:
    assert sections(report) == {"diagnosis": "(1) 肺炎", "basis": "胸片"}


def test_an_english_report_has_the_same_parts() -> None:
    report = (
        "# Symptoms\nCough\n# Medical Examination Items\nX-ray\n# Diagnosis Result\nPneumonia\n# Treatment Plan\nRest"
    )
    assert sections(report) == {
        "symptoms": "Cough",
        "examinations": "X-ray",
        "diagnosis": "Pneumonia",
        "treatment": "Rest",
    }


@pytest.mark.parametrize(
    "report",
    [
        "**诊断结果**\n肺炎，**重症**\n**诊断依据：** 胸片\n**治疗方案**：\n**药物**\n抗生素",
        "### **诊断结果**\n肺炎，**重症**\n1. **诊断依据**\n胸片\n- **治疗方案**\n**药物**\n抗生素",
        "**1. 诊断结果**\n肺炎，**重症**\n## 二、诊断依据\n胸片\n**3、治疗方案：**\n**药物**\n抗生素",
    ],
)
def test_bold_headings_are_headings_and_bold_words_within_a_part_are_not(report: str) -> None:
    assert sections(report) == {"diagnosis": "肺炎，**重症**", "basis": "胸片", "treatment": "**药物**\n抗生素"}


@pytest.mark.parametrize(
    "report",
    [
        "1. Diagnosis: Gout\n2. Diagnostic basis: a swollen toe\nSymptoms: pain\n3. Treatment plan:\nDrug: colchicine",
        "Diagnosis\nGout\n\nBasis\na swollen toe\n- Symptoms: pain\nTreatment\nDrug: colchicine",
        "一、诊断结果：Gout\n二、诊断依据：a swollen toe\n症状：pain\n三、治疗方案：\nDrug: colchicine",
        "【诊断结果】Gout\n【诊断依据】：a swollen toe\n【病人症状】pain\n【治疗方案】Drug: colchicine",
    ],
)
def test_a_report_without_marked_headings_is_split_where_lines_begin_with_a_parts_name(report: str) -> None:
    found = {"symptoms": "pain", "diagnosis": "Gout", "basis": "a swollen toe", "treatment": "Drug: colchicine"}
    assert sections(report) == found
    marked = "#诊断结果#\n痛风\n#诊断依据#\n症状：脚趾肿痛\n辅助检查：尿酸高"
    assert sections(marked) == {"diagnosis": "痛风", "basis": "症状：脚趾肿痛\n辅助检查：尿酸高"}


def test_a_report_without_headings_has_no_parts_and_an_empty_part_is_there() -> None:
    assert sections("考虑肺炎：抗生素。\n诊断为肺炎") == {}
    assert sections("#诊断结果#\n#诊断依据#\n胸片") == {"diagnosis": "", "basis": "胸片"}


PIECES = st.sampled_from(["#", "＃", "诊断结果", "诊断依据", "\n", "<结束>", " ", "x"])


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_no_text_is_beyond_reading(text: str) -> None:
    assert all(part in text or not part for joined in sections(text).values() for part in joined.split("\n"))


def test_the_misspelt_keys_are_read_with_their_missing_options(tmp_path: Path) -> None:
    five = EVALUATION | {"patient_id": "8", "sympton_choice": "B", "test_choice": "C", "basis_analysis": "尚可"}
    first, second = read_evaluations(write(tmp_path, EVALUATION, five)).records
    assert first.choices == {"diagnosis": "A", "treatment": None} and first.analyses == {"diagnosis": "一致"}
    assert second.choices["symptoms"] == "B" and second.choices["examinations"] == "C"
    assert second.analyses["basis"] == "尚可" and second.patient_id == "8"


def test_every_fault_of_a_file_is_named_by_its_line_and_field(tmp_path: Path) -> None:
    path = write(tmp_path, EVALUATION, EVALUATION | {"patient_id": None}, EVALUATION | {"diagnosis_choice": 3}, [1])
    problems = [str(problem) for problem in read_evaluations(path).errors]
    assert len(problems) == 3
    assert "line 2, patient_id" in problems[0]
    assert "line 3: diagnosis_choice: expected text or null, found 3" in problems[1]
    assert "line 4" in problems[2]


def test_one_doctor_sees_a_patient_once(tmp_path: Path) -> None:
    (problem,) = read_evaluations(write(tmp_path, EVALUATION, EVALUATION)).errors
    assert "patient 7" in str(problem) and "twice" in str(problem)
    assert not read_evaluations(write(tmp_path, EVALUATION, EVALUATION | {"doctor_name": "Qwen"})).errors


def test_an_evaluation_without_any_option_is_refused(tmp_path: Path) -> None:
    bare = {key: value for key, value in EVALUATION.items() if not key.endswith("choice")}
    assert "_choice" in str(read_evaluations(write(tmp_path, bare)).errors[0])
    assert not read_evaluations(write(tmp_path, EVALUATION, bare | {"patient_id": "8"})).errors, "one may lack them"


def test_a_report_is_found_in_each_kind_of_file(tmp_path: Path) -> None:
    onestep = {"patient_id": 7, "doctor": "x", "diagnosis": "#诊断结果#\n肺炎"}
    turns = [{"turn": 0, "role": "Doctor", "content": "您好"}, {"turn": 1, "role": "Patient", "content": None}]
    spoken = {"patient_id": 7, "dialog_history": [*turns, {"turn": 1, "role": "Doctor", "content": "#诊断结果#\n肺炎"}]}
    kinds = {Evaluation: EVALUATION, OneStep: onestep, Collaboration: onestep | {"final_turn": 0}, Dialogue: spoken}
    for kind, record in kinds.items():
        path = write(tmp_path, record)
        (report,) = read_reports(path).records
        assert kind_of(path) is kind and sections(report.report)["diagnosis"] == "肺炎"


def test_references_are_read_from_records_and_from_evaluations(tmp_path: Path) -> None:
    record = {"id": 7, "profile": "", "medical_record": {"现病史": "咳嗽", "初步诊断": "肺炎", "诊治经过": "休息"}}
    found, problems = read_references(write(tmp_path, record))
    assert not problems and (found["7"].symptoms, found["7"].diagnosis, found["7"].treatment) == (
        "咳嗽",
        "肺炎",
        "休息",
    )
    found, problems = read_references(write(tmp_path, EVALUATION))
    assert not problems and found["7"].basis == "胸片"


@released
def test_the_released_files_are_read_without_a_fault() -> None:
    evaluations = read_evaluations(EVALUATIONS)
    dialogues = read_reports(DIALOGUES)
    collaborations = read_collaborations(COLLABORATIONS)
    for reading in (evaluations, dialogues, collaborations):
        assert len(reading.records) == 506 and not reading.problems
    assert all(sections(record.report).get("diagnosis") for record in collaborations.records)
    assert sum("diagnosis" not in sections(record.report) for record in dialogues.records) == 1


def test_a_reference_without_any_part_that_we_know_is_refused_with_the_fields_it_has(tmp_path: Path) -> None:
    record = {"id": 7, "medical_record": {"complaint": "cough", "final_dx": "pneumonia"}}
    references, problems = read_references(write(tmp_path, record))
    assert not references
    assert [(problem.field, "'complaint', 'final_dx'" in problem.message) for problem in problems] == [
        ("medical_record", True)
    ]


def test_references_are_read_from_the_english_translation_of_the_records(tmp_path: Path) -> None:
    record = {
        "current_medical_history": "cough",
        "auxiliary_examinations": "CT",
        "diagnostic_results": "pneumonia",
        "diagnostic_basis": "CT",
        "diagnosis_and_treatment_process": "antibiotics",
    }
    references, problems = read_references(write(tmp_path, {"id": 7, "medical_record": record}))
    assert not problems
    assert list(references["7"].model_dump().values()) == ["cough", "CT", "pneumonia", "CT", "antibiotics"]
