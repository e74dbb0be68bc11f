"""AIE's two sets of cases, in files of our making."""

import json
from pathlib import Path
from typing import Any

import pytest

from cases import Case, load_cases
from cases.importers import ImportResult, import_cases
from cases.importers.aie import _start_of_end
from cases.importers.source import Record, Source

HOSPITAL: dict[str, Any] = {
    "id": 3,
    "zid": "z-3",
    "raw_data": {
        "question": "患者，男，45岁。主诉：上腹痛2天。现病史：2天前饮酒后出现上腹部持续性疼痛，伴恶心。"
        "既往史：胆囊结石5年。查体：体温37.8℃，上腹压痛。辅助检查：血淀粉酶980U/L。腹部CT示胰腺肿大。",
        "answer": "急性胰腺炎",
        "options": {"A": "急性胃炎", "B": "急性胰腺炎", "C": "胆囊炎", "D": "消化性溃疡", "E": "肠梗阻"},
        "answer_idx": "B",
    },
    "question": "该患者最可能的诊断是？",
    "entities": ["上腹痛", "恶心"],
    "chief_complain": "上腹痛2天",
    "history": [{"doctor": "您好，请问您哪里不舒服？", "state": "O", "patient": "医生，我上腹痛2天了。"}],
}
EXAM: dict[str, Any] = {
    "id": 7,
    "dataset": "MedMCQA",
    "raw_data": {
        "question": "A 30-year-old woman comes to the physician because of palpitations for a week. She takes no "
        "medication. Her pulse is 120/min. Serum TSH is 0.01 mIU/L. Which drug should be given first?",
        "options": "(A) Propranolol (B) Warfarin (C) Digoxin (D) Amiodarone (E) Iodine (F) Aspirin (G) None",
        "answer_idx": "A",
    },
    "history": [{"doctor": "Hello.", "state": "O", "patient": "My heart has been racing for a week."}],
}


def imported(tmp_path: Path, *records: Any) -> ImportResult:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(records, ensure_ascii=False), "utf-8")
    return import_cases("aie", path)


def case_of(tmp_path: Path, record: Any) -> Case:
    result = imported(tmp_path, record)
    assert not result.problems
    return result.cases[0]


def test_a_right_option_that_is_a_list_has_its_names_in_the_key(tmp_path: Path) -> None:
    raw = {**HOSPITAL["raw_data"], "options": {"A": "胃炎", "B": "1. 急性胰腺炎；2. 胆囊结石"}, "answer": ""}
    case = case_of(tmp_path, {**HOSPITAL, "raw_data": raw})
    assert case.key.diagnosis == ["急性胰腺炎", "胆囊结石"] and case.key.options["B"].startswith("1. ")


def test_a_hospital_record_is_parted_and_its_options_and_entities_are_kept(tmp_path: Path) -> None:
    case = case_of(tmp_path, HOSPITAL)
    assert (case.id, case.language, case.patient.age_years, case.patient.sex) == ("hospitalcases-3", "zh", 45, "male")
    assert case.patient.chief_complaint == "上腹痛2天" and "饮酒" in case.patient.present_illness
    assert "胆囊结石" in case.patient.past_history
    assert "980" in case.examinations.results["Blood Test"] and "胰腺肿大" in case.examinations.results["CT"]
    assert case.key.diagnosis == ["急性胰腺炎"] and case.key.option == "B" and len(case.key.options) == 5
    assert case.key.question == "该患者最可能的诊断是？" and case.key.entities == ["上腹痛", "恶心"]
    assert case.key.stated.examination_items == []
    assert case.provenance.record == HOSPITAL["raw_data"]["question"] and case.provenance.dataset == ""


@pytest.mark.parametrize(
    ("opening", "illness"),
    [
        ("患者，女，26岁，上腹痛2天。", ""),
        ("男，45岁，因“上腹痛2天”急诊入院。", ""),
        ("患者男，45岁，反复黑便5年，上腹痛2天，呕血1次。", "患者男，45岁，反复黑便5年，上腹痛2天，呕血1次。"),
    ],
)
def test_what_the_opening_tells_beside_the_complaint_is_kept(tmp_path: Path, opening: str, illness: str) -> None:
    raw = {**HOSPITAL["raw_data"], "question": f"{opening}既往体健。查体：上腹压痛。"}
    person = case_of(tmp_path, {**HOSPITAL, "raw_data": raw}).patient
    assert (person.chief_complaint, person.present_illness) == ("上腹痛2天", illness)


def test_what_the_examination_of_the_mind_shows_is_no_part_of_what_the_patient_tells(tmp_path: Path) -> None:
    told = "女，32岁，上腹痛2天。既往体健。精神检查：意识清，情感低落，自罪自责。HAMD评分28分。"
    case = case_of(tmp_path, {**HOSPITAL, "raw_data": {**HOSPITAL["raw_data"], "question": told}})
    assert case.examinations.physical == {"General Examination": "意识清，情感低落，自罪自责。HAMD评分28分。"}


def test_results_of_two_tests_in_one_chinese_sentence_stand_under_each(tmp_path: Path) -> None:
    told = "女，26岁，上腹痛2天。辅助检查：尿HCG阳性，尿蛋白阴性，超声示左附件区包块4cm，边界清，心电图示窦性心律。"
    case = case_of(tmp_path, {**HOSPITAL, "raw_data": {**HOSPITAL["raw_data"], "question": told}})
    assert case.examinations.results == {
        "Chest Examination": "心电图示窦性心律。",
        "Ultrasound": "超声示左附件区包块4cm，边界清。",
        "Urine Test": "尿HCG阳性，尿蛋白阴性。",
    }


def test_a_record_without_headings_for_its_tests_and_with_short_ones_is_parted_too(tmp_path: Path) -> None:
    told = (
        "患者，女，72岁。尿线变细2年。既往：糖尿病8年；否认手术史。查体：下腹膨隆。PSA 3.1ng/mL。B超：前列腺增大。"
        "辅检：头颅CT：未见出血；心电图：心房颤动。"
    )
    case = case_of(tmp_path, {**HOSPITAL, "raw_data": {**HOSPITAL["raw_data"], "question": told}})
    assert case.patient.past_history == "糖尿病8年；否认手术史。"
    assert case.patient.present_illness == "患者，女，72岁。尿线变细2年。", (
        "Chinese, without a space or an English stop"
    )
    assert case.examinations.physical == {
        "General Examination": "下腹膨隆。",
        "Chest Examination": "心电图：心房颤动。",
    }
    assert case.examinations.auxiliary == {
        "CT": "头颅CT：未见出血。",
        "Ultrasound": "B超：前列腺增大。",
        "Blood Test": "PSA 3.1ng/mL。",
    }


def test_signs_and_values_under_no_heading_are_findings_and_a_pronoun_tells_the_sex(tmp_path: Path) -> None:
    told = (
        "A 29-year-old nurse presents with chest pain after a flight. Temperature 37.2°C, heart rate 118/min. "
        "The left calf is swollen. D-dimer is 2,400 ng/mL. Her mother is well. What is the diagnosis?"
    )
    case = case_of(tmp_path, {**EXAM, "raw_data": {**EXAM["raw_data"], "question": told}})
    assert case.patient.sex == "female" and "37.2" not in case.patient.present_illness
    assert "37.2" in case.examinations.physical["General Examination"]
    assert case.examinations.auxiliary == {"Blood Test": "D-dimer is 2,400 ng/mL."}


def test_a_hospitals_form_is_parted_at_boxed_headings_spaced_names_and_the_lines_of_its_laboratory(
    tmp_path: Path,
) -> None:
    told = (
        "男，34，左耳后肿块 3 个月 病史：洗澡时摸到肿块，不痛。【专科检查】 左耳后可及 2cm 肿物，质韧。，"
        "抗体，阴性，N；  2）辅助检查：B 超：皮下低回声结节；2021-03-02 09:10：XY 某某值，6.1 x10^9/L，N；"
        "FT3 18.2 pmol/L，↑；胸部 CT：未见异常。，暂无"
    )
    case = imported(tmp_path, {**HOSPITAL, "raw_data": {**HOSPITAL["raw_data"], "question": told}}).cases[0]
    person, found = case.patient, case.examinations
    assert (person.age_years, person.sex) == (34.0, "male")
    assert person.present_illness == "男，34，左耳后肿块 3 个月。洗澡时摸到肿块，不痛。"
    assert found.physical == {"General Examination": "左耳后可及 2cm 肿物，质韧。"}
    assert found.auxiliary.keys() == {"Ultrasound", "Blood Test", "CT"}
    assert "FT3" in found.auxiliary["Blood Test"] and "XY" in found.auxiliary["Blood Test"]
    assert found.auxiliary["CT"] == "胸部 CT：未见异常。" and case.provenance.record == told


def test_a_patients_story_that_tells_of_a_test_on_its_way_stays_the_patients(tmp_path: Path) -> None:
    told = (
        "男，38 岁，颈部肿物 13 天。患者 13 天前发现肿物，不痛，行颈部 B 超检查提示囊肿可能，门诊入院。"
        "，2021-03-18 09:09：WBC 白细胞计数，6.82 x10^9/L，M；"
    )
    case = imported(tmp_path, {**HOSPITAL, "raw_data": {**HOSPITAL["raw_data"], "question": told}}).cases[0]
    assert case.patient.present_illness.endswith("患者 13 天前发现肿物，不痛，行颈部 B 超检查提示囊肿可能，门诊入院。")
    assert case.examinations.auxiliary.keys() == {"Blood Test"} and not case.examinations.physical


def test_the_opening_turn_is_kept_as_it_was_filled_in_and_survives_the_case_file(tmp_path: Path) -> None:
    case = case_of(tmp_path, HOSPITAL)
    assert case.opening and (case.opening.doctor, case.opening.patient) == (
        "您好，请问您哪里不舒服？",
        "医生，我上腹痛2天了。",
    )
    assert Case.model_validate_json(case.model_dump_json()).opening == case.opening
    assert case_of(tmp_path, {**HOSPITAL, "history": [{"doctor": "您好", "state": "O"}]}).opening is None
    assert "opening" not in case_of(tmp_path, {**HOSPITAL, "history": []}).model_dump()


def test_an_examination_question_keeps_seven_options_from_one_text_and_is_no_diagnosis(tmp_path: Path) -> None:
    case = case_of(tmp_path, EXAM)
    assert (case.id, case.language) == ("medmcqa-7", "en")
    assert list(case.key.options) == list("ABCDEFG") and case.key.options["A"] == "Propranolol"
    assert case.key.question == "Which drug should be given first?" and case.key.diagnosis == []
    assert case.patient.chief_complaint == "My heart has been racing for a week."
    assert "Which drug" not in case.model_dump_json(include={"patient", "examinations"})
    assert "0.01" in case.examinations.results["Blood Test"]
    assert case.provenance.dataset == "MedMCQA" and case.provenance.record.endswith("Which drug should be given first?")


def test_a_number_that_stands_twice_is_said(tmp_path: Path) -> None:
    result = imported(tmp_path, HOSPITAL, HOSPITAL)
    assert [case.id for case in result.cases] == ["hospitalcases-3", "hospitalcases-3-2"]
    assert [problem.message for problem in result.problems] == [
        "hospitalcases-3 is already used; this case becomes hospitalcases-3-2"
    ]


def test_a_number_for_a_repeated_id_is_not_looked_for_from_the_first(tmp_path: Path) -> None:
    class Watched(set[str]):
        looked_up = 0

        def __contains__(self, one: object) -> bool:
            self.looked_up += 1
            return super().__contains__(one)

    source = Source(tmp_path / "cases.jsonl", ids=(ids := Watched()))
    data = load_cases()[0].model_dump(exclude={"id", "folder"})
    cases = [Record(source, "", 1, {}).case("one", data) for _ in range(200)]
    assert [case and case.id for case in cases] == ["one", *(f"one-{number}" for number in range(2, 201))]
    assert ids.looked_up < 3 * 200


@pytest.mark.parametrize("between", [" ", "  ", "\n"])
def test_a_question_that_repeats_the_record_is_cut_to_its_last_sentence(tmp_path: Path, between: str) -> None:
    told = EXAM["raw_data"]["question"].replace(". ", f".{between}")
    case = case_of(tmp_path, {**EXAM, "raw_data": {**EXAM["raw_data"], "question": told}, "question": told})
    assert case.key.question == "Which drug should be given first?"
    assert "Which drug" not in case.patient.present_illness
    told_alone = told.removesuffix("Which drug should be given first?")
    case = case_of(tmp_path, {**EXAM, "raw_data": {**EXAM["raw_data"], "question": told}, "question": told_alone})
    assert case.key.question == "Which drug should be given first?"
    assert "Which drug" not in case.model_dump_json(include={"patient", "examinations"})


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"answer_idx": "Z"}, "raw_data.answer_idx"),
        ({"options": "none"}, "raw_data.options"),
        ({"question": ""}, "raw_data.question"),
    ],
)
def test_what_does_not_fit_is_named_and_the_rest_is_read(tmp_path: Path, raw: dict[str, Any], field: str) -> None:
    result = imported(tmp_path, {**EXAM, "raw_data": {**EXAM["raw_data"], **raw}}, HOSPITAL)
    assert [case.id for case in result.cases] == ["hospitalcases-3"]
    assert [problem.field for problem in result.errors] == [field]


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"chief_complain": 5}, "chief_complain"),
        ({"entities": "上腹痛"}, "entities"),
        ({"history": "您好"}, "history"),
        ({"history": [{"doctor": 5, "patient": "疼"}]}, "history.0.doctor"),
    ],
)
def test_what_beside_the_record_is_of_another_type_is_named(tmp_path: Path, other: dict[str, Any], field: str) -> None:
    result = imported(tmp_path, {**HOSPITAL, "id": 4, **other}, HOSPITAL)
    assert [case.id for case in result.cases] == ["hospitalcases-3"]
    assert [problem.field for problem in result.errors] == [field]


@pytest.mark.parametrize("stated", [None, 1, "1", "b", "(B)", "Ｂ"])
def test_the_right_option_is_that_of_the_letter_or_without_one_of_the_answer(tmp_path: Path, stated: object) -> None:
    options = {f"({letter.lower()})": text for letter, text in HOSPITAL["raw_data"]["options"].items()}
    raw = {**HOSPITAL["raw_data"], "options": options, "answer_idx": stated}
    result = imported(tmp_path, {**HOSPITAL, "raw_data": raw})
    assert not result.errors and result.cases[0].key == case_of(tmp_path, HOSPITAL).key


def test_an_answer_that_is_not_the_option_of_its_letter_is_told(tmp_path: Path) -> None:
    result = imported(tmp_path, {**HOSPITAL, "raw_data": {**HOSPITAL["raw_data"], "answer": "胆囊炎"}})
    assert [problem.field for problem in result.warnings] == ["raw_data.answer"]
    assert result.cases[0].key.diagnosis == ["急性胰腺炎"]


def test_what_began_of_late_is_the_present_illness_and_an_older_history_the_past_one(tmp_path: Path) -> None:
    told = "A man comes to the clinic. He has a six-month history of diarrhea. He has a history of asthma. What is it?"
    case = case_of(tmp_path, {**EXAM, "raw_data": {**EXAM["raw_data"], "question": told}})
    assert "six-month" in case.patient.present_illness and case.patient.past_history == "He has a history of asthma."


@pytest.mark.parametrize(
    ("told", "item"),
    [
        ("Lactate is 6 mmol/L.", "Blood Test"),
        ("Her sodium is 128 mEq/L.", "Blood Test"),
        ("Stool is guaiac positive.", "Stool Test"),
        ("Her PSA 2 years ago was normal.", ""),
        ("Her blood sugar has been high at home.", ""),
    ],
)
def test_a_value_that_stands_alone_is_a_finding_and_what_the_patient_tells_of_a_test_is_not(
    tmp_path: Path, told: str, item: str
) -> None:
    record = f"A 60-year-old woman has had pain for a day. {told} She smokes. What is the diagnosis?"
    raw = {"question": record, "options": {"A": "Colitis", "B": "Ileus"}, "answer_idx": "A"}
    case = case_of(tmp_path, {**EXAM, "raw_data": raw})
    assert (told in case.examinations.results.get(item, "")) == bool(item)
    assert (told in " ".join(case.patient.model_dump(include={"present_illness", "past_history"}).values())) != bool(
        item
    )


@pytest.mark.parametrize(
    "fever",
    [
        "咳嗽、发热，体温39℃",
        "咳黄痰，最高体温39.5℃",
        "头晕，血压150/95mmHg",
        "咳嗽。在家测体温39℃",
        "咳嗽。自测体温39℃",
    ],
)
def test_a_temperature_that_the_story_tells_begins_no_examination(tmp_path: Path, fever: str) -> None:
    story = f"1周前受凉后{fever}，自服头孢后无好转。"
    text = (
        f"患者，男，60岁，因咳嗽1周就诊。{story}吸烟30年。父亲有糖尿病。查体：体温38.6℃，右下肺湿啰音。最可能的诊断是？"
    )
    raw = {**HOSPITAL["raw_data"], "question": text}
    case = case_of(tmp_path, {**HOSPITAL, "raw_data": raw, "chief_complain": "咳嗽1周"})
    patient = case.patient
    assert (patient.present_illness, patient.personal_history, patient.family_history) == (
        story,
        "吸烟30年。",
        "父亲有糖尿病。",
    )
    assert case.examinations.physical == {"General Examination": "体温38.6℃，右下肺湿啰音。"}


@pytest.mark.parametrize(
    "seen", ["入院时体温38.6℃，右下肺湿啰音。", "神志清，精神差，体温38.6℃。", "面色红，体温38.6℃，脉搏100次/分。"]
)
def test_measured_signs_begin_the_examination_without_a_heading(tmp_path: Path, seen: str) -> None:
    text = f"患者，男，60岁，因咳嗽1周就诊。1周前受凉后咳嗽。{seen}最可能的诊断是？"
    raw = {**HOSPITAL["raw_data"], "question": text}
    case = case_of(tmp_path, {**HOSPITAL, "raw_data": raw, "chief_complain": "咳嗽1周"})
    assert case.patient.present_illness == "1周前受凉后咳嗽。"
    assert case.examinations.physical == {"General Examination": seen}


def test_why_the_patient_comes_is_the_present_illness_whatever_it_is_about(tmp_path: Path) -> None:
    record = "患者女，32岁。因月经量增多半年就诊。月经周期28天。查体：贫血貌。"
    case = case_of(tmp_path, {**HOSPITAL, "raw_data": {**HOSPITAL["raw_data"], "question": record}})
    assert "因月经量增多半年就诊。" in case.patient.present_illness
    assert case.patient.personal_history == "月经周期28天。"


@pytest.mark.parametrize(
    ("text", "words", "start"),
    [
        ("He coughs. What is it?", "What  is\nit?", 11),
        ("He coughs.What is it?", "What is it?", 10),
        ("他咳嗽。是什么病？", "是什么病？", 4),
        ("What is it?", "What is it?", 0),
        ("He coughs. What is it? ", "What is he?", None),
        ("is it?", "What is it?", None),
    ],
)
def test_the_words_that_a_text_ends_with_are_found_from_its_end(text: str, words: str, start: int | None) -> None:
    assert _start_of_end(text, words.split()) == start
