"""Notes wherever they stand: read as they are, taken apart by section, each fault named by file, record and field."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cases import CaseFileError, PatientRecord, load_cases
from cases.note_files import read_notes
from cases.notes import Note, note_of, who_is
from cases.problems import Problem
from cases.text.note_sections import note_sections, read_sections
from cases.text.sentences import sentences
from cases.vocabulary import Language

DATASETS = Path(__file__).resolve().parents[3] / "shared" / "datasets"
NOTE = (
    "Chief complaint: Cough for 3 weeks. HPI: The cough is dry. It is worse at night. Other symptoms: fever; sweats.\n"
    "PMH: Asthma. Medications: Salbutamol 2 puffs b.i.d. for years. Family and social history: Mother had gout. "
    "He smokes.\nPhysical examination: Temperature: 38.1 °C. Assessment: Pneumonia."
)


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


@pytest.mark.parametrize(
    ("years", "told"),
    [
        (6.9, ("6-year-old", "6岁")),  # in whose complaint she "is not yet seven"
        (3, ("3-year-old", "3岁")),
        (2.5, ("30-month-old", "30个月")),
        (2, ("2-year-old", "2岁")),
        (1.5, ("18-month-old", "18个月")),
        (1, ("1-year-old", "1岁")),
        (0.5, ("6-month-old", "6个月")),
        (0.1, ("5-week-old", "5周")),
        (0.005, ("2-day-old", "2天")),
    ],
)
def test_an_age_is_told_in_completed_years_and_a_childs_of_one_and_a_half_in_months(
    years: float, told: tuple[str, str]
) -> None:
    patient = PatientRecord(chief_complaint="a", age_years=years)
    assert (who_is(patient, "en"), who_is(patient, "zh")) == told


def test_what_goes_on_about_the_patient_is_no_illness_of_the_family() -> None:
    text = (
        "Family and social history: She does exercises every day. However, has not been able to do these since June. "
        "Her mother had gout. Has been told that an aunt had gout too."
    )
    assert read_sections(text, "en") == {
        "personal_history": (
            "She does exercises every day.",
            "However, has not been able to do these since June.",
        ),
        "family_history": ("Her mother had gout.", "Has been told that an aunt had gout too."),
    }


@pytest.mark.parametrize(
    ("text", "language", "told"),
    [
        ("She has palpitations.", "en", "She has palpitations.\nDiagnosis: Angina; Gout."),
        ("She has palpitations and gout.", "en", "She has palpitations and gout.\nDiagnosis: Angina."),
        ("患者心悸。", "zh", "患者心悸。\n诊断：Angina；Gout。"),
    ],
)
def test_the_diseases_of_a_note_are_told_if_asked_for_and_otherwise_withheld(
    text: str, language: Language, told: str
) -> None:
    note = Note(id="a", text=text, language=language, diseases=["Angina", "Gout"])
    assert note.shown(with_answer=True).text == told
    withheld = note.shown(with_answer=False)
    assert (withheld.text, withheld.diseases, withheld.answer) == (text, [], "")


def test_a_note_is_taken_apart_at_its_headings_and_no_sentence_is_lost() -> None:
    assert read_sections(NOTE, "en") == {
        "chief_complaint": ("Cough for 3 weeks.",),
        "present_illness": ("The cough is dry.", "It is worse at night.", "Other symptoms: fever; sweats."),
        "past_history": ("Asthma.",),
        "medications": ("Salbutamol 2 puffs b.i.d. for years.",),
        "personal_history": ("He smokes.",),
        "family_history": ("Mother had gout.",),
        "physical_examination": ("Temperature: 38.1 °C.",),
        "assessment": ("Pneumonia.",),
    }


def test_a_note_without_headings_is_sorted_by_what_its_sentences_tell() -> None:
    text = (
        "A 61-year-old man comes to the clinic because of chest pain. It began 2 days ago. He takes aspirin daily. "
        "His father died of a stroke. He smokes. His temperature is 37 °C. There are no murmurs. An ECG shows a block."
    )
    assert {name: len(told) for name, told in read_sections(text, "en").items()} == {
        "chief_complaint": 1,
        "present_illness": 1,
        "medications": 1,
        "personal_history": 1,
        "family_history": 1,
        "physical_examination": 2,
        "test_results": 1,
    }


@pytest.mark.parametrize(
    ("language", "text", "history"),
    [
        ("en", "He has pain. An ultrasound shows a cyst. He smokes. His mother had gout.", 3),
        ("en", "He has pain. CT shows a cyst. There is no family history of gout. She is allergic to nuts.", 3),
        ("en", "He has pain. CT shows a cyst. Current medications include aspirin. It is worse today.", 3),
        ("zh", "腹痛。超声示囊肿。吸烟30年。父亲有糖尿病。对青霉素过敏。", 4),
        ("zh", "腹痛。CT示囊肿。追问病史，有肺结核病史。长期服用阿司匹林。今腹痛加重。", 4),
    ],
)
def test_findings_without_a_heading_end_where_the_patients_history_goes_on(
    language: Language, text: str, history: int
) -> None:
    sections = read_sections(text, language)
    findings = [line for name in ("physical_examination", "test_results") for line in sections.get(name, ())]
    assert len(findings) == 1
    assert sum(map(len, sections.values())) - len(findings) == history


@pytest.mark.parametrize(
    ("language", "after"),
    [
        ("en", "The patient is diagnosed with a cyst and undergoes surgery."),
        ("en", "The patient is given supportive care."),
        ("en", "Toxicology is positive for cocaine."),
        ("en", "He is advised to avoid alcohol."),
        ("zh", "请结合临床病史。"),
        ("zh", "过敏原检测阴性。"),
    ],
)
def test_the_course_and_further_results_do_not_end_findings(language: Language, after: str) -> None:
    before = "腹痛。CT示囊肿。" if language == "zh" else "He has pain. CT shows a cyst. "
    assert after in read_sections(before + after, language)["test_results"]


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "Two days ago a CT was normal."),
        ("en", "A CT at another hospital was normal."),
        ("en", "His temperature is 39 C at home."),
        ("en", "During that hospitalization, a CT was normal."),
        ("zh", "2天前外院CT检查正常。"),
        ("zh", "昨日当地医院血常规正常。"),
    ],
)
def test_what_a_test_had_shown_before_the_visit_is_the_patients_story(language: Language, told: str) -> None:
    opening, story, result = {
        "en": ("He comes because of cough.", "It is dry.", "Hemoglobin is 12 g/dL (14 g/dL a year ago)."),
        "zh": ("因咳嗽就诊。", "咳嗽加重。", "白细胞10。"),
    }[language]
    sections = read_sections(" ".join((opening, told, story, result)), language)
    assert (sections["present_illness"], sections["test_results"]) == ((told, story), (result,))


def test_whoever_comes_for_a_test_or_its_result_begins_no_findings() -> None:
    opening = "A 60-year-old man presents to the physician for his colonoscopy screening."
    sections = read_sections(f"{opening} He has no complaints. CT shows a cyst.", "en")
    assert sections == {
        "chief_complaint": (opening,),
        "present_illness": ("He has no complaints.",),
        "test_results": ("CT shows a cyst.",),
    }


def test_a_dated_line_of_the_laboratory_begins_the_results() -> None:
    sections = read_sections("腹痛。否认手术史。2021-03-18 09:09：血清血糖，4.9，N；血清总蛋白，74，N；", "zh")
    assert sections["test_results"] == ("2021-03-18 09:09：血清血糖，4.9，N；", "血清总蛋白，74，N；")


def test_what_a_doctor_found_is_no_part_of_the_history_though_it_stands_under_its_heading() -> None:
    sections = read_sections("HPI: Her knee hurts. On examination, it is warm. Flexion is 90 degrees. She limps.", "en")
    assert sections["physical_examination"] == ("On examination, it is warm.", "Flexion is 90 degrees.")
    assert sections["present_illness"] == ("Her knee hurts.", "She limps.")


@pytest.mark.parametrize(
    ("text", "count"),
    [("Dr. X saw her. It was 3.5 cm.", 2), ("咳嗽3天。没有发热；无咯血。", 3), ("Twice a day, b.i.d. or so. Done.", 2)],
)
def test_sentences_are_not_cut_at_decimals_and_abbreviations(text: str, count: int) -> None:
    assert len(sentences(text)) == count


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (  # SOAP: one letter at the beginning of a line, with headings inside
            "S: 58 yo M c/o chest pressure x 3 days. PMH: HTN. PSH: appendectomy 1989. Meds: aspirin daily. NKDA.\n"
            "O: BP 152/94. Lungs clear.\nA: Stable angina.\nP: Stress test. Hepatitis A: negative.",
            "en",
            {
                "chief_complaint": ("58 yo M c/o chest pressure x 3 days.",),
                "past_history": ("HTN.", "appendectomy 1989."),
                "medications": ("aspirin daily.",),
                "allergies": ("NKDA.",),
                "physical_examination": ("BP 152/94.", "Lungs clear."),
                "assessment": ("Stable angina.",),
                "plan": ("Stress test.", "Hepatitis A: negative."),
            },
        ),
        (  # a letter: its title and the lines for the file are nobody's words
            "DISCHARGE SUMMARY\nAdmission Date: 03/12/2026  Discharge Date: 03/17/2026\nAttending: Lin\n\n"
            "PAST MEDICAL HISTORY\n1. COPD.\n\n## Labs and imaging\nWBC 15.2.\n**Hospital course:** Oxygen.\n"
            "Discharge diagnoses: Pneumonia.\nMental status: tearful.\nSocial: lives alone.",
            "en",
            {
                "past_history": ("1. COPD.",),
                "personal_history": ("lives alone.",),
                "physical_examination": ("tearful.",),
                "test_results": ("WBC 15.2.",),
                "assessment": ("Pneumonia.",),
                "plan": ("Oxygen.",),
                "file": ("Admission Date: 03/12/2026  Discharge Date: 03/17/2026", "Attending: Lin"),
            },
        ),
        (  # numbered headings, a heading with a space in it, a list whose numbers stand close to the words
            "入院记录\n一、一般资料:王某,女,62岁,退休教师,已婚。\n二、主 诉:右侧肢体无力4小时。\n"
            "（三）既往史:1.2型糖尿病10年;2.青霉素过敏。\n4.查 体:律不齐。\nP:80次/分\n病史陈述者:女儿",
            "zh",
            {
                "person": ("王某,女,62岁,退休教师,已婚。",),
                "chief_complaint": ("右侧肢体无力4小时。",),
                "past_history": ("2型糖尿病10年", "青霉素过敏"),
                "physical_examination": ("律不齐。", "P:80次/分"),  # a pulse is no plan
                "file": ("病史陈述者:女儿",),
            },
        ),
        (  # a discharge letter in Chinese: what was found on admission has no heading of ours
            "出院小结\n姓名:李某 性别:男 年龄:45岁\n入院情况:患者因腰痛6小时入院。既往体健。查体:腹软。\n"
            "入院诊断:输尿管结石\n诊疗经过:予止痛。\n出院医嘱:多饮水。",
            "zh",
            {
                "chief_complaint": ("患者因腰痛6小时入院。",),
                "past_history": ("既往体健。",),
                "physical_examination": ("腹软。",),
                "assessment": ("输尿管结石",),
                "plan": ("予止痛。", "多饮水。"),
                "file": ("姓名:李某", "性别:男", "年龄:45岁"),
            },
        ),
        (  # abbreviated headings, and a blood pressure that is an illness
            "PSHx: none\nRx: sumatriptan\nAll: codeine\nSocHx: 6 beers a day\n"
            "FamHx: sister w/ epilepsy\nO/E: alert\nImp: Gout",
            "en",
            {
                "past_history": ("none",),
                "medications": ("sumatriptan",),
                "allergies": ("codeine",),
                "personal_history": ("6 beers a day",),
                "family_history": ("sister w/ epilepsy",),
                "physical_examination": ("alert",),
                "assessment": ("Gout",),
            },
        ),
        (
            "男性，67岁。咳嗽1周。高血压10年，服硝苯地平。妇科检查：子宫如孕3月大。辅查：Hb 72g/L。",
            "zh",
            {
                "chief_complaint": ("男性，67岁。",),
                "present_illness": ("咳嗽1周。",),
                "past_history": ("高血压10年，服硝苯地平。",),
                "physical_examination": ("子宫如孕3月大。",),
                "test_results": ("Hb 72g/L。",),
            },
        ),
        (  # what opens and closes a letter to a colleague is nobody's words
            "Dear Dr. Moore,\n\nThank you for seeing this man, who has a cough. His mother reports that he had asthma."
            "\n\nKind regards,\nDr. A. Hill",
            "en",
            {
                "chief_complaint": ("Thank you for seeing this man, who has a cough.",),
                "present_illness": ("His mother reports that he had asthma.",),
            },
        ),
        (  # what a line for the file tells of the patient is told
            "姓名：王某，女，45岁，因腹痛3天入院。查体：腹软。",
            "zh",
            {
                "chief_complaint": ("因腹痛3天入院。",),
                "physical_examination": ("腹软。",),
                "file": ("姓名：王某，女，45岁",),
            },
        ),
        (
            "年龄：45岁，腹痛3天，无发热。\n可靠程度：可靠。",
            "zh",
            {"chief_complaint": ("腹痛3天，无发热。",), "file": ("年龄：45岁", "可靠程度：可靠。")},
        ),
        (
            "入院时间：2020年1月1日，因胸痛2小时入院。",
            "zh",
            {"chief_complaint": ("因胸痛2小时入院。",), "file": ("入院时间：2020年1月1日",)},
        ),
        (
            "DOB: 1/1/1960. 58 year old male presents with chest pain for 3 days. Exam: Abdomen soft.",
            "en",
            {
                "chief_complaint": ("58 year old male presents with chest pain for 3 days.",),
                "physical_examination": ("Abdomen soft.",),
                "file": ("DOB: 1/1/1960.",),
            },
        ),
        (
            "Provider: Dr. A. Smith. Patient is a 60-year-old man who presents with fever.",
            "en",
            {
                "chief_complaint": ("Patient is a 60-year-old man who presents with fever.",),
                "file": ("Provider: Dr. A.", "Smith."),
            },
        ),
        (
            "Date: 2024-01-02 Chief complaint: cough for 3 days.",
            "en",
            {"chief_complaint": ("cough for 3 days.",), "file": ("Date: 2024-01-02",)},
        ),
        (
            "Informant: mother, who says he has had fever for 3 days.",
            "en",
            {"chief_complaint": ("he has had fever for 3 days.",), "file": ("Informant: mother, who says",)},
        ),
        (  # a relative's illness is the family's
            "患者因头痛2天就诊。父亲高血压20年。母亲糖尿病10年，弟弟体健。",
            "zh",
            {
                "chief_complaint": ("患者因头痛2天就诊。",),
                "family_history": ("父亲高血压20年。", "母亲糖尿病10年，弟弟体健。"),
            },
        ),
        (  # what only begins like a letter's end, and a line that only looks like a heading
            "HPI: He saw his\nphysician\nyesterday.\nPlan: antibiotics.\nWishes to go home.\nTruly better.",
            "en",
            {
                "present_illness": ("He saw his", "physician", "yesterday."),
                "plan": ("antibiotics.", "Wishes to go home.", "Truly better."),
            },
        ),
    ],
    ids=[
        *("soap", "letter", "numbered", "discharge", "abbreviated", "unheaded", "referral", "name", "age", "admitted"),
        *("born", "provider", "dated", "informant", "family", "wrapped"),
    ],
)
def test_the_forms_in_which_hospitals_write_are_taken_apart(
    text: str, language: str, expected: dict[str, tuple[str, ...]]
) -> None:
    assert read_sections(text, language) == expected


@pytest.mark.parametrize("case", load_cases()[::7], ids=lambda case: case.id)
def test_the_note_of_a_case_holds_its_history_and_findings_and_the_answer_apart_under_headings_that_are_read_back(
    case: Any,
) -> None:
    note = note_of(case)
    sections = read_sections(note.text, note.language)
    assert set(sections) <= set(note_sections())
    assert sections["chief_complaint"][0].rstrip(".。") in case.patient.chief_complaint + "."
    for finding in case.examinations.results.values():
        assert finding in note.text
    assert note.diseases == case.key.diagnosis and note.department == case.key.department
    assert all(disease in note.answer and disease in note.shown(True).text for disease in note.diseases)
    assert note.shown(False).diseases == [] and not note.shown(False).answer


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("n.csv", "id,note\n1,Cough, fever\n", "row 1: has more cells than the heading; quote a text"),
        ("n.csv", "id,Note,note\n1,Cough,Fever\n", "heading, note: appears 2 times; expected each column once"),
        ("n.csv", "编号,主诉\n1,咳嗽\n", "heading: expected one of the columns note, text, .*found '编号', '主诉'"),
        ("n.xlsx", "PK", 'is a spreadsheet; save it as "CSV UTF-8", with columns id and note'),
    ],
)
def test_a_table_whose_notes_cannot_be_told_is_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(CaseFileError, match=said):
        read_notes(tmp_path / name)


def test_texts_lines_tables_and_cases_are_all_read_as_notes(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "b.txt").write_text("头痛3天。", "utf-8")
    (folder / "a.txt").write_text("Headache for 3 days.", "utf-8")
    assert [(note.id, note.language) for note in read_notes(folder)] == [("a", "en"), ("b", "zh")]
    plain = lines(tmp_path / "n.jsonl", {"id": 7, "note": "Cough.", "disease": "Gout", "department": "Surgery", "x": 1})
    assert [(note.id, note.diseases, note.department) for note in read_notes(plain)] == [("7", ["Gout"], "Surgery")]
    table = tmp_path / "mts.csv"
    table.write_text('ID,section_header,section_text,dialogue\n4,ALLERGY,"None, or\nso.",Doctor: Hi\n', "utf-8")
    assert [(note.id, note.text) for note in read_notes(table)] == [("mts-4", "Allergies: None, or\nso.")]
    table.write_text("ID,section_header,section_text\n4,ALLERGY,None\u2028or\x0cso.\r\n5,CC,Cough.\n", "utf-8")
    assert [note.text for note in read_notes(table)] == ["Allergies: None\u2028or\x0cso.", "Chief complaint: Cough."]
    table.write_text("ID;Note;language;department\n7;Cough.;;Surgery\n;发热3天。;;\n", "utf-8-sig")
    assert [(note.id, note.text, note.language, note.department) for note in read_notes(table)] == [
        ("7", "Cough.", "en", "Surgery"),
        ("mts-00002", "发热3天。", "zh", None),
    ]
    mts = {"ID": 4, "section_header": "CC", "section_text": "Cough.", "dialogue": ""}
    for name, value in (("list.json", [mts]), ("data.json", {"data": [mts]})):
        (tmp_path / name).write_text(json.dumps(value), "utf-8")
        assert [note.text for note in read_notes(tmp_path / name)] == ["Chief complaint: Cough."]
    by_id = {"notes": {"n-1": {"note": "Cough."}, "n-2": {"note": "Fever.", "id": 0}}, "version": 1}
    (tmp_path / "by_id.json").write_text(json.dumps(by_id), "utf-8")
    assert [(note.id, note.text) for note in read_notes(tmp_path / "by_id.json")] == [
        ("n-1", "Cough."),
        ("0", "Fever."),
    ]
    (tmp_path / "text.json").write_text('{"text": "Cough.", "meta": {"note": "checked"}}', "utf-8")
    assert [note.text for note in read_notes(tmp_path / "text.json")] == ["Cough."]
    assert len(read_notes("builtin")) == len(load_cases())


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{"id": "a", "note": 3}\n', r"n\.jsonl, line 1, note: expected the text of a note .*, found a value 3"),
        ('{"id": "a"}\n', r"n\.jsonl, line 1, note: expected the text of a note"),
        ('{"note": "x", "language": "../fr"}\n', r"line 1, language: expected the tag of a language"),
        ('{"id": "a", "note": "x"}\n{"id": "a", "note": "y"}\n', r"'a' is the id of 2 notes; ids must be unique"),
        ("[1]\n", r"expected an object, found a value 1"),
        ('{"id": 1, "sentence": "x", "entities": [{"text": "fever"}]}', r"note: .* the record has 'id', 'sentence'"),
        ('{"id": 1, "record": {"note": "x"}}\n' * 2, r"line 2, note: expected .* the record has 'id', 'record'"),
        (
            '{"cases": [{"patient": {}}]}',
            r"n\.jsonl, cases: the cases lie in this field; write its list alone into a file",
        ),
        ('{"id": \n', r"is not JSON"),
        ("", r"contains no notes; expected text files, JSON lines"),
    ],
)
def test_a_faulty_file_is_refused_with_file_record_field_and_what_was_expected(
    tmp_path: Path, written: str, message: str
) -> None:
    (tmp_path / "n.jsonl").write_text(written, "utf-8")
    with pytest.raises(CaseFileError, match=message):
        read_notes(tmp_path / "n.jsonl")


def test_a_file_of_which_every_record_is_left_out_is_refused_with_the_first_reason(tmp_path: Path) -> None:
    question = {"question": "Which vitamin prevents scurvy?", "answer": "C", "options": {"A": "B12", "B": "C"}}
    (tmp_path / "n.jsonl").write_text(json.dumps(question), "utf-8")
    with pytest.raises(CaseFileError, match="has no note that can be used; the first: 1 question left out"):
        read_notes(tmp_path / "n.jsonl")


def test_references_of_ai_hospital_are_notes_and_its_doctors_dialogues_are_refused_by_name(tmp_path: Path) -> None:
    basis = "1. 主诉：咳嗽3天。2. 查体：咽部充血。"
    reference = {"patient_id": 7, "reference_diagnosis": {"diagnosis": "感冒", "basis": basis, "treatment": "休息。"}}
    (tmp_path / "n.jsonl").write_text(json.dumps(reference), "utf-8")
    (note,) = read_notes(tmp_path / "n.jsonl")
    assert (
        (note.id, note.diseases) == ("ai-hospital-7", ["感冒"]) and "感冒" not in note.text and "咳嗽3天" in note.text
    )
    (tmp_path / "d.jsonl").write_text('{"patient_id": 7, "patient": "Agent", "dialog_history": []}', "utf-8")
    with pytest.raises(CaseFileError, match="is a doctor's dialogue with a patient and not its case"):
        read_notes(tmp_path / "d.jsonl")


def test_in_a_list_a_heading_is_that_of_its_entry() -> None:
    text = "- 58 y/o man\n- chest pain for 2 hours\n- PMH: asthma\n- meds:\n  - metformin\n- NKDA\n- BP 150/90"
    assert read_sections(text, "en") == {
        "chief_complaint": ("- 58 y/o man",),
        "present_illness": ("- chest pain for 2 hours",),
        "past_history": ("asthma",),
        "medications": ("- metformin",),
        "allergies": ("NKDA",),
        "physical_examination": ("- BP 150/90",),
    }


def test_an_empty_folder_an_empty_text_and_a_missing_file_are_refused_by_name(tmp_path: Path) -> None:
    for source, message in ((tmp_path, "contains no .txt files"), (tmp_path / "no.txt", "no.txt: file not found")):
        with pytest.raises(CaseFileError, match=message):
            read_notes(source)
    for nothing in ("  \n", "\u200b"):
        (tmp_path / "empty.txt").write_text(nothing, "utf-8")
        with pytest.raises(CaseFileError, match=r"empty\.txt: is empty"):
            read_notes(tmp_path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_is_read_whatever_the_case_of_its_headings_and_whatever_parts_its_cells(
    tmp_path: Path, delimiter: str
) -> None:
    rows = (["Id ", "SECTION_HEADER", "Section_Text"], ["7", "CC", '"Cough, dry; at night\n\nfor 3 weeks."'])
    (tmp_path / "mts.CSV").write_text("\r\n".join(delimiter.join(row) for row in rows), "utf-8")
    (note,) = read_notes(tmp_path / "mts.CSV")
    assert (note.id, note.text) == ("mts-7", "Chief complaint: Cough, dry; at night\n\nfor 3 weeks.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mimic.csv", "note_id,subject_id,text\nDS-1,2,He coughs.\n"),
        ("aci.csv", "encounter_id,dialogue,note\nDS-1,[doctor] Hello,He coughs.\n"),
        ("pmc.json", '[{"patient_uid": "DS-1", "patient": "He coughs.", "age": [[60, "year"]]}]'),
    ],
)
def test_notes_of_other_data_sets_keep_their_ids(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    (note,) = read_notes(tmp_path / name)
    assert (note.id, note.text) == ("DS-1", "He coughs.")


def test_what_is_left_out_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    for name in ("a.txt", "B.TXT", "c.md", ".hidden", "LICENSE.txt"):
        (tmp_path / name).write_text("Cough for 3 weeks.", "utf-8")
    warnings: list[Problem] = []
    assert {note.id for note in read_notes(tmp_path, warnings)} == {"a", "B"}
    (told,) = warnings
    assert told.message == "only .txt files of notes are read, not LICENSE.txt, c.md, more"


@pytest.mark.skipif(not DATASETS.is_dir(), reason=f"no data sets at {DATASETS}")
def test_the_real_files_are_read_whole() -> None:
    assert len(read_notes(DATASETS / "mts_dialog" / "MTS-Dialog-TestSet-1.csv")) == 200
    assert len(read_notes(DATASETS / "agentclinic" / "agentclinic_medqa.jsonl")) == 107


def test_the_decimals_of_a_number_before_a_heading_do_not_number_it() -> None:
    """The temperature was 38, as "1. Assessment" was read as a heading; numbered ones still are."""
    assert read_sections("HPI: He coughs. Temperature 38.1. Assessment: Pneumonia.", "en") == {
        "present_illness": ("He coughs.", "Temperature 38.1."),
        "assessment": ("Pneumonia.",),
    }
    assert list(read_sections("1.HPI: Cough.2.PMH: Asthma. 3. Plan: rest.", "en")) == [
        "present_illness",
        "past_history",
        "plan",
    ]


def test_a_note_of_another_script_has_to_name_its_language(tmp_path: Path) -> None:
    note = {"id": "1", "note": "У пациента кашель и жар в течение трёх дней."}
    (named,) = read_notes(lines(tmp_path / "named.jsonl", note | {"language": "ru"}))
    assert named.language == "ru"
    (tmp_path / "1.txt").write_text(note["note"], "utf-8")
    for source in (lines(tmp_path / "notes.jsonl", note), tmp_path / "1.txt"):
        with pytest.raises(CaseFileError, match="neither English nor Chinese; give"):
            read_notes(source)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_as_notes_are_read_more_than_once(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(CaseFileError, match="is a pipe, and notes are read more than once; give a file"):
        read_notes(pipe)
