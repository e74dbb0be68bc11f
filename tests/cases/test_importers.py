"""What holds for every importer: the registry, the reading of files, and the naming of faults."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import load_cases, save_cases
from cases.importers import IMPORTERS, ImportResult, import_cases
from cases.registry import RegistryError
from cases.text import lexicon
from cases.text.demographics import beyond_age_and_sex, demographics
from cases.text.prose import paragraph, phrase
from cases.text.sentences import first_sentence
from cases.text.words import language_of
from cases.vocabulary import AUXILIARY_ITEMS, EXAMINATION_ITEMS, PHYSICAL_ITEMS


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def messages(result: ImportResult) -> str:
    return "\n".join(map(str, result.problems))


def osce(**changes: object) -> dict[str, object]:
    """A small faultless AgentClinic record."""
    record = {
        "Objective_for_Doctor": "Diagnose the gallstones.",
        "Patient_Actor": {
            "Demographics": "50-year-old woman",
            "History": "Pain.",
            "Symptoms": {"Primary_Symptom": "Pain"},
        },
        "Correct_Diagnosis": "Gallstones",
    }
    return {"OSCE_Examination": {**record, **changes}}


def test_an_unknown_format_names_the_known_ones_and_the_one_probably_meant(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=r"unknown format 'medchian': did you mean 'medchain'"):
        import_cases("medchian", tmp_path)
    with pytest.raises(
        RegistryError,
        match=r"unknown format 'xml': expected one of agentclinic, ai_hospital, aie, medchain, medpmc, medqa",
    ):
        import_cases("xml", tmp_path)


@pytest.mark.parametrize("format", IMPORTERS)
def test_a_file_that_is_not_there_is_one_problem(format: str, tmp_path: Path) -> None:
    result = import_cases(format, tmp_path / "absent.json")
    assert len(result.errors) == len(result.problems) == 1
    assert messages(result).endswith("absent.json: file not found")


@pytest.mark.parametrize("format", IMPORTERS)
@pytest.mark.parametrize("text", ["", " \n\n", "[]"])
def test_a_file_without_records_is_a_problem(format: str, text: str, tmp_path: Path) -> None:
    result = import_cases(format, write(tmp_path / "x.json", text))
    assert [problem.message for problem in result.errors] == [f"contains no records of the format {format!r}"]


@pytest.mark.parametrize("format", IMPORTERS)
def test_a_file_of_another_encoding_is_a_problem(format: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes("主诉".encode("gb18030"))
    assert "UTF-8" in messages(import_cases(format, path))


@pytest.mark.parametrize("format", IMPORTERS)
@pytest.mark.parametrize(
    ("begins", "remedy"),
    [
        (b"\x1f\x8b\x08", "gzip: unpack it"),
        (b"PK\x03\x04\xff", "zip"),
        (b"\xd0\xcf\x11\xe0", "workbook: save it as JSON lines"),
        (b"\xff\xfe{", "UTF-16"),
    ],
)
def test_what_is_packed_or_of_another_unicode_is_told_with_the_remedy(
    format: str, begins: bytes, remedy: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(begins)
    assert remedy in messages(import_cases(format, path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "found nothing; the record has no fields"),
        ('{"data": [], "version": 2}', "found nothing; the record has 'data', 'version'"),
        ("[[{}]]", "expected an object with"),
        ("[[{}]]", "found a list"),
        ("id,question", "expected a JSON list or object, or JSON lines"),
    ],
)
@pytest.mark.parametrize("format", ["aie", "medpmc"])
def test_what_is_no_record_is_told_by_what_stands_there(format: str, text: str, said: str, tmp_path: Path) -> None:
    (problem,) = import_cases(format, write(tmp_path / "x.json", text)).errors
    assert said in problem.message


ONE_OF: dict[str, object] = {
    "agentclinic": osce(),
    "ai_hospital": {"medical_record": {"主诉": "头痛3天。", "诊断结果": "偏头痛"}},
    "aie": {
        "raw_data": {
            "question": "女，30岁，头痛3天。诊断是？",
            "options": {"A": "偏头痛", "B": "感冒"},
            "answer_idx": "A",
        }
    },
    "medchain": {"tags": {}, "[Case Introduction]": {"Chief Complaint": "Headache for 3 days"}},
    "medpmc": {"Text": {"Chief Complaint": "Headache.", "Diagnosis": "Migraine"}, "Image": {}},
    "medqa": {
        "question": "A forty-year-old man comes because of headache. What is the most likely diagnosis?",
        "answer": "Migraine",
        "options": {"A": "Migraine", "B": "Influenza"},
        "answer_idx": "A",
    },
}


@pytest.mark.parametrize("format", ONE_OF)
@pytest.mark.parametrize("held", [lambda by_id: by_id, lambda by_id: {"version": 2, "records": by_id, "notes": {}}])
@pytest.mark.parametrize("indent", [None, 1])
def test_records_by_their_ids_are_read_with_the_id_also_within_a_field(
    format: str, held: Callable[[object], object], indent: int | None, tmp_path: Path
) -> None:
    by_id = {"p-17": ONE_OF[format], "p-4": ONE_OF[format]}
    result = import_cases(format, write(tmp_path / "x.json", json.dumps(held(by_id), indent=indent)))
    assert not result.errors
    assert [case.id.endswith(name) for case, name in zip(result.cases, by_id, strict=True)] == [True, True]


@pytest.mark.parametrize("format", ONE_OF)
@pytest.mark.parametrize("field", ["data", "records", "cases"])
def test_a_list_of_records_is_read_within_a_field_beside_others(format: str, field: str, tmp_path: Path) -> None:
    record: object = {"A title": ONE_OF[format]} if format == "medchain" else ONE_OF[format]
    if format == "ai_hospital":
        record = {"id": 3, **ONE_OF[format]}  # type: ignore[dict-item]
    bare, within = (
        import_cases(format, write(tmp_path / "x.json", json.dumps(value)))
        for value in ([record], {"licence": "CC0", field: [record], "authors": [{"name": "A"}]})
    )
    assert bare.cases == within.cases and len(bare.cases) == 1 and not within.errors


@pytest.mark.parametrize("format", ["agentclinic", "aie", "medpmc", "medqa"])
def test_a_json_line_among_others_is_a_record_whatever_its_fields_hold(format: str, tmp_path: Path) -> None:
    result = import_cases(format, write(tmp_path / "x.jsonl", f"{json.dumps({'id': 1, 'of': ONE_OF[format]})}\n" * 2))
    assert {problem.record for problem in result.errors} == {"line 1", "line 2"} and not result.cases


def test_records_in_two_fields_are_refused_and_an_id_that_occurs_twice_is_named(tmp_path: Path) -> None:
    record = ONE_OF["aie"]
    (problem,) = import_cases("aie", write(tmp_path / "x.json", json.dumps({"a": [record], "b": [record]}))).errors
    assert "found nothing; the record has 'a', 'b'" in problem.message
    twice = f'{{"data": {{"1": {json.dumps(record)}, "1": {json.dumps(record)}}}}}'
    assert "the key '1' occurs twice here" in messages(import_cases("aie", write(tmp_path / "x.json", twice)))


def test_a_broken_line_is_named_and_the_rest_of_the_file_is_still_read(tmp_path: Path) -> None:
    lines = [json.dumps(osce()), '{"OSCE_Examination": {"Patient_Actor"}', json.dumps(osce()), "{}"]
    result = import_cases("agentclinic", write(tmp_path / "x.jsonl", "\n".join(lines)))
    assert [case.id for case in result.cases] == ["x-001", "x-002"]
    assert [problem.record for problem in result.errors] == ["line 2", "line 4"]
    assert "is not JSON" in result.errors[0].message


def test_a_line_separator_inside_a_text_does_not_end_a_record(tmp_path: Path) -> None:
    record = osce(Correct_Diagnosis="Gall\u2028stones")
    result = import_cases("agentclinic", write(tmp_path / "x.jsonl", json.dumps(record, ensure_ascii=False)))
    save_cases(result.cases, tmp_path / "out.jsonl")
    assert not result.problems and load_cases(tmp_path / "out.jsonl")[0].key.diagnosis == ["Gall stones"]


def test_json_lines_a_list_and_one_object_read_alike(tmp_path: Path) -> None:
    line = json.dumps(osce())
    sources = [line, f"{line}\n{line}\n", f"[{line}]", json.dumps(osce(), indent=1), "\ufeff" + line]
    results = [import_cases("agentclinic", write(tmp_path / "x.jsonl", text)) for text in sources]
    assert [len(result.cases) for result in results] == [1, 2, 1, 1, 1]
    assert not any(result.problems for result in results)


def test_a_key_that_stands_twice_is_not_lost_in_silence(tmp_path: Path) -> None:
    case = json.dumps({"主诉": "头痛"}, ensure_ascii=False)
    result = import_cases("medchain", write(tmp_path / "x.json", f'{{"a": {case}, "a": {case}}}'))
    assert "'a' occurs twice here" in messages(result) and result.errors


@pytest.mark.parametrize(
    ("format", "field", "record"),
    [
        ("medchain", "主诉", {"a": {"主诉": 5}}),
        ("medchain", "诊治过程.初步诊断", {"a": {"主诉": "头痛", "诊治过程": {"初步诊断": ["痛风", 5]}}}),
        ("medchain", "辅助检查.CT", {"a": {"主诉": "头痛", "辅助检查": {"CT": True}}}),
        ("medchain", "影像报告.CT", {"a": {"主诉": "头痛", "影像报告": {"CT": 5}}}),
        ("ai_hospital", "主诉", {"id": 1, "medical_record": {"主诉": 5}}),
        ("ai_hospital", "medical_record.查体", {"id": 1, "medical_record": {"主诉": "头痛", "查体": 5}}),
        (
            "ai_hospital",
            "reference_diagnosis.diagnosis",
            {"patient_id": 1, "reference_diagnosis": {"diagnosis": ["痛风"], "basis": "主诉：足痛。"}},
        ),
        ("agentclinic", "OSCE_Examination.Correct_Diagnosis", osce(Correct_Diagnosis=5)),
        ("agentclinic", "Symptoms.Primary_Symptom", osce(Patient_Actor={"Symptoms": {"Primary_Symptom": 5}})),
        ("agentclinic", "question", {"question": 5, "answers": [{"text": "Gout", "correct": True}]}),
        (
            "aie",
            "chief_complain",
            {"raw_data": {"question": "Pain.", "options": "(A) a (B) b", "answer_idx": "A"}, "chief_complain": 5},
        ),
        ("medpmc", "Text.Chief Complaint", {"Text": {"Chief Complaint": 5, "Diagnosis": "Gout"}}),
        ("medpmc", "Image.1.jpg", {"Text": {"Chief Complaint": "Pain", "Diagnosis": "Gout"}, "Image": {"1.jpg": 5}}),
        ("medqa", "answer", {"question": "A man, 50 years old, has pain. Why?", "answer": 5, "options": {"A": "Gout"}}),
    ],
)  # fmt: skip
def test_a_number_where_a_source_tells_in_words_is_named_by_file_record_and_field(
    format: str, field: str, record: object, tmp_path: Path
) -> None:
    result = import_cases(format, write(tmp_path / "x.json", json.dumps([record])))
    assert not result.cases
    assert [problem for problem in result.errors if problem.field.endswith(field) and "expected" in problem.message]


@pytest.mark.parametrize("format", IMPORTERS)
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 300 + "1" + "}" * 300, "[" * 60 + "]" * 60, "1" * 5000])
def test_what_is_nested_or_long_beyond_reason_is_a_problem(format: str, text: str, tmp_path: Path) -> None:
    assert import_cases(format, write(tmp_path / "x.json", text)).errors


# Arbitrary JSON, in which the keys that the importers look for turn up at every level.
KEYS = st.text(max_size=8) | st.sampled_from(
    [
        "OSCE_Examination", "Patient_Actor", "Symptoms", "Primary_Symptom", "Demographics",
        "History", "Physical_Examination_Findings", "Test_Results", "Imaging",
        "Blood_Tests", "Findings", "General_Examination", "Correct_Diagnosis", "Management",
        "question", "answers", "text", "correct", "patient_info", "physical_exams",
        "image_url", "tags", "科室", "department", "【病案介绍】", "主诉", "查体", "体格检查", "辅助检查", "CT",
        "一般检查", "图像", "文件名", "filename", "分类", "影像报告", "【诊治过程】", "初步诊断", "【治疗项目】",
    ]
)  # fmt: skip
TEXTS = st.text() | st.sampled_from(
    ["外科", "35-year-old man", "患者，女，45岁，", "CT", "手术", "a\0b.png", "../x.png", "\ud800", "- a: b. 1. C"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)
RECORDS = (
    JSON
    | st.fixed_dictionaries({"OSCE_Examination": st.dictionaries(KEYS, JSON, max_size=5)})
    | st.fixed_dictionaries({"question": JSON, "patient_info": JSON, "physical_exams": JSON, "answers": JSON})
    | st.dictionaries(TEXTS, st.dictionaries(KEYS, JSON, max_size=6), max_size=3)
)


@pytest.mark.slow
@settings(deadline=None)
@given(record=RECORDS)
def test_arbitrary_json_gives_cases_or_problems_and_never_an_exception(
    record: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.mktemp("any") / "x.json", json.dumps(record))
    for format in IMPORTERS:
        result = import_cases(format, path)
        assert result.cases or result.problems
        messages(result).encode("utf-8")
        if result.cases:
            save_cases(result.cases, path.with_suffix(".jsonl"))
            assert [case.id for case in load_cases(path.with_suffix(".jsonl"))] == [case.id for case in result.cases]


@settings(deadline=None)
@given(text=st.text())
def test_arbitrary_text_in_a_file_never_raises(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("any") / "x.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    for format in IMPORTERS:
        assert import_cases(format, path, departments=path).problems


@pytest.mark.parametrize(
    ("text", "age", "sex"),
    [
        ("35-year-old female", 35, "female"),
        ("A 3-month-old boy with cough", 0.25, "male"),
        ("Patient is 8 years old", 8, None),
        ("Age: 45, Sex: M", 45, "male"),
        ("A 60‑year‑old woman, gravida 2", 60, "female"),
        ("患者，女，45岁", 45, "female"),
        ("患儿，男，3个月，因咳嗽入院", 0.25, "male"),
        ("男性，1岁6个月", 1.5, "male"),
        ("8岁女性患者", 8, "female"),
        ("腹痛3个月", None, None),
        ("患者3个月前出现头痛", None, None),
        ("患者20岁时患肺炎", None, None),
        ("Asthma since he was 8 years old", None, None),
        ("Lives with her 8-year-old son", None, None),
        ("Cough for 3 months", None, None),
        ("", None, None),
        ("The patient is a 5-year, 5-month-old male.", 5.417, "male"),
        ("Cough for 3 days, an 18-month-old boy.", 1.5, "male"),
        ("She is a 52-year-old teacher. Hoarse for 4 months.", 52, "female"),
        ("Man, 48 years old, fisherman.", 48, "male"),
        ("Woman of 45 years, clerk.", 45, "female"),
        ("He is 27, a courier.", 27, "male"),
        ("She is 35 weeks pregnant, after 20 years of marriage.", None, None),
        ("A man of 20 years' experience", None, None),
        ("Her mother is 60 years old. He is 30 years old.", 30, "male"),
        ("Her husband, a 40-year-old man, is well.", None, None),
        ("A girl brought by her mother, 5 years old.", 5, None),
        ("A forty-five-year-old man presents with fever.", 45, "male"),
        ("A forty five year old woman", 45, "female"),
        ("A six-week-old girl, the second of two", 0.115, "female"),
        ("A two and a half year old boy", 2.5, "male"),
        ("A woman aged sixty-two, smoker", 62, "female"),
        ("A one hundred and two-year-old lady", 102, "female"),
        ("A forty-year-old man with a 3-year-old son", 40, "male"),
        ("Her forty-year-old son is well.", None, None),
        ("Asthma since she was twenty years old", None, None),
        ("Three months of cough in one of two clinics", None, None),
        ("患者，女，四十五岁", 45, "female"),
        ("男孩，两岁半", 2.5, "male"),
        ("患者二十岁时患肺炎", None, None),
        ("十几岁，三四岁，三十四五岁，几十岁", None, None),
    ],
)
def test_age_and_sex_are_read_where_stated_of_the_patient_and_nowhere_else(
    text: str, age: float | None, sex: str | None
) -> None:
    stated = demographics(text)
    assert (stated.age_years, stated.sex) == (age, sex)


@pytest.mark.parametrize(
    ("about", "age", "sex", "more"),
    [
        ("3 months", 0.25, None, False),
        ("Male, 6 weeks", 0.115, "male", False),
        ("Age (3; unit: months); Sex: male", 0.25, "male", False),
        ("45M", 45, "male", False),
        ("45 yo F", 45, "female", False),
        ("F, 45", 45, "female", False),
        ("Teacher, 45, female", 45, "female", True),
        ("性别：女；年龄：45；职业：教师", 45, "female", True),
        ("a woman in her 60s", 60, "female", True),
        ("-1", None, None, False),
        ("6m", None, None, True),
        ("Woman, 12 weeks pregnant", None, "female", True),
        ("Ghanaian woman with 3 children", None, "female", True),
        ("Clerk, smokes for 10 years", None, None, True),
        ("45y male", 45, "male", False),
        ("45y", 45, None, False),
        ("45 y", 45, None, False),
        ("45y/M", 45, "male", False),
        ("F 45y", 45, "female", False),
        ("F/35y", 35, "female", False),
        ("35YM", 35, "male", False),
        ("年龄:45(岁)", 45, None, False),
        ("Student, 19 y", 19, None, True),
        ("56 M with chest pain", 56, "male", True),
        ("35 F with HIV", 35, "female", True),
        ("Pt is a 56M with HTN", 56, "male", True),
        ("56 F; HTN", 56, "female", True),
        ("56 retired teacher", 56, None, True),
        ("45 years, 3 months", 45.25, None, False),
        ("4 years 2 months, male", 4.167, "male", False),
        ("3 children, clerk", None, None, True),
        ("2 healthy children", None, None, True),
        ("12 weeks pregnant", None, None, True),
        ("Pain for 3 days", None, None, True),
        ("Mother of 2", None, None, True),
        ("bed 12, male", None, "male", True),
        ("Stage 3, male", None, "male", True),
        ("patient id 12", None, None, True),
    ],
)
def test_in_a_short_description_a_number_is_an_age_in_its_unit_or_none(
    about: str, age: float | None, sex: str | None, more: bool
) -> None:
    stated = demographics(about, brief=True)
    assert (stated.age_years, stated.sex, any(map(str.isalpha, beyond_age_and_sex(about)))) == (age, sex, more)


def test_nested_values_read_as_sentences() -> None:
    value = {
        "Chest_CT": {"Findings": "Normal."},
        "Limb": {"Right_Arm": "4/5", "Left_Arm": "5/5"},
        "Pain": True,
        "Other": None,
    }
    assert phrase(value) == "Chest CT: Normal; Limb (Right Arm: 4/5; Left Arm: 5/5); Pain: yes"
    assert phrase({"宫颈": "糜烂", "子宫": ["增大", "质硬"]}) == "宫颈：糜烂；子宫：增大；质硬"
    assert paragraph("便秘1年", "体重下降。", "") == "便秘1年。体重下降。"
    assert paragraph("A fever", "Since when?") == "A fever. Since when?"
    assert first_sentence("BP 120.5 mmHg. Fine.") == "BP 120.5 mmHg."


@pytest.mark.parametrize(
    "text", ["Not provided", "N/A", "Information not provided.", "Not indicated in the scenario provided", "不详"]
)
def test_what_says_that_nothing_is_recorded_counts_as_absent(text: str) -> None:
    assert phrase({"Smoking": text}) == ""


def test_the_language_is_that_of_most_letters() -> None:
    assert (language_of("患者 CT 示占位"), language_of("A man (男)"), language_of("")) == ("zh", "en", "en")


@pytest.mark.parametrize(
    ("label", "item"),
    [
        ("Complete_Blood_Count", "Blood Test"),
        ("Blood_Cultures", "Blood Test"),
        ("Stool_Occult_Blood_Test", "Stool Test"),
        ("Urine_Toxicology", "Urine Test"),
        ("Anti-Nuclear_Antibody", "Blood Test"),
        ("Barium_Swallow", "X-ray"),
        ("CT_Angiography_Abdomen", "CT"),
        ("MRCP", "MRI"),
        ("Echocardiogram", "Ultrasound"),
        ("Bone_Scan", "Nuclear Medicine Imaging"),
        ("Colonoscopy_Report", "Endoscopy"),
        ("Skin_Biopsy", "Pathological Examination"),
        ("ECG", "Chest Examination"),
        ("Spirometry", "Chest Examination"),
        ("Lumbar_Puncture", "Neurological Examination"),
        ("Polysomnography", "Neurological Examination"),
        ("Audiometry", "Head, Eyes, Ears, Nose and Throat Examination"),
        ("Tuberculin_Skin_Test", "Skin Examination"),
        ("Arthrocentesis_of_Right_Knee", "Spine and Limb Examination"),
        ("Petition", None),
        ("CXR", "X-ray"),
        ("XR_Knee", "X-ray"),
        ("US_Abdomen", "Ultrasound"),
        ("RUQ US", "Ultrasound"),
        ("Told us", None),
        ("LFTs", "Blood Test"),
        ("UA", "Urine Test"),
        ("LP", "Neurological Examination"),
    ],
)
def test_a_test_is_filed_under_the_item_it_belongs_to(label: str, item: str | None) -> None:
    assert lexicon.test_item(label) == item


@pytest.mark.parametrize(
    ("section", "item"),
    [
        ("Resp", "Chest Examination"),
        ("Pulm", "Chest Examination"),
        ("Abd", "Abdominal Examination"),
        ("GU", "Urogenital System Examination"),
        ("Ext", "Spine and Limb Examination"),
        ("Extraction", None),
    ],
)
def test_sections_abbreviated_as_in_american_notes_are_filed(section: str, item: str | None) -> None:
    assert lexicon.physical_item(section) == item


@pytest.mark.parametrize(
    "finding", ["Tender right lower quadrant", "Left upper quadrant: soft", "Pain in the iliac fossa"]
)
def test_a_quadrant_is_of_the_belly_and_no_limb(finding: str) -> None:
    assert lexicon.physical_item(finding) == "Abdominal Examination"
    assert lexicon.physical_item("Right upper extremity") == "Spine and Limb Examination"


def test_the_lexicon_knows_every_item_by_its_own_name() -> None:
    assert all(lexicon.test_item(name) == name for name in AUXILIARY_ITEMS.names)
    assert all(lexicon.physical_item(name) == name for name in PHYSICAL_ITEMS.names)
    assert len(EXAMINATION_ITEMS.names) == 19


@pytest.mark.parametrize(
    ("text", "age", "sex"),
    [
        ("A mother brings her 3-month-old infant because she is concerned about his feeding.", 0.25, None),
        ("A 30-year-old woman brings her previously healthy 3-year-old son to the physician.", 3, "male"),
        ("Parents bring in their 4-year-old daughter with a rash.", 4, "female"),
        ("A 30-year-old woman brings her 6-year-old dog to the clinic.", 30, "female"),
        ("A 45-year-old woman, whose 20-year-old daughter has asthma, coughs.", 45, "female"),
    ],
)
def test_a_child_that_is_brought_is_the_patient(text: str, age: float, sex: str | None) -> None:
    stated = demographics(text)
    assert (stated.age_years, stated.sex) == (age, sex)
