"""MedChain cases, in either language and however nested, become cases with the full answer key."""

import json
from pathlib import Path
from typing import Any

import pytest

from cases import Case
from cases.importers import ImportResult, import_cases
from tests.support.pictures import PNG

TITLE = "12_输尿管结石1例"
CHINESE: dict[str, Any] = {
    "tags": {"科室": ["外科", "泌尿外科"], "病种": ["结石"]},
    "【病例摘要】": ["【基本信息】女，45岁，教师"],
    "【病案介绍】": {
        "主诉": ["左腰痛1天", "伴恶心"],
        "现病史": ["患者1天前无诱因出现左腰痛。"],
        "既往史": ["既往体健"],
        "查体": {
            "体格检查": {"一般检查": "体温37℃", "腹部检查": {"左侧": "压痛", "右侧": "软"}},
            "辅助检查": {"CT": ["左输尿管结石", "左肾积水"], "X线片": "阴性"},
        },
        "图像": [{"文件名": "7.png", "分类": ["CT"]}, {"文件名": "8.png", "分类": ["超声"]}],
        "影像报告": {"CT": "左输尿管下段结石。"},
    },
    "【诊治过程】": {"初步诊断": ["左输尿管结石", "左肾积水"], "诊治经过": ["行输尿管镜碎石术"]},
    "【治疗项目】": ["手术", "药物治疗"],
}
ENGLISH: dict[str, Any] = {
    "tags": {"department": ["Stomatology", "Oral Surgery"], "disease": ["Abscess"]},
    "[Case Introduction]": {
        "Physical Examination": {"General Examination": "Afebrile", "HEENT": ["Swollen cheek", "Tooth 36 tender"]},
        "Auxiliary Examinations": {"X-ray": "Periapical lucency"},
        "Chief Complaint": ["Patient is 8 years old", "Toothache for 3 days"],
        "Images": [{"filename": "tooth.png", "category": "X-ray"}],
        "Imaging Reports": {"X-ray": "Lucency at tooth 36"},
    },
    "[Diagnosis and Treatment Process]": {"Initial Diagnosis": "Dental abscess", "Treatment Course": "Drained"},
    "[Treatment Items]": ["Surgery", "Antibiotics"],
}


def read(folder: Path, content: object, name: str = "medchain.json", departments: Path | None = None) -> ImportResult:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")
    return import_cases("medchain", path, departments=departments)


def tagged(*departments: str) -> dict[str, object]:
    return {"a": {"tags": {"department": list(departments)}, "Chief Complaint": "Pain"}}


@pytest.fixture
def chinese(tmp_path: Path) -> Case:
    (tmp_path / "7.png").write_bytes(PNG)
    result = read(tmp_path, {TITLE: CHINESE})
    assert not result.errors
    return result.cases[0]


def test_a_chinese_case_is_read_whole(chinese: Case) -> None:
    assert chinese.language == "zh" and chinese.id == "12-输尿管结石1例"
    patient = chinese.patient
    assert (patient.age_years, patient.sex) == (45, "female")
    assert (patient.chief_complaint, patient.past_history) == ("左腰痛1天。伴恶心。", "既往体健。")
    assert chinese.examinations.results == {
        "General Examination": "体温37℃。",
        "Abdominal Examination": "左侧：压痛。右侧：软。",
        "X-ray": "阴性。",
        "CT": "左输尿管结石。左肾积水。",
    }
    key = chinese.key
    assert (key.department, key.sub_departments) == ("Surgery", ["Urology"])
    assert key.examination_items == ["General Examination", "Abdominal Examination", "X-ray", "CT"]
    assert key.diagnosis == ["左输尿管结石", "左肾积水"] and key.imaging_reports == {"CT": "左输尿管下段结石。"}
    assert key.treatment_course == "行输尿管镜碎石术。" and key.treatment_items == ["Surgery", "Medication"]


def test_urgency_and_whatever_a_case_lacks_stays_absent(chinese: Case, tmp_path: Path) -> None:
    assert chinese.key.urgency is None and chinese.patient.family_history == ""
    case = read(tmp_path, {"a": {"Chief Complaint": "Pain"}}).cases[0]
    assert not case.key.model_dump(exclude_defaults=True) and not case.examinations.model_dump(exclude_defaults=True)


def test_the_papers_english_keys_are_read(tmp_path: Path) -> None:
    (tmp_path / "tooth.png").write_bytes(PNG)
    result = read(tmp_path, {"A dental abscess: a case report": ENGLISH})
    case = result.cases[0]
    assert not result.problems
    assert (case.language, case.id, case.patient.age_years) == ("en", "a-dental-abscess-a-case-report", 8)
    assert (case.key.department, case.key.sub_departments) == ("Dentistry", ["Oral Surgery"])
    assert list(case.examinations.results) == [
        "General Examination",
        "Head, Eyes, Ears, Nose and Throat Examination",
        "X-ray",
    ]
    assert [image.item for image in case.examinations.images] == ["X-ray"]
    assert case.key.treatment_items == ["Surgery", "Antibiotic Therapy"] and case.key.diagnosis == ["Dental abscess"]


def test_sections_are_read_at_whatever_level_they_stand(tmp_path: Path) -> None:
    introduction = CHINESE["【病案介绍】"]
    flat = {
        **introduction,
        **introduction["查体"],
        **CHINESE["【诊治过程】"],
        "科室": "外科",
        "治疗项目": "手术、药物治疗",
    }
    flat.pop("查体")
    nested = {
        "tags": CHINESE["tags"],
        "病案介绍": [{**CHINESE["【诊治过程】"]}, introduction],
        "治疗项目": [["手术"], ["药物治疗"]],
    }
    (tmp_path / "7.png").write_bytes(PNG)
    first, second = read(tmp_path, {"flat": flat, "nested": nested}).cases
    assert first.examinations == second.examinations
    assert first.patient == second.patient
    assert first.key == second.key.model_copy(update={"sub_departments": []})


def test_one_object_a_list_of_objects_and_json_lines_of_them_read_alike(tmp_path: Path) -> None:
    objects = [{"a": ENGLISH}, {"b": ENGLISH, "c": CHINESE}]
    both = {**objects[0], **objects[1]}
    lines = "\n".join(json.dumps(item, ensure_ascii=False) for item in objects)
    results = [read(tmp_path, content) for content in (both, objects, lines)]
    assert [[case.id for case in result.cases] for result in results] == [["a", "b", "c"]] * 3


def test_a_case_without_a_title_is_named_by_its_file(tmp_path: Path) -> None:
    assert [case.id for case in read(tmp_path, [ENGLISH, CHINESE]).cases] == ["medchain-1", "medchain-2"]


def test_ids_are_unique_and_the_same_every_time(tmp_path: Path) -> None:
    titles = ["A: b", "a B", "***", "x" * 200, "x" * 201]
    ids = [[case.id for case in read(tmp_path, dict.fromkeys(titles, ENGLISH)).cases] for _ in range(2)]
    assert ids[0] == ids[1] and len(set(ids[0])) == 5
    assert ids[0][:2] == ["a-b", "a-b-2"] and all(0 < len(name) <= 60 for name in ids[0])


def test_the_first_tag_is_the_department_and_second_level_names_follow(tmp_path: Path) -> None:
    result = read(tmp_path, tagged("ENT", "Rhinology", "Internal Medicine", "Allergy"))
    key = result.cases[0].key
    assert (key.department, key.sub_departments) == ("Otolaryngology", ["Rhinology", "Allergy"])
    assert "'Internal Medicine' left out" in str(result.warnings[0])


def test_an_unknown_first_level_department_is_an_error_that_names_the_accepted_ones(tmp_path: Path) -> None:
    result = read(tmp_path, {**tagged("Ward 9"), "b": ENGLISH})
    (error,) = result.errors
    assert (error.record, error.field) == ("a", "tags.department")
    assert "'Ward 9'" in error.message and "Nursing Department" in error.message and "Psychology" in error.message
    assert [case.id for case in result.cases] == ["b"]


def test_second_level_names_outside_a_given_department_file_are_warned_about(tmp_path: Path) -> None:
    listing = tmp_path / "departments.txt"
    listing.write_text("外科：\n- 骨科\n内科:\n- 肿瘤科\n", "utf-8")
    result = read(tmp_path, tagged("外科", "骨科", "泌尿科", "肿瘤科"), departments=listing)
    # 肿瘤科 is a first-level name too, but here the hospital lists it as a second-level one.
    assert len(result.cases[0].key.sub_departments) == 3
    assert ["'泌尿科' is not in the departments file" in problem.message for problem in result.problems] == [True]


def test_titles_are_read_also_one_level_deeper(tmp_path: Path) -> None:
    result = read(tmp_path, {"1": {"a": ENGLISH}, "2": {"b": ENGLISH, "c": ENGLISH}})
    assert [case.id for case in result.cases] == ["a", "b", "c"] and not result.errors


@pytest.mark.parametrize("bullet", ["-", "- ", "－ ", "• ", "* "])
def test_a_department_file_may_have_any_bullets(bullet: str, tmp_path: Path) -> None:
    listing = tmp_path / "departments.txt"
    listing.write_text(f"外科：\r\n{bullet}骨科\r\n", "utf-8-sig", newline="")
    assert not read(tmp_path, tagged("外科", "骨科"), departments=listing).problems


def test_diagnoses_numbered_from_entry_to_entry_lose_their_numbers(tmp_path: Path) -> None:
    tags = tagged("外科")["a"]
    assert isinstance(tags, dict)
    result = read(tmp_path, {"a": {**tags, "Initial Diagnosis": ["1.右肱骨干骨折", "2.高血压"]}})
    assert result.cases[0].key.diagnosis == ["右肱骨干骨折", "高血压"]


def test_a_department_file_that_does_not_fit_is_an_error_with_its_line(tmp_path: Path) -> None:
    listing = tmp_path / "departments.txt"
    listing.write_text("- 骨科\n外科:\n骨科\n", "utf-8")
    result = read(tmp_path, tagged("外科"), departments=listing)
    assert [(Path(error.file).name, error.record) for error in result.errors] == [
        ("departments.txt", "line 1"),
        ("departments.txt", "line 3"),
    ]


def test_unknown_items_are_left_out_with_a_warning_that_names_them(tmp_path: Path) -> None:
    case = {
        "Chief Complaint": "Pain",
        "Physical Examination": {"Aura": "Blue", "Skin": "Dry"},
        "Imaging Reports": {"Kirlian": "x"},
        "Treatment Items": ["Magic", "Surgery"],
        "Weather": "rain",
    }
    result = read(tmp_path, {"a": case})
    text = "\n".join(map(str, result.warnings))
    assert not result.errors and all(word in text for word in ("Aura", "Kirlian", "Magic", "Weather"))
    assert result.cases[0].key.examination_items == ["Skin Examination"]
    assert result.cases[0].key.treatment_items == ["Surgery"]


def test_a_vocabulary_is_listed_once_and_a_misspelt_term_suggests_the_one_that_was_meant(tmp_path: Path) -> None:
    case = {"Chief Complaint": "Pain", "Treatment Items": ["Magic", "Incense", "Surgry"]}
    first, second, third, *others = [each.message for each in read(tmp_path, {"a": case, "b": case}).warnings]
    assert "unknown item 'Magic', left out; expected one of Surgery" in first
    assert second == "unknown item 'Incense', left out"
    assert third == "unknown item 'Surgry', left out: did you mean 'Surgery'?"
    assert max(map(len, others)) < 60 and len(others) == 3


def test_an_item_without_text_is_no_recorded_item(tmp_path: Path) -> None:
    result = read(tmp_path, {"a": {"主诉": "头痛", "辅助检查": {"CT": "", "MRI": []}}})
    assert result.cases[0].key.examination_items == [] and len(result.warnings) == 2


def test_an_absent_picture_is_a_warning_and_the_case_is_kept_without_it(chinese: Case, tmp_path: Path) -> None:
    result = read(tmp_path, {TITLE: CHINESE})
    assert ["8.png" in problem.message for problem in result.warnings] == [True]
    assert [image.file for image in result.cases[0].examinations.images] == ["7.png"]
    assert chinese.folder == str(tmp_path.resolve())


def test_a_picture_of_several_classes_is_filed_under_the_first_and_the_others_are_named(tmp_path: Path) -> None:
    (tmp_path / "7.png").write_bytes(PNG)
    images = [{"filename": "7.png", "category": ["CT", "CT", "MRI"]}]
    result = read(tmp_path, {"a": {"主诉": "头痛", "图像": images}})
    assert [image.item for image in result.cases[0].examinations.images] == ["CT"]
    assert [problem.message for problem in result.problems] == ["picture '7.png' is filed under CT alone, not MRI"]


def test_a_picture_outside_the_folder_of_the_source_is_not_taken(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.png").write_bytes(PNG)
    images = [
        {"filename": name, "category": ["CT"]} for name in ("../secret.png", str(tmp_path / "secret.png"), "a\0.png")
    ]
    result = read(inner, {"a": {"Chief Complaint": "Pain", "Images": images}})
    assert not result.cases[0].examinations.images and len(result.warnings) == 3


def test_a_picture_of_no_image_class_is_left_out_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(PNG)
    result = read(tmp_path, {"a": {"主诉": "头痛", "图像": [{"文件名": "x.png", "分类": ["血液学检查"]}]}})
    assert not result.cases[0].examinations.images and "is not an image class" in str(result.warnings[0])


def test_an_age_is_read_by_the_name_of_its_field(tmp_path: Path) -> None:
    case = {"【病案介绍】": {"一般资料": {"性别": "女", "年龄": 45}, "主诉": "便血。"}}
    source = tmp_path / "cases.json"
    source.write_text(json.dumps({"便血": case}, ensure_ascii=False), "utf-8")
    [read] = import_cases("medchain", source).cases
    assert (read.patient.age_years, read.patient.sex) == (45, "female")


def test_without_a_chief_complaint_the_present_illness_opens_it(tmp_path: Path) -> None:
    result = read(tmp_path, {"a": {"现病史": "患者，女，45岁。头痛3天。无发热。"}})
    assert result.cases[0].patient.chief_complaint == "患者，女，45岁。头痛3天。" and len(result.warnings) == 1


@pytest.mark.parametrize(
    ("case", "field", "expected"),
    [
        ("text", "", "expected a case object with tags"),
        ({}, "Chief Complaint", "found neither this nor a present illness"),
        ({"主诉": "痛", "tags": "外科"}, "tags", "expected an object"),
        ({"主诉": "痛", "辅助检查": "CT"}, "辅助检查", "expected an object"),
        ({"主诉": "痛", "现病史": 3, "分析总结": 3}, "现病史", "expected text, found a value 3"),
        ({"Chief Complaint": "Pain", "Present Illness": ["Since May.", True]}, "Present Illness", "expected text"),
        ({"主诉": "痛", "图像": "x.png"}, "图像.0", "an object with filename and category"),
        ({"主诉": "痛", "图像": [{"分类": ["CT"]}]}, "filename", "the name of a picture"),
        ({"主诉": "痛", "影像报告": ["x"]}, "影像报告", "{image class: report}"),
    ],
)
def test_a_case_that_does_not_fit_names_the_field_and_what_was_expected(
    case: object, field: str, expected: str, tmp_path: Path
) -> None:
    result = read(tmp_path, {"bad": case, "good": ENGLISH})
    (error,) = result.errors
    assert [case.id for case in result.cases] == ["good"]
    assert error.record == "bad" and field in error.field and expected in error.message
