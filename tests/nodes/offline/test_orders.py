"""Orders of examinations in a physician's words: what the rules find named in them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import load_cases
from cases.case import ExaminationRecord, PatientRecord
from cases.text.named_tests import named_tests
from cases.text.ordered_tests import ordered_tests
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.text.words import language_of
from cases.vocabulary import EXAMINATION_ITEMS, Language, word_list
from nodes.offline.hearing import heard_items, heard_tests
from nodes.offline.orders import open_results, ordered_results
from nodes.patients.ai_hospital.examiner import RequestView, items_by_name
from nodes.patients.filed_results import asked_for, look_up

ORDERS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "orders.toml").read_text("utf-8"))
CASES = load_cases()
NAMES = [name for test in word_list("tests")["test"] for name in (test["en"], test["zh"], *test.get("aliases", ()))]
NAMES += [name for term in EXAMINATION_ITEMS.terms for name in term.names]
NAMES += [
    name
    for listed in word_list("listed_tests")["listed"]
    for line in listed["names"].splitlines()
    for name in line.split(" : ")[0].split(", ")
]
BOTH = {
    "en": ("Please get a {} and a {}.", "{}, {}", "I suggest {} and {}."),
    "zh": ("请查{}和{}。", "{}、{}", "建议做{}，{}。"),
}


def by_the_desk(record: ExaminationRecord, words: str, language: Language) -> str:
    """What the technician finds without a model; a picture by its file."""
    items = [name for item in items_by_name(RequestView(words, language)).items for name in asked_for(item, words)]
    filed = [look_up(record, item, "", bool(record.images), words) for item in items]
    return "\n".join(text for each in filed for text in (*each.texts, *(picture.file for picture in each.pictures)))


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("way", ["named", "described"])
@pytest.mark.parametrize("part", ["settled on", "held back"])
def test_orders_in_everyday_words_open_what_they_name(language: Language, part: str, way: str) -> None:
    record = ExaminationRecord.model_validate(ORDERS[language]["record"])
    facts = record_sentences(PatientRecord(chief_complaint="Pain."), record, language)
    held = part == "held back"
    described = ORDERS[language]["described_held_back" if held else "described"]
    orders = described if way == "described" else ORDERS[language]["orders"][held::2]
    missed = []
    for words, wanted in orders:
        by_memory = " ".join(fact.text for fact in open_results(facts, words, language))
        at_desk = by_the_desk(record, words, language)
        if not all(part in by_memory and part in at_desk for part in wanted.split("|")):
            missed.append(words)
    assert len(missed) <= (len(orders) // 10 if held else 0), missed


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_an_order_for_two_things_opens_what_each_opens_alone(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    names = st.sampled_from([name for name in NAMES if name.isascii() == (case.language == "en")])
    one, other = data.draw(names), data.draw(names)
    words = data.draw(st.sampled_from(BOTH[case.language])).format(one, other)
    facts = record_sentences(case.patient, case.examinations, case.language)
    together = open_results(facts, words, case.language)
    at_desk = by_the_desk(case.examinations, words, case.language)
    for name in (one, other):
        assert set(open_results(facts, name, case.language)) <= set(together)
        for text in by_the_desk(case.examinations, name, case.language).splitlines():
            assert text in at_desk


@pytest.mark.parametrize("words", ["建议做血常规，查个血。", "查个血。"])
def test_an_order_for_blood_opens_all_of_it_whatever_was_named_before(words: str) -> None:
    record = ExaminationRecord.model_validate({"auxiliary": {"Blood Test": "血红蛋白74 g/L。血清铁蛋白4 µg/L。"}})
    facts = record_sentences(PatientRecord(chief_complaint="乏力。"), record, "zh")
    assert [fact.text for fact in open_results(facts, words, "zh")] == ["血红蛋白74 g/L。", "血清铁蛋白4 µg/L。"]


def test_the_name_of_a_test_beside_a_draw_of_blood_leaves_the_draw_whole() -> None:
    record = ExaminationRecord.model_validate({"auxiliary": {"Blood Test": "HbA1c 8.4 %. Creatinine 80 µmol/L."}})
    assert by_the_desk(record, "Please get a clotting and a blood work.", "en") == "HbA1c 8.4 %. Creatinine 80 µmol/L."


def test_an_order_for_one_organ_opens_the_sentence_that_tells_of_two_at_once() -> None:
    record = ExaminationRecord.model_validate({"auxiliary": {"Blood Test": "肝肾功能正常。血清铁蛋白4 µg/L。"}})
    for words in ("查一下肝功能。", "查一下肾功能。"):
        assert by_the_desk(record, words, "zh") == "肝肾功能正常。", words


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("Examine the chest and get a CT of the head.", {"Chest Examination", "CT"}),
        ("A CBC and a skin exam.", {"Blood Test", "Skin Examination"}),
        ("An ultrasound exam of the belly.", {"Ultrasound"}),
        ("腹部查体和血常规。", {"Abdominal Examination", "Blood Test"}),
        ("请查血酮。", {"Blood Test"}),
    ],
)
def test_a_region_is_examined_where_the_word_that_says_so_is_not_a_tests_own(words: str, named: set[str]) -> None:
    assert {test.item for test in named_tests(words)} == named
    assert all(test.spellings for test in named_tests(words) if test.item == "Blood Test"), (
        "a test, and not all of them"
    )


def test_a_report_that_names_another_test_of_its_kind_tells_nothing_of_this_one() -> None:
    record = ExaminationRecord.model_validate({"auxiliary": {"Endoscopy": "Gastroscopy: an ulcer. The rest is fine."}})
    assert look_up(record, "colonoscopy", "", False).texts == ()
    assert look_up(record, "EGD", "", False).texts == ("Gastroscopy: an ulcer. The rest is fine.",)


@pytest.mark.parametrize(
    ("words", "opened"),
    [
        ("An MRI of your knee, please.", False),
        ("Get an MRI of the head.", True),
        ("Get an MRI.", True),
        ("An MRI of the knee and a chest CT.", False),
        ("膝关节做个磁共振。", False),
        ("头部磁共振。", True),
    ],
)
@pytest.mark.parametrize("images", [[], [{"file": "head.png", "item": "MRI"}]])
def test_a_picture_of_another_part_of_the_body_is_not_handed_over(words: str, opened: bool, images: list[Any]) -> None:
    report = "An infarct in the left half of the brain." if words.isascii() else "左侧大脑半球梗死。"
    record = ExaminationRecord.model_validate({"auxiliary": {"MRI": report}, "images": images})
    language: Language = "en" if words.isascii() else "zh"
    facts = record_sentences(PatientRecord(chief_complaint="Pain."), record, language)
    assert bool(open_results(facts, words, language)) == bool(by_the_desk(record, words, language)) == opened


def test_a_joint_is_not_another_joint_and_a_leg_has_its_knee() -> None:
    record = ExaminationRecord.model_validate({"auxiliary": {"MRI": "A torn meniscus of the left knee."}})
    opened = {
        part: by_the_desk(record, f"An MRI of the {part}.", "en") != "" for part in ("knee", "leg", "ankle", "hand")
    }
    assert opened == {"knee": True, "leg": True, "ankle": False, "hand": False}


@pytest.mark.parametrize(
    ("words", "orders"),
    [
        ("Have you had a gastroscopy before?", False),
        ("Did they do a gastroscopy at the other hospital?", False),
        ("When was your last gastroscopy?", False),
        ("Have you had breakfast? I'd like a gastroscopy.", True),
        ("Could you have a gastroscopy today?", True),
        ("What did the gastroscopy show?", True),
        ("以前做过胃镜吗？", False),
        ("有没有做过胃镜？", False),
        ("您没做过胃镜，我们做一个胃镜好吗？", True),
        ("上次胃镜结果怎么样？", True),
    ],
)
def test_a_question_for_what_was_done_before_is_no_order(words: str, orders: bool) -> None:
    language: Language = "en" if words.isascii() else "zh"
    report = "Gastroscopy: an ulcer of 1 cm." if words.isascii() else "胃镜：溃疡1cm。"
    record = ExaminationRecord.model_validate({"auxiliary": {"Endoscopy": report}})
    facts = record_sentences(PatientRecord(chief_complaint="Pain."), record, language)
    assert bool(ordered_results(facts, words, language)) == bool(by_the_desk(record, words, language)) == orders


@pytest.mark.parametrize(
    ("words", "orders"),
    [
        ("体重有没有下降？", False),
        ("最近体重怎么样？", False),
        ("饭量、体重这段时间有没有变化？", False),
        ("最近量过体温吗？", False),
        ("体重多少？", True),
        ("称一下体重，看有没有下降。", True),
    ],
)
def test_whether_the_weight_has_changed_is_no_order_to_weigh(words: str, orders: bool) -> None:
    record = ExaminationRecord.model_validate({"physical": {"General Examination": "体温36.4℃，体重51 kg。"}})
    facts = record_sentences(PatientRecord(chief_complaint="咳嗽。"), record, "zh")
    assert bool(ordered_results(facts, words, "zh")) == bool(by_the_desk(record, words, "zh")) == orders


@pytest.mark.parametrize("images", [[], [{"file": "chest.png", "item": "X-ray"}]])
def test_a_mammogram_opens_no_other_x_ray(images: list[Any]) -> None:
    record = ExaminationRecord.model_validate({"auxiliary": {"X-ray": "Chest film: a shadow."}, "images": images})
    facts = record_sentences(PatientRecord(chief_complaint="Pain."), record, "en")
    assert open_results(facts, "A mammogram, please.", "en") == []
    assert by_the_desk(record, "A mammogram, please.", "en") == ""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("查血常规。", "糖化血红蛋白7.4%。"),
        ("A CBC, please.", "Glycated haemoglobin 7.4 %."),
        ("甲功。", "促甲状腺素受体抗体9IU/L。"),
    ],
)
def test_a_value_whose_name_stands_within_anothers_is_not_that_one(words: str, line: str) -> None:
    language: Language = "en" if words.isascii() else "zh"
    record = ExaminationRecord.model_validate({"auxiliary": {"Blood Test": line}})
    facts = record_sentences(PatientRecord(chief_complaint="Pain."), record, language)
    assert open_results(facts, words, language) == [] and by_the_desk(record, words, language) == ""


@pytest.mark.parametrize(
    ("words", "items"),
    [
        ("Bring us some poo, and we'll do a wee test.", {"Stool Test", "Urine Test"}),
        ("化验一下大便和小便。", {"Stool Test", "Urine Test"}),
        ("查一下尿路感染。", set()),
        ("留意大便颜色。", set()),
        ("右侧输尿管扩张。", set()),
    ],
)
def test_a_sample_is_ordered_by_a_word_that_says_so(words: str, items: set[str]) -> None:
    assert {test.item for test in named_tests(words)} == items


def test_an_electrocardiogram_is_no_examination_of_the_chest() -> None:
    record = ExaminationRecord.model_validate({"physical": {"Chest Examination": "Clear lungs."}})
    assert look_up(record, "ECG", "", False).texts == ()


@pytest.mark.parametrize(
    "words",
    [
        "Does your chest hurt when you take a deep breath and blow out?",
        "Have you ever had a camera put down into your stomach?",
        "What's your favourite film of all time?",
        "I don't think you need an echo today.",
        "敲键盘的时候手腕疼吗？",
        "以前插管子看过胃吗？",
        "今天不用做心脏彩超。",
        "I would rather not put you through a blood test today.",
        "An ultrasound works with sound waves.",
        "If it should come back one day, we might think about a CT.",
        "要是以后再疼，我们再考虑做CT。",
        "Let's postpone the colonoscopy until the swelling is down.",
        "A urine test looks for sugar and protein.",
        "Was any X-ray taken after the fall?",
        "刚怀上，CT咱们不做了。",
        "为这点事犯不上抽血。",
        "肠镜先放一放，吃完药再看。",
        "便常规主要看有没有寄生虫。",
        "那回体检，B超有没有说什么？",
        "您抽血的时候晕不晕？",
    ],
)
def test_what_was_or_is_felt_and_what_is_not_to_be_done_is_no_order(words: str) -> None:
    assert ordered_tests(words) == ()


@pytest.mark.parametrize(
    "words",
    ["If it's all right, I'd like a CT of your head.", "如果方便，请做个CT。", "做个CT，主要看看有没有出血。"],
)
def test_a_polite_order_is_one(words: str) -> None:
    assert [test.item for *_, test in ordered_tests(words)] == ["CT"]


def test_the_words_of_one_order_are_not_taken_for_anothers() -> None:
    items = [test.spelling for *_, test in ordered_tests("Bloods, and an ultrasound of your kidneys.")]
    assert items == ["bloods", "ultrasound"]
    assert [test.spelling for *_, test in ordered_tests("Some bloods to see how your liver is.")] == ["liver function"]
    assert {test.spelling for *_, test in ordered_tests("留一份尿做常规和培养吧。")} == {
        "留尿",
        "尿培养",
        "urine sample",
    }


@pytest.mark.parametrize(
    ("words", "language", "opened"),
    [
        ("Let me check your reflexes.", "en", ["Reflexes are brisk."]),
        ("Let me examine your abdomen.", "en", ["The abdomen is soft."]),
        ("I'd like to look at your skin.", "en", ["Skin: no rash."]),
        ("我给您听听心肺。", "zh", ["双肺呼吸音清。"]),
        ("做个神经系统检查", "zh", ["腱反射对称。"]),
    ],
)
def test_a_part_is_examined_of_a_record_that_files_all_that_was_seen_as_one(
    words: str, language: Language, opened: list[str]
) -> None:
    seen = ["The abdomen is soft.", "Reflexes are brisk.", "Skin: no rash.", "双肺呼吸音清。", "腱反射对称。"]
    lines = [line for line in seen if language_of(line) == language]
    facts = [RecordSentence("General Examination", line) for line in lines]
    assert [fact.text for fact in open_results(facts, words, language)] == opened
    own = RecordSentence("Neurological Examination", "Gait is normal.")
    assert open_results([*facts, own], "I'd like to do a neurological examination.", "en") == [own], "filed on its own"


@pytest.mark.parametrize(
    ("words", "language", "opened"),
    [
        ("做个神经系统查体。", "zh", ["四肢肌力5级，病理征阴性。", "神志清楚，对答切题。"]),
        ("我检查一下您的皮肤。", "zh", ["双手背可见红斑、脱屑。"]),
        ("做个妇科检查。", "zh", ["宫颈光滑，双侧附件未及包块。"]),
        ("Let me do a neurological examination.", "en", ["Power is 5/5 in all limbs.", "Babinski sign negative."]),
        ("Let me examine your skin.", "en", ["There are tense blisters on both forearms."]),
    ],
)
def test_a_part_of_a_record_filed_as_one_is_known_by_what_is_found_there_and_not_by_the_name_of_the_part_alone(
    words: str, language: Language, opened: list[str]
) -> None:
    """No finding is called neurological, and a skin examination opened nothing in Chinese."""
    seen = {
        "zh": "体温36.5℃。四肢肌力5级，病理征阴性。神志清楚，对答切题。双手背可见红斑、脱屑。"
        "宫颈光滑，双侧附件未及包块。双肺呼吸音清。",
        "en": "Temperature 36.5 °C. Power is 5/5 in all limbs. Babinski sign negative. "
        "There are tense blisters on both forearms. Murphy sign negative.",
    }[language]
    record = ExaminationRecord(physical={"General Examination": seen})
    facts = record_sentences(PatientRecord(chief_complaint="x"), record, language)
    assert [fact.text for fact in open_results(facts, words, language)] == opened


@pytest.mark.parametrize(
    ("words", "report", "opened"),
    [
        ("Please get an X-ray of the hips.", "Film of the pelvis: the left joint space is narrowed.", True),
        ("Please get an X-ray of the pelvis.", "Both hips: joint spaces are even.", True),
        ("Please get an X-ray of the hips.", "Chest film: clear.", False),
        ("请拍个髋关节X线片。", "骨盆正位片：左侧关节间隙变窄。", True),
        ("Please get an X-ray.", "Coronary angiography shows a stenosis of 70 %. It lies in the left artery.", False),
        ("Please get an angiogram.", "Coronary angiography shows a stenosis of 70 %.", True),
        ("请拍个X线片。", "冠脉造影示前降支狭窄70%。", False),
        ("Please get an X-ray of the hands.", "Both hands: reduced bone density beside the joints.", True),
        ("Please get an X-ray of both breasts.", "Mammography shows grouped calcifications.", True),
    ],
)
def test_an_x_ray_opens_films_of_the_part_and_no_picture_that_is_only_filed_with_them(
    words: str, report: str, opened: bool
) -> None:
    language = language_of(words)
    facts = record_sentences(
        PatientRecord(chief_complaint="x"), ExaminationRecord(auxiliary={"X-ray": report}), language
    )
    told = {fact.text for fact in open_results(facts, words, language)}
    assert told == ({fact.text for fact in facts if fact.is_result} if opened else set())


def test_each_verb_of_examining_reaches_what_stands_after_it() -> None:
    """The second verb stood within the reach of the first, and its part of the body beyond it."""
    heard = heard_items("Let me look inside your mouth and feel the glands in your neck.")
    assert heard == {"Head, Eyes, Ears, Nose and Throat Examination", "Neck Examination"}


def test_a_panel_of_hormones_is_what_it_is_made_of() -> None:
    record = ExaminationRecord(auxiliary={"Blood Test": "卵泡刺激素42 IU/L，雌二醇76 pmol/L。血红蛋白126 g/L。"})
    facts = record_sentences(PatientRecord(chief_complaint="x"), record, "zh")
    opened = open_results(facts, "查一下女性激素六项。", "zh")
    assert [fact.text for fact in opened] == ["卵泡刺激素42 IU/L，雌二醇76 pmol/L。"]


@pytest.mark.parametrize(
    ("words", "physical", "opened"),
    [
        (
            "建议做个肺功能检查。",
            {"General Examination": "双肺呼吸音减弱。肺功能：FEV1/FVC 55%。"},
            ["肺功能：FEV1/FVC 55%。"],
        ),
        ("我给您听听肺部。", {"General Examination": "双肺呼吸音减弱。肺功能：FEV1/FVC 55%。"}, ["双肺呼吸音减弱。"]),
        ("Let me listen to your chest.", {"Chest Examination": "An ECG shows ST elevation."}, []),
        ("Let's get an ECG.", {"Chest Examination": "An ECG shows ST elevation."}, ["An ECG shows ST elevation."]),
    ],
)
def test_a_test_that_is_filed_with_the_physical_examination_is_opened_by_its_name_wherever_and_by_no_other(
    words: str, physical: dict[str, str], opened: list[str]
) -> None:
    language = language_of(words)
    facts = record_sentences(PatientRecord(chief_complaint="x"), ExaminationRecord(physical=physical), language)
    assert [fact.text for fact in open_results(facts, words, language)] == opened


@pytest.mark.parametrize(
    ("words", "items"),
    [
        (
            "Let me look at your lips, your shins and that rash.",
            {"Head, Eyes, Ears, Nose and Throat Examination", "Spine and Limb Examination", "Skin Examination"},
        ),
        ("I will feel your belly, then tap on your knee.", {"Abdominal Examination", "Spine and Limb Examination"}),
        ("Let me look at the skin on your wrists.", {"Skin Examination"}),
        ("I want to look at the sore in your mouth.", {"Head, Eyes, Ears, Nose and Throat Examination"}),
        ("Let me tap on your back.", {"Chest Examination"}),
        ("Get an ultrasound, to look at your kidneys and belly.", {"Ultrasound"}),
        ("我摸摸脖子和腋窝，指甲也让我瞧瞧。", {"Neck Examination", "Chest Examination", "Skin Examination"}),
        ("让我看看腿上的皮疹。", {"Skin Examination"}),
        ("拍个胸片，看看肺。", {"X-ray"}),
        ("我看一眼。", set()),
        ("Let me feel that lump in your neck.", {"Neck Examination"}),
        ("Let me look at your sore knee.", {"Spine and Limb Examination"}),
        ("Is your belly sore? Let me feel.", {"Abdominal Examination"}),
        ("肚子疼得厉害？我按按。", {"Abdominal Examination"}),
        ("您的报告呢？我看看。", set()),
    ],
)
def test_a_list_of_parts_shares_its_verb_and_of_a_thing_on_a_part_the_thing_is_examined(
    words: str, items: set[str]
) -> None:
    assert {test.item for *_, test in ordered_tests(words)} == items


@pytest.mark.parametrize(
    ("words", "opened"),
    [
        ("Send haptoglobin and a cholinesterase.", ["Haptoglobin 0.1 g/L.", "Cholinesterase 780 U/L."]),
        ("Screen her for hepatitis, please.", ["Hepatitis B negative."]),
        ("Check a digoxin level.", []),
        ("Get a dipstick.", ["Clear."]),
    ],
)
def test_of_the_blood_that_is_opened_which_the_long_list_of_tests_names(words: str, opened: list[str]) -> None:
    blood = "Haptoglobin 0.1 g/L. Cholinesterase 780 U/L. Hepatitis B negative."
    record = ExaminationRecord.model_validate({"auxiliary": {"Blood Test": blood, "Urine Test": "Clear."}})
    facts = record_sentences(PatientRecord(chief_complaint="Pain."), record, "en")
    assert [fact.text for fact in open_results(facts, words, "en")] == opened


def test_a_rectal_examination_is_told_where_it_is_filed() -> None:
    by_hand = {"Abdominal Examination": "Soft.", "Urogenital System Examination": "Rectal examination: no mass."}
    record = ExaminationRecord.model_validate({"physical": by_hand})
    assert by_the_desk(record, "I need to do a rectal examination.", "en") == "Rectal examination: no mass."


@pytest.mark.parametrize("words", ["Has he had hepatitis?", "有没有乙肝、流感？", "Do you take digoxin?"])
def test_an_illness_or_a_medicine_is_no_test_by_its_name_alone(words: str) -> None:
    assert ordered_tests(words) == ()


@pytest.mark.parametrize("words", ["Based on your CT results, you need rest.", "根据胸部CT结果，您需要休息。"])
def test_results_that_something_is_concluded_from_are_not_ordered(words: str) -> None:
    assert ordered_tests(words) == ()


def test_an_ecg_orders_no_examination_of_the_chest_where_items_are_ordered_as_wholes() -> None:
    assert heard_items("Get an ECG and a chest film.") == {"X-ray"}
    assert [test.spelling for test in named_tests("ECG")] == ["ecg"]


@pytest.mark.parametrize(
    ("words", "opened"),
    [
        ("Let me look at your tongue.", ["Tongue pale, pulse wiry."]),
        ("Open wide and let me look at your throat.", ["Throat not red."]),
        ("Let me feel your groin.", ["A hernia of the right groin."]),
        ("I will feel under your jaw.", ["The neck is supple."]),
    ],
)
def test_what_is_filed_now_here_now_there_is_found_where_the_record_tells_of_it(words: str, opened: list[str]) -> None:
    """A tongue stood with the pulse, a groin with the belly; a throat is no gastroscopy's mucosa."""
    physical = {
        "General Examination": "Tongue pale, pulse wiry.",
        "Abdominal Examination": "A hernia of the right groin.",
        "Neck Examination": "The neck is supple.",
        "Head, Eyes, Ears, Nose and Throat Examination": "Throat not red.",
        "Urogenital System Examination": "Bladder empty.",
    }
    record = ExaminationRecord(physical=physical, auxiliary={"Endoscopy": "Gastroscopy: the mucosa is smooth."})
    facts = record_sentences(PatientRecord(chief_complaint="Pain."), record, "en")
    assert [fact.text for fact in open_results(facts, words, "en")] == opened
    assert {*by_the_desk(record, words, "en").splitlines()} == {*opened}


def test_a_picture_is_of_the_parts_that_its_own_sentence_names() -> None:
    """Look at my nose: the scan of the eye in the next sentence was taken for one of another part."""
    record = ExaminationRecord(auxiliary={"Ultrasound": "B-scan of the right eye: a membrane."})
    facts = record_sentences(PatientRecord(chief_complaint="x"), record, "en")
    assert open_results(facts, "Keep still and look at my nose. A B-scan after that.", "en")


@pytest.mark.parametrize(
    ("item", "report", "opens", "opens_not"),
    [
        ("Pathological Examination", "Renal biopsy: IgA deposits.", "a kidney biopsy", "a skin biopsy"),
        ("Pathological Examination", "Histology: ductal carcinoma.", "a breast biopsy", "a lung biopsy"),
        ("Pathological Examination", "乳腺穿刺活检：浸润性癌。", "乳腺活检", "肺活检"),
        ("Pathological Examination", "病理：（左乳腺）浸润性癌。", "活检", "肺活检"),
        ("Pathological Examination", "Excision of a node: Hodgkin.", "a lymph node biopsy", "a skin biopsy"),
        ("Endoscopy", "Ulcer of the antrum.", "a gastroscopy", "a colonoscopy"),
        ("Endoscopy", "胃窦溃疡。", "胃镜", "肠镜"),
        ("MRI", "Lacunar infarct in the left thalamus.", "an MRI of the brain", "a knee MRI"),
        ("MRI", "左侧基底节区腔隙性梗死。", "颅脑磁共振", "膝关节磁共振"),
        ("MRI", "Torn medial meniscus.", "an MRI of the knee", "a head MRI"),
        ("X-ray", "Fracture of the distal radius.", "a wrist X-ray", "a chest X-ray"),
        ("X-ray", "Consolidation of the right lower lobe.", "a chest X-ray", "an X-ray of the hand"),
        ("Ultrasound", "Gallstones with a thick wall.", "an abdominal ultrasound", "an echocardiogram"),
        ("Ultrasound", "A solid mass of the left breast.", "a breast ultrasound", "an ultrasound of the lungs"),
        ("Ultrasound", "左乳低回声结节。", "乳腺彩超", "甲状腺彩超"),
    ],
)
def test_a_picture_or_tissue_of_another_part_is_not_opened(item: str, report: str, opens: str, opens_not: str) -> None:
    record, language = ExaminationRecord(auxiliary={item: report}), language_of(report)
    facts = record_sentences(PatientRecord(chief_complaint="x"), record, language)
    sentence = "请做{}。" if language == "zh" else "I would like to order {}."
    for words, opened in ((sentence.format(opens), True), (sentence.format(opens_not), False)):
        assert bool(open_results(facts, words, language)) == bool(by_the_desk(record, words, language)) == opened, words


@pytest.mark.parametrize(
    ("picture", "report", "words", "opened"),
    [
        ("A mass of the left breast.", "Invasive carcinoma, grade 2.", "Please do a lung biopsy.", False),
        ("A mass of the left breast.", "Invasive carcinoma, grade 2.", "Please do a breast biopsy.", True),
        ("A mass of the left breast.", "Invasive carcinoma, grade 2.", "Please do a biopsy.", True),
        ("A nodule of the lung.", "Invasive carcinoma, grade 2.", "Please do a lung biopsy.", True),
        ("", "Invasive carcinoma, grade 2.", "Please do a lung biopsy.", True),
        ("左乳低回声结节。", "浸润性癌，2级。", "做肺活检。", False),
        ("左乳低回声结节。", "浸润性癌，2级。", "做乳腺活检。", True),
    ],
)
def test_tissue_of_no_named_organ_is_of_one_that_pictures_show(
    picture: str, report: str, words: str, opened: bool
) -> None:
    results = {"Pathological Examination": report, **({"Ultrasound": picture} if picture else {})}
    record, language = ExaminationRecord(auxiliary=results), language_of(report)
    facts = record_sentences(PatientRecord(chief_complaint="x"), record, language)
    told = [fact.text for fact in open_results(facts, words, language)]
    assert (report in told) == (report in by_the_desk(record, words, language)) == opened


@pytest.mark.parametrize(
    "words",
    [
        "You have a fibroadenoma, the ultrasound shows it.",
        "Your CT scan revealed a small stone.",
        "On the X-ray I can see a fracture.",
        "You have pneumonia, as seen on the chest X-ray.",
        "According to the MRI, you have a slipped disc.",
        "Good news, the mammogram was clear.",
        "The results of your blood test are back.",
        "超声显示您有胆囊结石。",
        "您的胸部X线检查结果正常。",
        "从CT上看，您是肺炎。",
        "您得的是纤维腺瘤，超声看得很清楚。",
        "血常规结果出来了，白细胞偏高。",
    ],
)
def test_what_a_test_has_shown_is_told_and_not_ordered(words: str) -> None:
    assert heard_tests(words) == ()


@pytest.mark.parametrize(
    ("words", "ordered"),
    [
        ("Your X-ray was normal, so let's get a CT.", {"CT"}),
        ("The ultrasound shows a mass, we need a biopsy.", {"Pathological Examination"}),
        ("A CT scan can confirm it.", {"CT"}),
        ("The X-ray is normal but I want a CT.", {"CT"}),
        ("Given your symptoms you should have a chest CT.", {"CT"}),
        ("What did the ultrasound show?", {"Ultrasound"}),
        ("Let's get a chest X-ray, the last one was normal.", {"X-ray"}),
        ("超声显示肿块，需要做个活检。", {"Pathological Examination"}),
        ("胸片正常，再做个CT吧。", {"CT"}),
        ("超声可以看清楚有没有结石，做一个吧。", {"Ultrasound"}),
        ("我看得安排个胃镜。", {"Endoscopy"}),
    ],
)
def test_beside_what_a_test_has_shown_another_is_ordered(words: str, ordered: set[str]) -> None:
    assert {test.item for *_, test in heard_tests(words)} == ordered


@pytest.mark.parametrize(
    ("words", "language", "opened"),
    [
        ("Please check the calcium.", "en", ["Serum calcium is 2.4 mmol/L."]),
        ("Electrolytes, please.", "en", ["Serum calcium is 2.4 mmol/L."]),
        ("Get VGCC antibodies.", "en", ["Voltage-gated calcium channel antibodies: raised."]),
        ("查个血钙。", "zh", ["血钙2.4mmol/L。"]),
        ("查钙通道抗体。", "zh", ["电压门控钙通道抗体阳性。"]),
        ("An HIV test, please.", "en", ["HIV antibody negative."]),
    ],
)
def test_an_order_of_a_substance_opens_no_antibody_against_its_channel(
    words: str, language: Language, opened: list[str]
) -> None:
    results = [
        "Voltage-gated calcium channel antibodies: raised.",
        "Serum calcium is 2.4 mmol/L.",
        "HIV antibody negative.",
        "电压门控钙通道抗体阳性。",
        "血钙2.4mmol/L。",
    ]
    facts = [RecordSentence("Blood Test", line) for line in results if language_of(line) == language]
    assert [fact.text for fact in open_results(facts, words, language)] == opened
