"""AI Hospital: records, and the references inside its released evaluations."""

import json
from pathlib import Path
from typing import Any

import pytest

from cases import Case
from cases.importers import ImportResult, import_cases
from cases.importers.ai_hospital_texts import entries_in

RELEASED = (
    Path(__file__).resolve().parents[3] / "shared" / "datasets" / "ai_hospital" / "evaluation_iiyi_gpt4_onestep.jsonl"
)
RECORD = {
    "主诉": "反复上腹痛3年，加重1周。",
    "现病史": "患者3年前无明显诱因出现上腹痛。1周前加重，伴黑便。",
    "既往史": "体健。",
    "个人史": "吸烟20年。",
    "一般资料": "男，52岁，工人",
    "查体": "T 36.5℃，腹软，上腹压痛。",
    "辅助检查": "血常规：Hb 92g/L。胃镜示十二指肠球部溃疡，可见血凝块。幽门螺杆菌阳性。",
    "初步诊断": "上消化道出血",
    "诊断结果": "1. 十二指肠球部溃疡\n2. 左侧大、小隐静脉曲张",
    "诊断依据": "上腹痛病史及胃镜所见。",
    "诊治经过": "予抑酸、止血治疗后好转。",
}
REFERENCE = {
    "patient_id": 7,
    "diagnosis": "\n慢性胃炎，2型糖尿病\n",
    "basis": "\n1. 主诉: 上腹痛3年\n2. 查体: 上腹压痛\n3. 辅助检查: 胃镜示黏膜充血，诊断为慢性胃炎\n"
    "4. 糖尿病史10年，考虑2型糖尿病。\n",
    "treatment": "抑酸治疗。",
}


def read(folder: Path, *records: Any, lines: bool = False) -> ImportResult:
    file = folder / "source.json"
    texts = [json.dumps(record, ensure_ascii=False) for record in records]
    file.write_text("\n".join(texts) if lines else f"[{', '.join(texts)}]", "utf-8")
    return import_cases("ai_hospital", file)


def one(folder: Path, record: Any, **how: Any) -> Case:
    result = read(folder, record, **how)
    assert result.errors == []
    [case] = result.cases
    return case


def test_a_number_that_stands_twice_is_two_patients_unless_all_is_repeated(tmp_path: Path) -> None:
    other = {**RECORD, "主诉": "咳嗽2天。"}
    records = [{"id": number, "medical_record": record} for number, record in ((1, RECORD), ("1", RECORD), (1, other))]
    result = read(tmp_path, *records)
    assert [case.id for case in result.cases] == ["ai-hospital-1", "ai-hospital-1-2"]
    assert result.cases[1].patient.chief_complaint == "咳嗽2天。" and [one.field for one in result.warnings] == ["id"]


def test_every_section_of_a_record_has_its_field(tmp_path: Path) -> None:
    case = one(tmp_path, {"id": 12, "profile": "An invented person.", "medical_record": RECORD})
    patient, key = case.patient, case.key
    assert (case.id, case.language, patient.age_years, patient.sex) == ("ai-hospital-12", "zh", 52.0, "male")
    assert patient.chief_complaint == RECORD["主诉"] and patient.present_illness == RECORD["现病史"]
    assert (patient.past_history, patient.personal_history) == ("体健。", "吸烟20年。")
    assert case.examinations.physical == {"General Examination": RECORD["查体"]}
    assert set(case.examinations.auxiliary) == {"Blood Test", "Endoscopy"}
    assert key.diagnosis == ["十二指肠球部溃疡", "左侧大、小隐静脉曲张"], "the final one, where both stand"
    assert (key.diagnosis_basis, key.treatment_course) == (RECORD["诊断依据"], RECORD["诊治经过"])
    assert "invented" not in case.model_dump_json()


def test_a_comma_in_brackets_does_not_split_a_diagnosis(tmp_path: Path) -> None:
    diagnosis = "1、高血压病（2级，很高危）；胃癌(cT4aN3M1，IV期)，贫血（缺铁性（轻度），慢性），3）痛风"
    reference = {**REFERENCE, "diagnosis": diagnosis}
    case = one(tmp_path, {"patient_id": 7, "reference_diagnosis": reference}, lines=True)
    assert case.key.diagnosis == [
        "高血压病（2级，很高危）",
        "胃癌(cT4aN3M1，IV期)",
        "贫血（缺铁性（轻度），慢性）",
        "痛风",
    ]


def test_a_record_without_a_complaint_or_a_final_diagnosis_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    record = {name: text for name, text in RECORD.items() if name not in ("主诉", "诊断结果", "辅助检查")}
    result = read(tmp_path, {"id": 1, "medical_record": record})
    [case] = result.cases
    assert case.patient.chief_complaint == "患者3年前无明显诱因出现上腹痛。" and case.key.diagnosis == ["上消化道出血"]
    assert [problem.field for problem in result.warnings] == ["Chief Complaint (主诉)"] and not result.errors


def test_of_a_reference_the_patient_knows_the_complaint_and_nobody_is_told_a_diagnosis(tmp_path: Path) -> None:
    case = one(tmp_path, {"patient_id": 7, "reference_diagnosis": REFERENCE}, lines=True)
    assert case.patient.chief_complaint == "上腹痛3年" and case.key.diagnosis == ["慢性胃炎", "2型糖尿病"]
    assert case.examinations.results == {"General Examination": "上腹压痛。", "Endoscopy": "胃镜示黏膜充血。"}
    told = (case.patient.chief_complaint, case.patient.present_illness, *case.examinations.results.values())
    assert not any(name in text for name in case.key.diagnosis for text in told)
    assert "read out of the reference's basis" in (case.provenance.note or "")


@pytest.mark.parametrize(
    ("basis", "complaint"),
    [
        ("患者为中老年男性，出现反复咳嗽、咳痰，痰色黄。", "反复咳嗽、咳痰，痰色黄。"),
        ("68岁男性，右上腹痛，伴黄染1周。", "右上腹痛，伴黄染1周。"),
        ("患者因左下后牙疼痛就诊。", "因左下后牙疼痛就诊。"),
        ("中年男性，急性病程。\n1. 右侧腰痛2天。", "右侧腰痛2天。"),
        ("1. 外阴恶性肿瘤？\n2. 反复外阴瘙痒数年。", "反复外阴瘙痒数年。"),
        ("- 症状：腹痛8天。", "腹痛8天。"),
        ("① 年龄43岁，女性。\n② 腹痛5小时。", "腹痛5小时。"),
        ("08:30突发腹痛，伴呕吐。", "08:30突发腹痛，伴呕吐。"),
        ("1：43岁，女性。\n2：12天前腹痛。", "12天前腹痛。"),
    ],
)
def test_a_complaint_is_told_without_who_has_it(tmp_path: Path, basis: str, complaint: str) -> None:
    case = one(tmp_path, {"patient_id": 7, "reference_diagnosis": {**REFERENCE, "basis": basis}}, lines=True)
    assert case.patient.chief_complaint == complaint


@pytest.mark.parametrize(
    ("basis", "patient", "found"),
    [
        ("上腹痛3年。查体及内诊结果。辅助检查结果。", "上腹痛3年。", {}),
        ("上腹痛3年。胃镜示溃疡，结合病史和检查结果。", "上腹痛3年。", {"Endoscopy": "胃镜示溃疡。"}),
        ("右眼失明3年。右眼检查结果，无光感。", "右眼失明3年。", {"General Examination": "右眼检查结果，无光感。"}),
        (
            "反复心悸胸闷3年，双肺呼吸音粗。无病理性杂音。",
            "反复心悸胸闷3年",
            {"General Examination": "双肺呼吸音粗。无病理性杂音。"},
        ),
        ("右侧乏力3年，病理征阳性。", "右侧乏力3年", {"General Examination": "病理征阳性。"}),
        ("左腕肿胀、压痛。", "左腕肿胀、压痛。", {}),
        ("胸闷3天。心音整无杂音。腹软。", "胸闷3天。", {"General Examination": "心音整无杂音。腹软。"}),
        ("排尿困难5年。肛门指诊前列腺大。", "排尿困难5年。", {"General Examination": "肛门指诊前列腺大。"}),
        ("停经38周。宫高33cm，胎心音150次/分。", "停经38周。", {"General Examination": "宫高33cm，胎心音150次/分。"}),
        ("头晕3天。血压135/85mmHg。", "头晕3天。", {"General Examination": "血压135/85mmHg。"}),
        (
            "头晕3天。\n体征：肝脾不大。高级智能活动正常。",
            "头晕3天。",
            {"General Examination": "肝脾不大。高级智能活动正常。"},
        ),
        (
            "四肢麻木4日。\n中年男性。\n传导速度显示神经损伤。",
            "四肢麻木4日。",
            {"General Examination": "传导速度显示神经损伤。"},
        ),
        ("眼黄1周，腹部检查未见异常。", "眼黄1周", {"General Examination": "腹部检查未见异常。"}),
        ("左侧肢体无力，头颅CT排除出血。", "左侧肢体无力", {"CT": "头颅CT排除出血。"}),
        ("便血一周。结肠镜检查提示直肠CA？", "便血一周。", {"Endoscopy": "结肠镜检查提示直肠CA？"}),
        ("出现吸烟等危险因素，胸痛，冠心病不能排除。", "吸烟等危险因素，胸痛", {}),
        (
            "胸痛，心电图T波改变，结合高血压病史，考虑心绞痛。",
            "胸痛，结合高血压病史",
            {"Chest Examination": "心电图T波改变。"},
        ),
        ("右上腹绞痛和莫菲氏征阳性。", "右上腹绞痛和莫菲氏征阳性。", {}),
        ("停经38周，宫颈软，消退50%。", "停经38周", {"General Examination": "宫颈软，消退50%。"}),
        ("女儿出生后头晕3天。", "女儿出生后头晕3天。", {}),
        (
            "腹痛3天。辅助检查显示黄疸，血糖7.1mmol/L，血脂异常；腹部CT和B超示胆结石，血气分析酸中毒，脐动脉血流正常。",
            "腹痛3天。",
            {
                "Blood Test": "辅助检查显示黄疸，血糖7.1mmol/L，血脂异常。血气分析酸中毒，脐动脉血流正常。",
                "CT": "腹部CT和B超示胆结石。",
            },
        ),
    ],
)
def test_what_was_seen_is_told_by_no_patient_and_what_is_only_announced_is_no_result(
    tmp_path: Path, basis: str, patient: str, found: dict[str, str]
) -> None:
    case = one(tmp_path, {"patient_id": 7, "reference_diagnosis": {**REFERENCE, "basis": basis}}, lines=True)
    assert (case.patient.chief_complaint, case.patient.present_illness) == (patient, "")
    assert case.examinations.results == found


@pytest.mark.parametrize(
    ("basis", "complaint"),
    [
        ("女性患者，既往左眼失明。急性起病，双下肢无力。", "急性起病，双下肢无力。"),
        ("既往食管癌放疗史，吸烟史。左侧肢体无力1天。", "左侧肢体无力1天。"),
        ("患者为女性，既往剖宫产一次。", "既往剖宫产一次。"),
        ("有明确外伤史。右足根部肿胀、疼痛。", "右足根部肿胀、疼痛。"),
        ("有明确外伤史。X线示骨折。", "有明确外伤史。"),
        ("慢性病程，急性起病。10年前起上腹痛。", "10年前起上腹痛。"),
        ("平素健康良好，无特殊病史。近期乏力。", "近期乏力。"),
        ("乙型肝炎病史六年，长期服用恩替卡韦。右胁不适。", "右胁不适。"),
        ("病程长，声嘶1年。", "病程长，声嘶1年。"),
        ("病史显示排尿困难2年。", "排尿困难2年。"),
        ("入院主诉右侧腰部胀痛。", "右侧腰部胀痛。"),
        ("既往卵巢癌手术史，现有腹胀。血压波动。", "卵巢癌手术史，现有腹胀。"),
    ],
)
def test_what_was_before_is_the_complaint_only_where_nothing_else_is_told(
    tmp_path: Path, basis: str, complaint: str
) -> None:
    case = one(tmp_path, {"patient_id": 7, "reference_diagnosis": {**REFERENCE, "basis": basis}}, lines=True)
    assert case.patient.chief_complaint == complaint


@pytest.mark.parametrize(
    "basis", ["胃镜示溃疡。", "患者为女性，既往体健。", "病程1年。", "入院主诉与症状。", "病史和临床症状。"]
)
def test_a_reference_without_a_complaint_is_left_out_by_name_and_the_others_are_read(
    tmp_path: Path, basis: str
) -> None:
    bare = {**REFERENCE, "patient_id": 8, "basis": basis}
    result = read(tmp_path, *({"reference_diagnosis": one} for one in (bare, REFERENCE, REFERENCE)), lines=True)
    assert [case.id for case in result.cases] == ["ai-hospital-7"], "a patient whom two doctors saw is one case"
    [problem] = result.warnings
    assert (problem.record, problem.field) == ("line 1", "reference_diagnosis.basis")
    assert problem.message == "contains no complaint, and there is no medical record; the case is left out"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"patient_id": 1, "answers": []}, "expected a record {id, medical_record} or an evaluation"),
        ({"patient_id": 1, "dialog_history": []}, "a doctor's dialogue with a patient and not its case: score it by"),
        ({"patient_id": 1, "final_turn": 2}, "is a discussion of doctors and not its case: score it by `wardround sc"),
        ({"medical_record": RECORD}, "id: expected the patient's number, found nothing"),
        (["no object"], "expected a record {id, medical_record} or an evaluation"),
    ],
)
def test_what_is_neither_is_an_error_that_says_what_was_expected(tmp_path: Path, record: Any, message: str) -> None:
    [problem] = read(tmp_path, record).errors
    assert message in str(problem)


@pytest.mark.slow
@pytest.mark.skipif(not RELEASED.exists(), reason="the released evaluations are not here")
def test_the_released_evaluations_become_cases_of_which_none_tells_its_diagnosis() -> None:
    result = import_cases("ai_hospital", RELEASED)
    assert not result.errors and len(result.cases) + len(result.warnings) == 506 and len(result.cases) > 400
    for case in result.cases:
        told = f"{case.patient.chief_complaint} {case.patient.present_illness}"
        assert not any(name in told for name in case.key.diagnosis), case.id


@pytest.mark.parametrize(
    ("department", "first", "second"),
    [
        ("内科病例 老年病科病例 ", "Internal Medicine", ["Geriatrics"]),
        ("儿科病例 ", "Pediatrics", []),
        ("Internal Medicine Cases Neurology Cases", "Internal Medicine", ["Neurology"]),
    ],
)
def test_a_record_is_of_the_departments_of_its_web_page(
    tmp_path: Path, department: str, first: str, second: list[str]
) -> None:
    case = one(tmp_path, {"id": 1026, "department": department, "medical_record": RECORD})
    assert (case.key.department, case.key.sub_departments) == (first, second)


def test_a_web_pages_department_that_we_do_not_have_is_left_out_and_the_record_read(tmp_path: Path) -> None:
    result = read(tmp_path, {"id": 1, "department": "传染病科病例 肝病科病例 ", "medical_record": RECORD})
    assert [case.key.department for case in result.cases] == [None] and not result.errors
    assert ["传染病科" in problem.message for problem in result.warnings] == [True]


def test_a_record_in_english_has_its_sections(tmp_path: Path) -> None:
    record = {
        "general_info": "\nGender: Male\nAge: 73 years\nOccupation: Farmer\n",
        "chief_complaint": "\nLeft limb weakness for 1 day.\n",
        "current_medical_history": "Weak since the morning.",
        "past_medical_history": "Hypertension for 5 years.",
        "physical_examination": "- Blood pressure: 177/107 mmHg\n- Left limb strength grade 4.\n",
        "auxiliary_examinations": "- Blood tests:\n  - Glucose: 8.4 mmol/L\n- Imaging:\n  - Head CT: dense shadow",
        "preliminary_diagnosis": "Stroke",
        "diagnostic_basis": "Weakness, CT.",
        "diagnosis_and_treatment_process": "Antiplatelets.",
        "diagnostic_results": "\nCerebral infarction; hypertension\n",
        "analysis_and_summary": "From artery to artery.",
    }
    result = read(tmp_path, {"id": 1001, "medical_record": record})
    [case] = result.cases
    assert (case.language, case.patient.sex, case.patient.age_years) == ("en", "male", 73) and not result.problems
    assert case.patient.present_illness == "Weak since the morning."
    assert case.patient.past_history == "Hypertension for 5 years."
    assert case.examinations.auxiliary == {
        "Blood Test": "Blood tests: Glucose: 8.4 mmol/L.",
        "CT": "Imaging: Head CT: dense shadow.",
    }
    assert case.key.diagnosis == ["Cerebral infarction", "hypertension"]
    assert (case.key.diagnosis_basis, case.key.treatment_course) == ("Weakness, CT.", "Antiplatelets.")


def test_results_in_lines_are_filed_each_under_its_own_test(tmp_path: Path) -> None:
    tests = "\n- 影像学检查\n  - 头颅CT平扫：右枕叶低密度影\n- 实验室检查：\n  - 血糖：17.6mmol/L\n  - 血常规：Hb 92g/L"
    case = one(tmp_path, {"id": 1, "medical_record": {**RECORD, "辅助检查": tests}})
    assert case.examinations.auxiliary == {
        "CT": "影像学检查：头颅CT平扫：右枕叶低密度影。",
        "Blood Test": "实验室检查：血糖：17.6mmol/L。血常规：Hb 92g/L。",
    }


@pytest.mark.parametrize(
    ("listed", "entries"),
    [
        ("既往史：\n- 高血压10年\n- 糖尿病5年\n体健。", ["既往史：高血压10年。", "糖尿病5年。", "体健。"]),
        ("- Blood:\n  - CRP 80\n  - WBC 12\n- CT: clear", ["Blood: CRP 80.", "WBC 12.", "CT: clear."]),
        ("- Lungs\n  - Clear\n- Heart", ["Lungs: Clear.", "Heart."]),
    ],
)
def test_the_first_entry_below_a_heading_has_it(listed: str, entries: list[str]) -> None:
    assert entries_in(listed) == entries


def test_a_digital_radiograph_is_an_x_ray(tmp_path: Path) -> None:
    tests = {"medical_test": "DR示右侧髋臼唇硬化，磁共振示右侧股骨头骨髓水肿。"}
    case = one(tmp_path, {"patient_id": 7, "reference_diagnosis": {**REFERENCE, **tests}}, lines=True)
    assert case.examinations.auxiliary == {"X-ray": "DR示右侧髋臼唇硬化。", "MRI": "磁共振示右侧股骨头骨髓水肿。"}


def test_an_english_reference_is_read_from_what_it_states_and_never_by_the_rules_for_chinese(tmp_path: Path) -> None:
    basis = "1. Medical history: diabetes, irregular medication.\n2. Physical signs: Babinski positive."
    english = {**REFERENCE, "diagnosis": "Cerebral infarction; diabetes", "basis": basis, "treatment": "Aspirin."}
    stated = {"symptom": "Right weakness for 1 year. Left weakness for 1 day.", "medical_test": "- Head CT: a shadow"}
    case = one(tmp_path, {"patient_id": 7, "reference_diagnosis": {**english, **stated}}, lines=True)
    assert (case.language, case.patient.chief_complaint) == ("en", "Right weakness for 1 year.")
    assert case.patient.present_illness == stated["symptom"]
    assert case.examinations.results == {"CT": "Head CT: a shadow."}
    assert "basis" not in (case.provenance.note or "")

    result = read(tmp_path, {"patient_id": 7, "reference_diagnosis": english}, lines=True)
    assert not result.cases and ["is not Chinese" in problem.message for problem in result.warnings] == [True]
