from typing import Any

import pytest

from cases import ExaminationRecord
from cases.text.words import language_of
from cases.vocabulary import Language
from nodes.patients.filed_results import Filed, as_spoken, asked_for, look_up, ordered_as, part_of, told_once

RECORD = ExaminationRecord.model_validate(
    {
        "physical": {"Chest Examination": "Crackles on the left. ECG: sinus rhythm."},
        "auxiliary": {
            "X-ray": "Shadow at the left base.",
            "Blood Test": "White cells 14 ×10⁹/L. CRP 60 mg/L. Acetylcholine receptor antibodies positive.",
            "MRI": "Tensilon test was done before; the thymus is enlarged.",
        },
        "images": [{"file": "film.png", "item": "X-ray"}],
    }
)


def found(name: str, **more: Any) -> Filed:
    settings: dict[str, Any] = {"folder": "/cases", "send_pictures": True, **more}
    return look_up(RECORD, name, **settings)


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("CXR", "Please get a CXR.", "Shadow at the left base."),
        ("chest X-ray", "Please get a CXR.", "Shadow at the left base."),
        ("glycated haemoglobin", "I should like your glycated haemoglobin.", "HbA1c 8.1 %."),
        ("糖化血红蛋白", "请查糖基化血红蛋白。", "HbA1c 8.1 %."),
    ],
)
def test_a_test_is_found_by_what_doctors_call_it_for_short_and_by_its_british_name(
    name: str, words: str, told: str
) -> None:
    record = ExaminationRecord(
        auxiliary={"X-ray": "Shadow at the left base.", "Blood Test": "Haemoglobin 98 g/L. HbA1c 8.1 %."}
    )
    texts = [text for each in asked_for(name, words) for text in look_up(record, each, "", False).texts]
    assert texts == [told]


COUNT = "Complete blood count shows: white blood cells 2.4, hemoglobin 159 g/L."
LIVER = "Laboratory findings: TBIL 22.5 umol/L."


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("blood routine", [COUNT]),
        ("white blood cell count", [COUNT]),
        ("bilirubin", [LIVER]),
        ("liver function", [LIVER, "Liver and kidney functions are normal."]),
        ("kidney function", ["Liver and kidney functions are normal."]),
        ("CT scan of the abdomen", ["Free air below the diaphragm."]),
        ("urine routine", ["Ketones +3."]),
    ],
)
def test_a_result_is_found_under_the_names_that_translated_records_and_orders_use(order: str, told: list[str]) -> None:
    blood = f"{COUNT} {LIVER} Liver and kidney functions are normal."
    results = {"Blood Test": blood, "CT": "Free air below the diaphragm.", "Urine Test": "Ketones +3."}
    record = ExaminationRecord(auxiliary=results)
    asked = asked_for(order, f"What did the {order} show?")
    assert [text for each in asked for text in look_up(record, each, "", False).texts] == told


def test_a_closed_item_gives_its_whole_text_and_a_test_its_own_sentences() -> None:
    assert found("blood test").texts == (RECORD.auxiliary["Blood Test"],)
    assert found("CRP").texts == ("CRP 60 mg/L.",)
    assert found("血常规").texts == ("White cells 14 ×10⁹/L.",), "a panel is found by its parts, in either language"
    assert found("ECG").texts == ("ECG: sinus rhythm.",)


ABDOMEN, HEART = (
    "Abdominal ultrasound: liver normal; a cyst of the left kidney.",
    "Echocardiography: ejection fraction 62 %.",
)
腹部, 心脏 = "腹部超声：肝胆未见异常，左肾囊肿12 mm。", "超声心动图：射血分数62%。"


@pytest.mark.parametrize(
    ("report", "words", "told"),
    [
        (f"{腹部}{心脏}", "做个心脏彩超。", 心脏),
        (f"{腹部}{心脏}", "肚子上做个彩超。", 腹部),
        (f"{ABDOMEN} {HEART}", "The ultrasound of your belly, please.", ABDOMEN),
        (f"{ABDOMEN} {HEART}", "An ultrasound of the heart, please.", HEART),
        (f"{ABDOMEN} {HEART}", "Please have an ultrasound.", f"{ABDOMEN} {HEART}"),
        (
            "CT of the chest: a nodule. The liver has a cyst.",
            "A chest CT.",
            "CT of the chest: a nodule. The liver has a cyst.",
        ),
    ],
)
def test_of_two_pictures_filed_as_one_item_an_order_opens_the_part_that_it_names(
    report: str, words: str, told: str
) -> None:
    item = "CT" if "CT" in report else "Ultrasound"
    record = ExaminationRecord(auxiliary={item: report})
    ordered = dict.fromkeys(part for name in (item, "echocardiogram") for part in asked_for(name, words))
    assert {text for each in ordered for text in look_up(record, each, "", False, words).texts} == {told}


HEAD = "Head, without contrast: a collection 18 mm thick over the right temporal lobe."
头颅 = "头颅平扫：右侧颞叶见18 mm血肿。"


@pytest.mark.parametrize(
    ("report", "words", "opened"),
    [
        (HEAD, "请您再做一个胸部CT，好吗？", False),
        (HEAD, "请做头颅CT。", True),
        (HEAD, "请做CT。", True),
        (头颅, "Could you also have a CT scan of the chest, please?", False),
        (头颅, "Could you also have a CT scan of the head, please?", True),
    ],
)
def test_an_order_in_another_language_than_the_record_opens_no_picture_of_another_part(
    report: str, words: str, opened: bool
) -> None:
    record = ExaminationRecord(auxiliary={"CT": report})
    assert [look_up(record, name, "", False, words).texts for name in asked_for("CT", words)] == [
        (report,) if opened else ()
    ]


@pytest.mark.parametrize(
    ("items", "words", "told"),
    [
        (["chest CT"], "Please have a chest CT.", ["chest CT"]),
        (["胸部CT"], "请您再做一个胸部CT，好吗？", ["胸部CT"]),
        (["chest CT", "abdominal CT"], "A chest CT and an abdominal CT, please.", ["chest CT", "abdominal CT"]),
        (["chest CT", "CT of the chest"], "A chest CT. Yes, a CT of the chest.", ["chest CT"]),
        (["CT of the chest"], "A chest CT, please.", ["CT"]),
        (["head MRI and everything else"], "An MRI, please.", ["MRI"]),
    ],
)
def test_what_is_not_on_record_is_told_under_the_name_by_which_it_was_ordered(
    items: list[str], words: str, told: list[str]
) -> None:
    """A head CT with a bleed is on record, and "CT: no abnormality" was said of a chest CT."""
    record = ExaminationRecord(auxiliary={"CT": HEAD})
    ordered = [name for item in items for name in ordered_as(item, words)]
    filed = {name: look_up(record, name, "", False, words) for name in ordered}
    assert not any(entry.texts for entry in filed.values())
    assert [as_spoken(name, words, language_of(words)) for name in told_once(filed)] == told


@pytest.mark.parametrize(
    ("report", "items", "words"),
    [
        (HEAD, ["chest CT", "head CT"], "Please have a chest CT and a head CT."),
        (头颅, ["胸部CT", "头颅CT"], "请做胸部CT和头颅CT。"),
    ],
)
def test_of_two_parts_ordered_at_once_the_one_on_record_is_told_under_its_own_name(
    report: str, items: list[str], words: str
) -> None:
    record = ExaminationRecord(auxiliary={"CT": report})
    filed = {name: look_up(record, name, "", False, part_of(name, words)) for name in items}
    assert [filed[name].texts for name in told_once(filed)] == [(), (report,)]


def test_a_doppler_in_chinese_is_not_of_the_liver_for_what_it_is_called_in_english() -> None:
    record = ExaminationRecord(
        auxiliary={"Ultrasound": "甲状腺未见结节。彩色多普勒示血流丰富，甲状腺上动脉流速98 cm/s。"}
    )
    assert look_up(record, "超声", "", False, "请做腹部超声。") == Filed()
    assert look_up(record, "超声", "", False, "请做甲状腺超声。").texts


@pytest.mark.parametrize(
    ("seen", "name", "told"),
    [
        ("下腹膨隆。直肠指检：前列腺增大。双肺呼吸音清。", "直肠指检", "直肠指检：前列腺增大。"),
        ("下腹膨隆。双肺呼吸音清。", "腹部查体", "下腹膨隆。"),
        ("The left calf is swollen. Fine crackles at both lung bases.", "lungs", "Fine crackles at both lung bases."),
        ("The left calf is swollen. Fine crackles at both lung bases.", "ECG", "ECG: sinus rhythm."),
    ],
)
def test_of_a_record_that_files_all_that_was_seen_as_one_a_part_is_told_and_not_called_normal(
    seen: str, name: str, told: str
) -> None:
    record = ExaminationRecord(physical={"General Examination": seen, "Chest Examination": "ECG: sinus rhythm."})
    texts = look_up(record, name, "", False).texts
    assert told in texts and not any("calf" in text or "双肺" in text for text in texts)


def test_one_result_under_two_names_is_told_once_and_two_tests_without_any_both() -> None:
    names = ["胸片", "x-ray", "心脏彩超", "超声心动图", "MRI"]
    assert told_once({name: found(name, send_pictures=False) for name in names}) == ["胸片", "心脏彩超", "MRI"]
    assert told_once({name: found(name, send_pictures=False) for name in ("CT", "ultrasound")}) == ["CT", "ultrasound"]


def test_a_test_that_is_not_named_in_a_collective_item_was_not_done() -> None:
    assert found("troponin") == Filed()
    assert found("ultrasound") == Filed()


@pytest.mark.parametrize(
    ("seen", "name", "told"),
    [
        ("Murphy's sign is negative. Looks tired.", "temperature", ()),
        ("查体发现右上腹局限性压痛。", "体温", ()),
        ("Temperature 36.6 °C, pulse 70/min. Dry lips.", "sats", ()),
        ("Temperature 36.6 °C, pulse 70/min. Dry lips.", "pulse", ("Temperature 36.6 °C, pulse 70/min.",)),
        ("T 36.6 P 70 R 18. Dry lips.", "vital signs", ("T 36.6 P 70 R 18.",)),
        ("T36.6℃，P70次/分。神志清楚。", "体温", ("T36.6℃，P70次/分。",)),
        ("BP120/80mmHg。神志清楚。", "血压", ("BP120/80mmHg。",)),
        ("生命体征平稳。神志清楚。", "体温", ("生命体征平稳。",)),
        ("T 98.6 F. Dry lips.", "temperature", ("T 98.6 F.",)),
        ("Temp 38.1. Dry lips.", "temperature", ("Temp 38.1.",)),
        ("Afebrile. Dry lips.", "temperature", ("Afebrile.",)),
        ("T 36.8. Afebrile.", "temperature", ("T 36.8. Afebrile.",)),
        ("Afebrile. Dry lips.", "blood pressure", ()),
        ("Low-grade fever. Dry lips.", "temperature", ("Low-grade fever.",)),
        ("无发热。口唇干燥。", "体温", ("无发热。",)),
        ("VSS. Dry lips.", "pulse", ("VSS.",)),
        ("Temp 38.1. Dry lips.", "vital signs", ("Temp 38.1.",)),
        ("Respirations 20. Dry lips.", "respiratory rate", ("Respirations 20.",)),
        ("SO2: 80%. Dry lips.", "oxygen saturation", ("SO2: 80%.",)),
    ],
)
def test_a_vital_sign_is_told_where_it_was_taken_and_nothing_else_in_its_place(
    seen: str, name: str, told: tuple[str, ...]
) -> None:
    record = ExaminationRecord(physical={"General Examination": seen})
    assert look_up(record, name, "", False).texts == told


def test_what_was_told_under_the_names_before_is_not_told_under_another() -> None:
    seen = "Temperature 36.6 °C. The left pupil is wide. The neck is stiff."
    record = ExaminationRecord(physical={"General Examination": seen})
    names = ["temperature", "general examination", "temperature", "eyes", "MRI"]
    assert told_once({name: look_up(record, name, "", False) for name in names}) == [
        "temperature",
        "general examination",
        "MRI",
    ]


def test_what_one_picture_shows_is_told_although_another_shows_the_same() -> None:
    record = ExaminationRecord(auxiliary={"X-ray": "The lungs are clear. Normal.", "CT": "Normal."})
    assert told_once({name: look_up(record, name, "", False) for name in ("X-ray", "CT", "CT scan")}) == ["X-ray", "CT"]


@pytest.mark.parametrize(
    ("item", "report", "other", "own"),
    [
        ("Ultrasound", "Doppler of the right leg: reflux in the deep veins.", "an ultrasound of the abdomen", "leg"),
        (
            "Ultrasound",
            "Transvaginal: a cyst of the left ovary, no echo inside.",
            "an ultrasound of the heart",
            "pelvis",
        ),
        ("MRI", "MRI scan of the knee: the meniscus is torn.", "an MRI of the brain", "knee"),
        ("X-ray", "X光片显示左胫骨远端骨折。", "拍个腹部X光片", "腿"),
        ("Ultrasound", "TTE: EF 35 %, the veins of the liver are wide.", "an ultrasound of the leg", "heart"),
    ],
)
def test_a_picture_is_of_the_part_that_it_names_and_not_of_all_that_its_kind_may_show(
    item: str, report: str, other: str, own: str
) -> None:
    record = ExaminationRecord(auxiliary={item: report})
    assert look_up(record, item, "", False, other).texts == ()
    assert look_up(record, item, "", False, f"{item}, {own}").texts == (report,)


@pytest.mark.parametrize(
    "report",
    [
        "Several bright spots on T2/FLAIR in the deep white matter.",
        "A T2-weighted sequence shows the third ventricle displaced.",
        "The temporal lobe is bright on T1 and T2.",
    ],
)
def test_the_weighting_of_a_picture_is_no_vertebra(report: str) -> None:
    record = ExaminationRecord(auxiliary={"MRI": f"Brain: {report}"})
    assert look_up(record, "MRI", "", False, "MRI of the lumbar spine").texts == ()
    assert look_up(record, "MRI", "", False, "MRI of the brain").texts


def test_a_test_outside_the_lists_is_found_by_its_name_in_the_text() -> None:
    assert found("Tensilon test").texts == (RECORD.auxiliary["MRI"],)
    assert found("Acetylcholine receptor antibodies").texts == ("Acetylcholine receptor antibodies positive.",)


@pytest.mark.parametrize("name", ["left", "positive", "normal", "the", "done before", "results", "*", "正常"])
def test_words_that_stand_in_a_text_but_name_no_test_find_nothing(name: str) -> None:
    assert found(name) == Filed()


def test_a_picture_is_given_instead_of_its_text_where_pictures_are_sent() -> None:
    shown = found("X-ray")
    assert (shown.texts, [picture.file for picture in shown.pictures]) == ((), ["/cases/film.png"])
    assert found("X-ray", send_pictures=False).texts == ("Shadow at the left base.",)


@pytest.mark.parametrize(
    ("name", "words", "allowed"),
    [
        ("Blood Test", "A blood test, please.", ["blood test"]),
        ("CRP", "A blood test, please.", ["crp"]),
        ("Blood Test", "Please check the CRP.", ["crp"]),
        ("troponin", "Please check the CRP.", []),
        ("C-reactive protein", "Please check the CRP.", ["c-reactive protein"]),
        ("血常规", "A CBC, please.", ["血常规"]),
        ("CT", "Give me all results.", []),
        ("all results", "Give me all results.", []),
        ("Tensilon test", "Do a Tensilon test.", ["Tensilon test"]),
        ("Tensilon test", "Do all the tests.", []),
        ("Shadow at the left base.", "Look at the left, and at all else.", []),
    ],
)
def test_no_more_is_asked_for_than_the_words_say(name: str, words: str, allowed: list[str]) -> None:
    assert asked_for(name, words) == allowed


def test_an_order_for_an_x_ray_hands_over_no_angiogram_though_it_is_the_only_picture_of_the_class() -> None:
    images = [{"file": "artery.png", "item": "X-ray", "name": "Angiography"}]
    record = ExaminationRecord.model_validate(
        {"auxiliary": {"X-ray": "Cerebral angiography: an aneurysm."}, "images": images}
    )
    assert look_up(record, "X-ray", "/cases", True, "Please get an X-ray.") == Filed()
    shown = look_up(record, "angiography", "/cases", True, "Please get an angiogram.")
    assert [picture.file for picture in shown.pictures] == ["/cases/artery.png"]


@pytest.mark.parametrize("words", ["angiography", "angiogram", "DSA", "脑血管造影"])
@pytest.mark.parametrize("written", ["Cerebral angiography: an aneurysm.", "An aneurysm.", ""])
def test_an_order_for_a_named_picture_by_another_name_hands_over_that_picture_and_no_other(
    words: str, written: str
) -> None:
    images = [{"file": "artery.png", "item": "X-ray", "name": "Angiography"}, {"file": "chest.png", "item": "X-ray"}]
    record = ExaminationRecord.model_validate({"auxiliary": {"X-ray": written} if written else {}, "images": images})
    shown = look_up(record, words, "/cases", True, f"Please get: {words}.")
    assert [picture.file for picture in shown.pictures] == ["/cases/artery.png"]


@pytest.mark.parametrize(
    ("name", "words", "called"),
    [
        ("张嘴我", "请张嘴我看看。", "咽喉检查"),
        ("抽点血", "抽点血看看。", "血液学检查"),
        ("拍个片", "拍个片子。", "X线检查"),
        ("b超", "做个B超。", "B超"),
        ("跟着我手指", "眼睛跟着我手指。", "跟着我手指"),  # it has no other name of its own
        ("mri", "An MRI, please.", "MRI"),
        ("mri", "请做个核磁共振。", "MRI"),
        ("x-ray", "A radiograph of the chest, please.", "X-ray"),
    ],
)
def test_a_result_stands_under_the_doctors_name_or_the_tests_own_where_the_doctor_names_none(
    name: str, words: str, called: str
) -> None:
    assert as_spoken(name, words, language_of(words)) == called


@pytest.mark.parametrize(
    ("language", "name", "words", "called"),
    [
        ("zh", "ecg", "Please have an ECG.", "心电图"),
        ("zh", "blood test", "A blood test, please.", "血液学检查"),
        ("zh", "x-ray", "An X-ray, please.", "X线检查"),
        ("zh", "crp", "查个CRP。", "CRP"),
        ("en", "心电图", "请做个心电图。", "electrocardiogram"),
        ("en", "血液学检查", "请做血液学检查。", "Blood Test"),
        ("fr", "ecg", "Please have an ECG.", "ECG"),
    ],
)
def test_an_order_in_another_language_is_answered_in_that_of_the_dialogue(
    language: Language, name: str, words: str, called: str
) -> None:
    assert as_spoken(name, words, language) == called


def test_a_finding_that_is_filed_elsewhere_is_told_once_where_the_whole_body_is_examined() -> None:
    record = ExaminationRecord(
        physical={"General Examination": "体温36.7℃。神志清楚，定向力差。", "Abdominal Examination": "腹软，无压痛。"}
    )
    told = "".join(look_up(record, "体格检查", "", True, "我先给您查查体。").texts)
    assert told.count("神志清楚") == told.count("腹软") == 1
