"""Med-PMC's cases, in a file of our making with pictures beside it."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from PIL import Image as Raster

from cases import Case
from cases.importers import ImportResult, import_cases
from nodes.consultation.final_report import FinalReport
from nodes.patients.filed_results import look_up
from nodes.state.chart import Picture, Turn
from scoring.medpmc.export import medpmc_transcript
from scoring.medpmc.metrics import score_medpmc
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.recall import RecallName
from scoring.metrics.samples import Definition

CASE: dict[str, Any] = {
    "id": 4,
    "Text": {
        "Patient Information": "Male, 61 years old. Occupation: farmer.",
        "Chief Complaint": "Pain in the left leg for 3 days.",
        "Present Illness": "Three days ago the leg began to hurt.",
        "Physical Condition": "Blood pressure 150/90 mmHg. He sleeps badly.",
        "Past Medical History": "Atrial fibrillation.",
        "Examinations": "White cells 9.1. CT: <\\image00001.jpg> CT of the abdomen: ‹\\image00002.jpg› "
        "Angiography: <\\image00003.jpg>",
        "Diagnosis": "Embolism of the left femoral artery",
        "Treatment": "Embolectomy.",
        "诊断": "左股动脉栓塞",
    },
    "Image": {
        "00001.jpg": "CT: no perfusion below the knee.",
        "00002.jpg": "CT: the aorta is normal.",
        "00003.jpg": "Angiography: the femoral artery ends abruptly.",
    },
    "病史": "",
}


def imported(tmp_path: Path, *records: Any, pictures: int = 3) -> ImportResult:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(records, ensure_ascii=False), "utf-8")
    for number in range(1, pictures + 1):
        Raster.new("L", (4, 4)).save(tmp_path / f"0000{number}.jpg")
    return import_cases("medpmc", path)


def in_our_words(case: Case) -> str:
    """Return the examinations as a case exports them whose source's words are not kept."""
    reworded = case.model_copy(update={"provenance": case.provenance.of_changed_record()})
    examinations: str = medpmc_transcript(reworded, [], None)["Text"]["Examinations"]
    return examinations


@pytest.mark.parametrize("definition", get_args(Definition))
@pytest.mark.parametrize("name", ["rouge1", "rougeL"])
def test_a_dialogue_has_the_same_scores_as_a_run_and_in_the_authors_file(
    tmp_path: Path, name: RecallName, definition: Definition
) -> None:
    record = {**CASE, "Text": {**CASE["Text"], "Diagnosis": "1. Embolism of the left leg, 2. Atrial fibrillation"}}
    [case] = imported(tmp_path, record).cases
    said = [
        Turn(speaker="doctor", text="What did the CT show?", action="Effective Advice"),
        Turn(speaker="examiner", text="It is enclosed.", pictures=[Picture(item="CT", file="00001.jpg")]),
        Turn(speaker="doctor", text="There is no perfusion below the knee."),
    ]
    report = FinalReport(
        symptoms="A farmer, 61 years old; the left leg hurts.", examinations="White cells 9.1; CT of the abdomen",
        diagnosis=["Embolism of the left leg"], basis="", treatment="Embolectomy",
    )  # fmt: skip
    of_run = medpmc_transcript(case, said, report)
    in_file = {**record, "history": of_run["history"], "diagnosis_self": of_run["diagnosis_self"]}
    ours, theirs = (score_medpmc([MedPmcTranscript.model_validate(one)], name, definition) for one in (of_run, in_file))
    assert ours == theirs and ours["Examination"] and ours["MMA"]


def test_diagnoses_in_one_numbered_text_are_several(tmp_path: Path) -> None:
    texts = {"1. Embolism, 2. Atrial fibrillation": ["Embolism", "Atrial fibrillation"], "1. A; 3. B": ["1. A; 3. B"]}
    for number, (text, names) in enumerate(texts.items()):
        [case] = imported(tmp_path, {**CASE, "id": number, "Text": {**CASE["Text"], "Diagnosis": text}}).cases
        assert case.key.diagnosis == names


def test_diagnoses_in_a_list_are_several_and_a_span_of_the_illness_is_no_age(tmp_path: Path) -> None:
    texts = {"Patient Information": "A female teacher", "Present Illness": "Pain for 3 days.", "Diagnosis": ["A", "B"]}
    [case] = imported(tmp_path, {**CASE, "Text": {**CASE["Text"], **texts}}).cases
    assert case.key.diagnosis == ["A", "B"]
    assert (case.patient.age_years, case.patient.sex, case.patient.occupation) == (None, "female", "teacher")


def test_a_case_has_its_parts_its_pictures_and_a_report_for_each(tmp_path: Path) -> None:
    result = imported(tmp_path, CASE)
    assert not result.problems
    [case] = result.cases
    assert (case.id, case.patient.age_years, case.patient.sex, case.patient.occupation) == (
        "med-pmc-4",
        61,
        "male",
        "farmer",
    )
    assert "He sleeps badly." in case.patient.present_illness
    assert "150/90" in case.examinations.results["General Examination"]
    assert [(image.file, image.item, image.name) for image in case.examinations.images] == [
        ("00001.jpg", "CT", ""),
        ("00002.jpg", "CT", ""),
        ("00003.jpg", "X-ray", "Angiography"),
    ]
    assert case.key.picture_reports == CASE["Image"]
    assert case.key.imaging_reports["CT"] == "CT: no perfusion below the knee. CT: the aorta is normal."
    assert case.key.stated.diagnosis == ["Embolism of the left femoral artery"]
    assert case.key.stated.department is None and case.key.stated.examination_items == []


@pytest.mark.parametrize("order", ["vital signs", "temperature", "respiratory rate", "blood pressure"])
def test_vital_signs_by_their_initials_are_found_by_their_names(tmp_path: Path, order: str) -> None:
    vital = "T: 36.2°C, P: 76 beats/min, R: 17 breaths/min, BP: 132/74 mmHg."
    told = {"Physical Condition": f"{vital} The abdomen is soft."}
    [case] = imported(tmp_path, written("CT: normal.", {}, **told)).cases
    assert case.examinations.physical["General Examination"] == vital
    assert look_up(case.examinations, order, "", False).texts == (vital,)


@pytest.mark.parametrize(
    ("before", "vital"),
    [
        ("Abdominal examination: soft. ", "T: 36.2°C, P: 76 beats/min."),
        ("", "Physical examination: T36.2°C, R20/min."),
        ("Abdominal examination: soft. ", "T: 98.6 F, P 80, lungs clear."),
    ],
)
def test_vital_signs_are_of_the_general_examination_wherever_they_stand(
    tmp_path: Path, before: str, vital: str
) -> None:
    [case] = imported(tmp_path, written(f"{before}{vital} CT: normal.", {}, **{"Physical Condition": ""})).cases
    assert case.examinations.physical["General Examination"] == vital
    assert "Chest Examination" not in case.examinations.physical


def test_habits_and_the_familys_illnesses_are_parted_from_the_past(tmp_path: Path) -> None:
    past = "Smoked 40 cigarettes a day. Type 2 diabetes. Sister has breast cancer. Denies drug allergies. None"
    [case] = imported(tmp_path, written("CT: normal.", {}, **{"Past Medical History": past})).cases
    assert case.patient.past_history == "Type 2 diabetes. Denies drug allergies."
    assert "Smoked 40 cigarettes a day." in case.patient.personal_history
    assert case.patient.family_history == "Sister has breast cancer."


def test_a_sentence_about_an_illness_and_a_habit_is_parted_and_a_pulse_is_found_by_hand(tmp_path: Path) -> None:
    told = {
        "Past Medical History": "Gastric ulcer for three years; smokes 20 cigarettes a day; for 30 years by now.",
        "Physical Condition": "Left dorsalis pedis pulse absent. He sleeps badly.",
    }
    [case] = imported(tmp_path, written("CT: normal.", {}, **told)).cases
    assert case.patient.past_history == "Gastric ulcer for three years."
    assert case.patient.personal_history == "smokes 20 cigarettes a day. for 30 years by now."
    assert "pedis pulse absent" in " ".join(case.examinations.results.values())
    assert "pulse" not in case.patient.present_illness


def test_marks_joined_by_and_share_what_leads_to_them_and_none_is_no_finding(tmp_path: Path) -> None:
    pictures = {"00001.jpg": "A dark nodule.", "00002.jpg": "A swollen node."}
    unseen = {"Physical Condition": "None"}
    joined = written("Neck ultrasound: <\\image00001.jpg> and <\\image00002.jpg>. TSH 2.1 mIU/L.", pictures, **unseen)
    nothing = {**written("None.", {}, **unseen), "id": 2}
    marked = {**written("Chest CT: <\\image00009.jpg>", {}), "id": 3}
    result = imported(tmp_path, joined, nothing, marked)
    first, second, third = result.cases
    assert first.examinations.results == {
        "Ultrasound": "Neck ultrasound: A dark nodule. A swollen node.",
        "Blood Test": "TSH 2.1 mIU/L.",
    }
    assert [image.file for image in first.examinations.images] == ["00001.jpg", "00002.jpg"]
    assert second.examinations.results == {} and second.key.examination_items == []
    [problem] = result.problems
    assert "'00009.jpg'" in problem.message and problem.record == "entry 3" and not third.examinations.images


def test_a_study_of_a_class_that_no_picture_shows_is_told_beside_the_picture(tmp_path: Path) -> None:
    record = written(
        "Abdominal CT: <\\image00001.jpg>. Chest CT: 1. Fractures of the left ribs; 2. Air in the left pleura.",
        {"00001.jpg": "The spleen is torn."},
    )
    [case] = imported(tmp_path, record).cases
    found = case.examinations

    def given(name: str) -> tuple[str, int]:
        filed = look_up(found, name, case.folder, True, f"Please have a {name}.")
        return " ".join(filed.texts), len(filed.pictures)

    chest = "Chest CT: 1. Fractures of the left ribs. 2. Air in the left pleura."
    assert found.unpictured == {"CT": chest} and "The spleen is torn." in found.auxiliary["CT"]
    assert given("CT") == (chest, 1)
    assert given("chest CT") == (chest, 0)
    assert given("abdominal CT") == ("", 1)
    assert in_our_words(case).endswith(f"CT: {chest}\nCT: <\\image00001.jpg>")


def test_each_picture_of_a_class_is_led_to_by_its_own_words_and_exported_by_its_name(tmp_path: Path) -> None:
    record = written(
        "Chest X-ray: <\\image00001.jpg>. Cerebral angiography: <\\image00002.jpg>",
        {"00001.jpg": "Clear lungs.", "00002.jpg": "A sac on the carotid artery."},
    )
    [case] = imported(tmp_path, record).cases
    written_findings = "Chest X-ray: Clear lungs. Cerebral angiography: A sac on the carotid artery."
    assert case.examinations.results["X-ray"] == written_findings and case.examinations.unpictured == {}
    assert in_our_words(case).endswith("X-ray: <\\image00001.jpg>\nAngiography: <\\image00002.jpg>")


def test_a_denial_of_the_familys_illnesses_is_the_familys_and_what_leads_to_a_picture_stays(tmp_path: Path) -> None:
    record = written(
        "Hospital ECG shows a slow rhythm. Pelvic ultrasound: <\\image00001.jpg>",
        {"00001.jpg": "A strong echo in the left ovary."},
        **{"Past Medical History": "Gout. No family history of bleeding."},
    )
    [case] = imported(tmp_path, record).cases
    assert (case.patient.past_history, case.patient.family_history) == ("Gout.", "No family history of bleeding.")
    assert case.examinations.results["Ultrasound"] == "Pelvic ultrasound: A strong echo in the left ovary."
    assert "Hospital ECG shows a slow rhythm. under Chest Examination" in case.provenance.note


def test_what_an_examiner_found_is_no_part_of_what_the_patient_tells(tmp_path: Path) -> None:
    condition = (
        "Sleep is poor; the abdomen is soft with tenderness in the right lower quadrant. Murphy's sign negative. "
        "He lost 3 kg in a month. No enlarged superficial lymph nodes. Stools and urine are normal. "
        "Rectal examination: empty."
    )
    [case] = imported(tmp_path, written("CT: normal.", {}, **{"Physical Condition": condition})).cases
    story = "Three days ago the leg began to hurt. Sleep is poor. He lost 3 kg in a month. Stools and urine are normal."
    assert case.patient.present_illness == story
    found = case.examinations.physical
    assert "tenderness in the right lower quadrant" in found["Abdominal Examination"]
    assert "Rectal examination: empty." in found["Abdominal Examination"]
    assert "Murphy" in found["Abdominal Examination"] and "superficial" in found["General Examination"]


def test_an_order_for_angiography_hands_over_that_picture_and_a_ct_both_of_its_own(tmp_path: Path) -> None:
    [case] = imported(tmp_path, CASE).cases

    def handed(order: str) -> list[str]:
        return [Path(picture.file).name for picture in look_up(case.examinations, order, case.folder, True).pictures]

    assert handed("angiography") == ["00003.jpg"]
    assert handed("CT") == ["00001.jpg", "00002.jpg"]


def test_a_finding_before_the_mark_of_a_picture_without_a_report_is_kept(tmp_path: Path) -> None:
    texts = {**CASE["Text"], "Examinations": "White cells 9.1. CT showed no mass <\\image00001.jpg>."}
    for images in ({}, {"00001.jpg": ""}, {"00001.jpg": None}):
        [case] = imported(tmp_path, {**CASE, "Text": texts, "Image": images}, pictures=0).cases
        assert case.examinations.auxiliary["CT"] == "CT showed no mass."


def test_a_picture_that_is_not_there_is_named_and_its_report_kept(tmp_path: Path) -> None:
    result = imported(tmp_path, CASE, pictures=2)
    [problem] = result.problems
    assert problem.field == "Image.00003.jpg" and problem.severity == "warning"
    assert "ends abruptly" in result.cases[0].key.imaging_reports["X-ray"]


def test_a_record_without_a_diagnosis_is_named_by_its_field(tmp_path: Path) -> None:
    result = imported(tmp_path, {**CASE, "Text": {**CASE["Text"], "Diagnosis": ""}})
    assert [problem.field for problem in result.errors] == ["Text.Diagnosis"]


def written(examinations: str, images: dict[str, str], **told: str) -> dict[str, Any]:
    return {**CASE, "Text": {**CASE["Text"], "Examinations": examinations, **told}, "Image": images}


@pytest.mark.parametrize("report", ["Pathology: glandular cells.", "Glandular cells."])
def test_a_picture_after_a_sentence_of_its_own_is_not_of_the_class_of_the_picture_before(
    report: str, tmp_path: Path
) -> None:
    text = "Chest X-ray: <\\image00001.jpg>. Pathology showed adenocarcinoma. <\\image00002.jpg>"
    pictures = {"00001.jpg": "An opacity.", "00002.jpg": report}
    [case] = imported(tmp_path, written(text, pictures, **{"Physical Condition": "None"})).cases
    assert [image.item for image in case.examinations.images] == ["X-ray", "Pathological Examination"]
    assert case.key.imaging_reports == {"X-ray": "An opacity.", "Pathological Examination": report}
    assert case.examinations.auxiliary == {
        "X-ray": "Chest X-ray: An opacity.",
        "Pathological Examination": f"Pathology showed adenocarcinoma. {report}",
    }


def test_pictures_in_a_row_share_what_leads_to_them_and_a_mark_may_lack_a_zero(tmp_path: Path) -> None:
    """As in two of the released cases: both pictures used to be left out."""
    result = imported(
        tmp_path,
        written(
            "Blood count normal. \n\n Abdominal CT scan reveals: <\\image00001.jpg>, <\\image00002.jpg>. \n\n "
            "Cerebral angiography: <\\image0003.jpg>.",
            {"00001.jpg": "A stone in the gut.", "00002.jpg": "A fistula.", "00003.jpg": "An aneurysm."},
            **{"Physical Condition": "None"},
        ),
    )
    assert not result.problems
    [case] = result.cases
    assert [(image.file, image.item, image.name) for image in case.examinations.images] == [
        ("00001.jpg", "CT", ""),
        ("00002.jpg", "CT", ""),
        ("00003.jpg", "X-ray", "Angiography"),
    ]
    assert case.examinations.results == {
        "CT": "Abdominal CT scan: A stone in the gut. A fistula.",
        "X-ray": "Cerebral angiography: An aneurysm.",
        "Blood Test": "Blood count normal.",
    }


def test_none_is_nothing_and_the_third_word_of_the_person_is_the_occupation(tmp_path: Path) -> None:
    told = {"Patient Information": "Male, 66 years old, civil servant", "Present Illness": "None",
            "Physical Condition": "None", "Past Medical History": "None."}  # fmt: skip
    patient = imported(tmp_path, written("CT: <\\image00001.jpg>", {"00001.jpg": "x"}, **told)).cases[0].patient
    assert (patient.occupation, patient.personal_history) == ("civil servant", "")
    assert (patient.present_illness, patient.past_history) == ("", "")


def test_what_is_seen_of_the_body_is_no_blood_test(tmp_path: Path) -> None:
    """Sentences that name no test went to the blood test, and an order for an abdominal examination found nothing."""
    text = (
        "Physical examination: no redness of the thumb, a nodule in the hand; abdomen flat, bowel sounds 4 a minute. "
        "\n\n Murphy's sign: negative. \n\n Liver enzymes: ALT 65 U/L. Albumin 22 g/L."
    )
    [case] = imported(tmp_path, written(text, {})).cases
    found = case.examinations.results
    assert "Murphy's sign: negative." in " ".join(text for item, text in found.items() if "Examination" in item)
    assert found["Abdominal Examination"].startswith("abdomen flat")
    assert found["Blood Test"] == "Liver enzymes: ALT 65 U/L. Albumin 22 g/L."
