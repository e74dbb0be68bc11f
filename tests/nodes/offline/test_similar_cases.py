"""What an offline doctor makes of similar cases: by the whole picture, and never against what is known."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from cases.text.words import has_chinese
from cases.vocabulary import (
    AUXILIARY_ITEMS,
    PHYSICAL_ITEMS,
    SECOND_LEVEL,
    SUB_DEPARTMENTS,
    Language,
    data_file,
    label,
)
from nodes.offline.chart_signs import urgency
from nodes.offline.departments import has_few_words
from nodes.offline.places import is_called_for, is_of_the_skin, sites
from nodes.offline.votes import AMONG, Evidence, majority, orders, weights
from nodes.offline.whole_picture import KEPT, clinics, seen_now, seen_whole, sorted_replies
from nodes.state.chart import Chart, Turn
from nodes.state.decisions import Triage
from nodes.state.stage import Recalled
from nodes.workflow.stages import STAGES, read_chart
from prompts import laid_over, load_words
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import findings

DIAGNOSIS = STAGES["diagnosis"]
LONG = "For three weeks now I have not felt at all the way I used to feel."
OPEN: Chart = read_chart(findings(), "diagnosis", None)  # type: ignore[arg-type]


def case(name: str, **more: Any) -> RememberedCase:
    return RememberedCase.model_validate({"id": name, "verified": True, "diagnosis": [name], **more})


def chart_of(results: dict[str, str] | None = None, **door: Any) -> Chart:
    return replace(OPEN, presentation=OPEN.presentation.model_copy(update=door), results=results or {})


def diagnosed(chart: Chart, *cases: RememberedCase) -> str:
    near = [Neighbour(each, 0.9 - place / 10) for place, each in enumerate(cases)]
    return majority(Evidence(DIAGNOSIS, chart, near)).listed()[0]


@pytest.mark.parametrize(
    ("chart", "contradicted"),
    [
        (chart_of(sex="male"), case("Uterine leiomyoma", sex="female")),
        (chart_of(sex="female"), case("Benign prostatic hyperplasia", sex="male")),
        (chart_of(sex="male"), case("左乳腺癌", sex="female", language="zh")),
        (chart_of(sex="male"), case("Severe pre-eclampsia", sex="female")),
        (chart_of(age_years=40), case("Neonatal jaundice", age_years=0.02)),
        (chart_of(age_years=0.01), case("Intussusception", age_years=0.8)),
        (chart_of({"X-ray": "The lungs are clear. No pneumothorax."}), case("Pneumothorax")),
        (chart_of({"Blood Test": "未见白血病。"}), case("白血病", language="zh")),
        (chart_of({"X-ray": "Fluid to the fourth rib on the right."}), case("Pneumothorax (left)")),
        (
            chart_of({"X-ray": "The right lung is clear, and there is no fluid. Air on the left."}),
            case("Pleurisy (right)"),
        ),
        (chart_of({"X-ray": "左侧胸腔积液。右肺未见异常。"}), case("右侧气胸", language="zh")),
        (chart_of({"Ultrasound": "右侧精索静脉无扩张。"}), case("左侧精索静脉曲张", language="zh")),
    ],
)
def test_a_diagnosis_never_contradicts_sex_age_or_a_result_that_was_read_out(
    chart: Chart, contradicted: RememberedCase
) -> None:
    # What some of them presuppose.
    told = (
        "A lump is felt, the period late, perhaps a pregnancy. Uterus, prostate, bowels. 乳房有肿块，怀孕，白细胞高。"
    )
    spoken: dict[str, Any] = {"language": contradicted.language, "present_illness": told}
    gout = case("Gout", language=contradicted.language)
    here = replace(chart, presentation=chart.presentation.model_copy(update=spoken))
    assert diagnosed(chart_of(**spoken), contradicted, gout) == contradicted.id
    assert diagnosed(here, contradicted, gout) == "Gout"
    assert diagnosed(here, contradicted).startswith("Undetermined"), "nothing else is known"


@pytest.mark.parametrize(
    ("disease", "results", "is_named"),
    [
        ("Influenza A", "Rapid antigen test for HRP-2 positive; G6PD normal.", False),
        ("Falciparum malaria", "Rapid antigen test for HRP-2 positive; G6PD normal.", True),
        ("Falciparum malaria", "Plasmodium PCR positive, HRP-2 negative.", True),
        ("Falciparum malaria", "No plasmodium seen on the smear.", False),
        ("Falciparum malaria", "HRP-2 not tested.", True),
        ("Hyperthyroidism", "TSH 0.01 mIU/L, free T3 normal.", True),
        ("Hyperthyroidism", "TSH normal.", False),
        ("Bullous pemphigoid", "Presence of desmoglein antibodies.", False),
    ],
)
def test_a_named_test_proves_or_denies_its_disease_and_no_other(disease: str, results: str, is_named: bool) -> None:
    told = {"present_illness": "I have had blisters since I came back from Africa."}
    named = diagnosed(chart_of({"Blood Test": results}, **told), case(disease), case("Gout"))
    assert (named == disease) == is_named


def test_a_chinese_test_denies_its_disease() -> None:
    told: dict[str, Any] = {"language": "zh", "chief_complaint": "手指关节疼了两个月。"}
    near = case("类风湿关节炎", language="zh"), case("痛风", language="zh")
    assert diagnosed(chart_of(**told), *near) == "类风湿关节炎"
    assert diagnosed(chart_of({"Blood Test": "类风湿因子、抗CCP抗体均阴性。"}, **told), *near) == "痛风"


@pytest.mark.parametrize(
    ("diagnosis", "language", "silent", "told"),
    [
        (
            "Multiple bone metastases",
            "en",
            "My knee hurts. No lump, no swelling.",
            "A tumor was found in a bone of my knee.",
        ),
        ("宫颈高级别鳞状上皮内病变", "zh", "右下肚子突然剧痛。", "宫颈长了个包块。"),
        ("Delayed hemolytic transfusion reaction", "en", "Fever for four days", "Fever since I had a transfusion"),
        ("外伤性前房积血", "zh", "左眼突然看东西发暗。", "羽毛球打中了眼睛。"),
        ("他克莫司中毒", "zh", "一直吃降脂的药，没力气。", "一直吃他克莫司，手抖。"),
        ("Phenytoin toxicity", "en", "I walk as if drunk.", "I take phenytoin and walk as if drunk."),
        ("Bacterial keratitis of the right eye", "en", "My left eye hurts.", "My right eye hurts."),
        ("Ectopic pregnancy", "en", "I have had no period trouble, no fever.", "I am pregnant."),
        ("输卵管妊娠破裂", "zh", "下腹痛，无停经。", "停经40天，下腹痛。"),
        ("输卵管妊娠破裂", "zh", "同房后出血，一直避孕。", "停经40天，下腹痛。"),
        (
            "Separation anxiety disorder",
            "en",
            "She hardly eats, her belly is full.",
            "She cries and is afraid of school.",
        ),
        ("Gastric ulcer", "en", "Full after half a meal. No black stools.", "Black stools for two days."),
        ("Simple cyst of the left ovary", "en", "I lose water when I cough.", "A smooth mass is felt in my pelvis."),
        ("Thyroid nodule", "en", "A lump in my breast has been growing.", "A lump in my thyroid has been growing."),
        ("Intussusception", "en", "He swells, his kidneys are large.", "Blood comes from his bowels."),
        ("带状疱疹", "zh", "大腿酸痛、没力气六天了。", "腰上一串水疱，火烧一样疼。"),
        ("Kawasaki disease", "en", "He has been swelling and has had no fever.", "He has had fever for six days."),
        (
            "Simple cyst of the left ovary",
            "en",
            "Body mass index 28, no growth in the culture.",
            "A mass in my pelvis.",
        ),
        ("Lung adenocarcinoma", "en", "Cough, white cells 6.4, a normal marrow.", "Cough, a mass in the lung."),
        ("Chronic myeloid leukemia", "en", "A lump in my neck.", "Something is wrong with my white cells."),
        (
            "Bipolar I disorder, current episode manic",
            "en",
            "Two years awake at night, irritable, my heart is racing.",
            "She hardly sleeps, talks without pause and is elated.",
        ),
        ("Bullous pemphigoid", "en", "Red blotches on my skin that itch.", "Itching blisters on my skin."),
        (
            "Polycystic ovary syndrome",
            "en",
            "My periods are heavy and long.",
            "My periods are irregular, and I skip some.",
        ),
        ("Primary dysmenorrhea", "en", "My periods are heavy and long.", "Cramps with every period."),
        ("Primary membranous nephropathy", "en", "Swollen legs, albumin 40 g/L.", "Swollen legs. Biopsy was taken."),
        ("类风湿关节炎", "zh", "髋部和肩膀酸痛僵硬。", "双手指关节肿痛，晨僵。"),
        (
            "Acute decompensated heart failure",
            "en",
            "My legs have been swelling for two weeks.",
            "My legs have been swelling for two weeks, and I am breathless.",
        ),
        ("Functional dyspepsia", "en", "A gnawing pain after meals.", "A gnawing pain, and gastroscopy was normal."),
        ("原发性醛固酮增多症", "zh", "血压高，没有不舒服。", "血压高，腿软站不住。"),
    ],
)
def test_what_a_diagnosis_presupposes_has_been_told(diagnosis: str, language: Language, silent: str, told: str) -> None:
    """Of two patients, one was poisoned by the drug of the other, and a girl of 19 had a woman's breast cancer."""
    for words, named in ((silent, False), (told, True)):
        chart = chart_of(language=language, chief_complaint=words, present_illness="")
        assert (diagnosed(chart, case(diagnosis, language=language)) == diagnosis) == named


@pytest.mark.parametrize(
    ("diagnosis", "complaint", "fits"),
    [
        ("Influenza A", "For two days I have had fever and a cough.", True),
        ("Influenza A", "For three weeks I have had fever and a cough.", False),
        ("Influenza A", "I have had a cough for months, and fever since yesterday.", True),
        ("Influenza A", "I have fever and a cough.", True),
        ("流行性感冒", "发热咳嗽一个多月了。", False),
        ("流行性感冒", "发热咳嗽三天。", True),
        ("Acute pericoronitis", "For three months I have had a dull pain when I bite.", False),
        ("Acute decompensated heart failure", "Over the last two months I have become breathless.", False),
        ("Acute decompensated heart failure", "I have been breathless for two weeks.", True),
        ("急性髓系白血病", "白细胞高，乏力三个月。", True),
        ("Age-related cataract of both eyes", "A curtain has been before my eye for four days.", False),
        ("Age-related cataract of both eyes", "My sight has been misty for two years.", True),
        ("Traumatic cataract", "A ball hit my eye, and my sight has been misty for four days.", True),
        ("慢性鼻炎", "流鼻涕三天。", False),
        ("慢性鼻炎", "流鼻涕半年多，这三天加重。", True),
        ("Optic neuritis of the right eye", "Three hours ago a ball hit my right eye, and I see badly.", False),
        ("Traumatic iritis", "Three hours ago a ball hit my right eye, and I see badly.", True),
        ("Optic neuritis of the right eye", "A year ago a ball hit my right eye, and now I see badly.", True),
    ],
)
def test_a_diagnosis_fits_the_time_and_the_way_of_the_complaint(diagnosis: str, complaint: str, fits: bool) -> None:
    language: Language = "zh" if diagnosis > "z" else "en"
    chart = chart_of(language=language, chief_complaint=complaint, present_illness="")
    assert (diagnosed(chart, case(diagnosis, language=language)) == diagnosis) == fits


def test_where_the_complaint_tells_no_time_the_first_reply_does() -> None:
    since = chart_of(chief_complaint="Fever and a cough", present_illness="")
    told = [Turn(speaker="doctor", text="Since when?"), Turn(speaker="patient", text="It began 3 weeks ago.")]
    assert diagnosed(since, case("Influenza A")) == "Influenza A"
    assert diagnosed(replace(since, dialogue=told), case("Influenza A")).startswith("Undetermined")


def test_a_result_that_affirms_a_disease_elsewhere_does_not_deny_it() -> None:
    chart = chart_of({"X-ray": "No pneumothorax on the right. A pneumothorax on the left."})
    assert diagnosed(chart, case("Pneumothorax"), case("Gout")) == "Pneumothorax"


def test_results_speak_for_a_case_that_the_complaint_did_not_find() -> None:
    recalled = [Neighbour(case("Whooping cough", symptoms="A cough in company."), 0.8)]
    further = Neighbour(
        case(
            "Ketoacidosis",
            physical_examination={},
            auxiliary_examination={"Blood Test": "Glucose 28 mmol/L, pH 7.05, ketones strongly positive."},
        ),
        0.3,
    )
    chart = chart_of({"Blood Test": "The glucose is 31 mmol/L, the pH 7.08, and ketones are positive."})
    seen = seen_whole(chart, recalled, lambda department, k: [*recalled, further], "all-MiniLM-L6-v2")
    assert [each.aside for each in seen] == ["", "case"], "what prompts show comes first, each case once"
    assert majority(Evidence(DIAGNOSIS, chart, seen)).listed() == ["Ketoacidosis"]
    assert majority(Evidence(DIAGNOSIS, chart, recalled)).listed() == ["Whooping cough"]


@pytest.mark.parametrize(
    "complaint", ["突发性头颈部剧烈疼痛，伴恶心", "头疼两天", "头昏沉感持续1月", "头痛", "反复左侧肢体抽动"]
)
def test_what_comes_from_the_head_is_examined_there(complaint: str) -> None:
    assert sites(chart_of(language="zh", chief_complaint=complaint))[0]["examination"] == "Neurological Examination"


@pytest.mark.parametrize(
    ("language", "complaint", "story", "examination"),
    [
        ("zh", "病程10小时，急性起病", "无咳嗽，下腹部疼痛，伴发热。", "Abdominal Examination"),
        ("zh", "未能休息后完全缓解", "有糖尿病史。反复心前区闷痛，没有呕吐。", "Chest Examination"),
        ("en", "Fatigue and malaise", "No cough, no vomiting. Two days ago the calves began to hurt.", None),
        ("en", "Fatigue and malaise", "No cough. Two days ago his knee began to swell.", "Spine and Limb Examination"),
        ("en", "My son has had a weeping swelling on his head.", "", "Skin Examination"),
    ],
)
def test_where_a_complaint_names_no_place_the_first_that_is_told_and_not_denied_does(
    language: Language, complaint: str, story: str, examination: str | None
) -> None:
    chart = chart_of(language=language, chief_complaint=complaint, present_illness=story)
    assert [site["examination"] for site in sites(chart)] == ([examination] if examination else [])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_stock_phrases_of_a_patient_are_no_part_of_the_picture(language: Any) -> None:
    words = load_words("consultation/words", language)["patient"]
    question = Turn(speaker="doctor", text={"en": "Do you smoke?", "zh": "您抽烟吗？"}[language])
    told = Turn(speaker="patient", text={"en": "I smoke.", "zh": "我抽烟。"}[language])
    silent = [Turn(speaker="patient", text=words[phrase]) for phrase in ("nothing", "untold", "unclear", "all_said")]
    asked = [question, told, *(turn for phrase in silent for turn in (question, phrase))]
    chart = replace(chart_of(language=language), dialogue=asked)
    assert sorted_replies(chart) == ([told.text], [])


def test_stock_phrases_are_those_of_the_prompts_in_use(tmp_path: Path) -> None:
    ours = Path(str(files("prompts"))) / "en" / "consultation" / "words.toml"
    said = load_words("consultation/words", "en")["patient"]["untold"]
    (own := tmp_path / "en" / "consultation").mkdir(parents=True)
    (own / "words.toml").write_text(ours.read_text("utf-8").replace(said, "Search me."), "utf-8")
    asked = [Turn(speaker="doctor", text="Do you smoke?"), Turn(speaker="patient", text="Search me.")]
    chart = replace(chart_of(language="en"), dialogue=asked)
    assert sorted_replies(chart) == (["Search me."], [])
    with laid_over(tmp_path):
        assert sorted_replies(chart) == ([], [])


def test_the_diagnosis_of_a_distant_case_is_not_taken() -> None:
    chart = chart_of({"X-ray": "A fracture."})
    near, distant = Neighbour(case("Gout"), 0.5, 0.3, 0.3), Neighbour(case("Gout"), 0.5, 0.3, 0.2)
    assert majority(Evidence(DIAGNOSIS, chart, [near])).listed() == ["Gout"]
    assert majority(Evidence(DIAGNOSIS, chart, [distant])).listed()[0].startswith("Undetermined")
    words_alone = Neighbour(case("Gout"), 0.5, 0.4)
    for seat in (0, 1, 2, 3):  # a case whose findings are unlike the patient's, or unknown
        assert majority(Evidence(DIAGNOSIS, chart, [words_alone], seat=seat)).listed()[0].startswith("Undetermined")
    assert majority(Evidence(DIAGNOSIS, chart_of(), [words_alone])).listed()[0].startswith("Undetermined")
    assert majority(Evidence(STAGES["treatment"], chart, [distant])).listed(), "what is done for all is done"


@pytest.mark.parametrize(("seat", "told", "found"), [(4, 0.1, 0.25), (5, 0.37, 0.0)])
def test_who_looks_at_words_or_findings_alone_wants_more_of_them_to_take_a_diagnosis(
    seat: int, told: float, found: float
) -> None:
    """Of acute cholecystitis, one said bone metastases, and one the reaction to a transfusion."""
    chart, gout = chart_of({"X-ray": "A fracture."}), case("Gout")
    for similar, named in ((1.0, "Undetermined"), (1.2, "Gout")):
        near = Neighbour(gout, 0.5, told * similar, found * similar)
        assert majority(Evidence(DIAGNOSIS, chart, [near], seat=seat)).listed()[0].startswith(named)


def test_a_diagnosis_is_in_the_patients_language_if_a_similar_case_is() -> None:
    english, chinese = case("Gout"), case("痛风", language="zh")
    assert diagnosed(chart_of(language="zh"), english, chinese) == "痛风"
    assert diagnosed(OPEN, chinese, english) == "Gout"
    assert diagnosed(OPEN, chinese) == "痛风", "where there is no other"


SWELLING = ("Ophthalmology", "Internal Medicine")
DENTAL, EAR = ("Dentistry", "Emergency Medicine"), ("Medical Imaging", "Otolaryngology")
PELVIC = {"chief_complaint": "A dragging pain in my pelvis."}


@pytest.mark.parametrize(
    ("department", "person", "other"),
    [
        ("Pediatrics", {"age_years": 79}, {"age_years": 8}),
        ("Obstetrics and Gynecology", {"sex": "male", **PELVIC}, PELVIC),
    ],
)
def test_nobody_is_referred_to_a_department_for_another_age_or_sex(
    department: str, person: dict[str, Any], other: dict[str, Any]
) -> None:
    near = [Neighbour(case("near", department=department), 0.9), Neighbour(case("far", department="Surgery"), 0.1)]
    referred = {
        key: next(iter(weights(Evidence(STAGES["referral.level1"], chart_of(**who), near))))
        for key, who in (("person", person), ("other", other))
    }
    assert referred == {"person": "Surgery", "other": department}


@pytest.mark.parametrize(
    ("complaint", "department"),
    [("I have slept badly for years.", "Psychology"), ("Suddenly I cannot breathe.", "Emergency Medicine")],
)
def test_nobody_whose_complaint_is_not_urgent_is_sent_to_the_emergency_department(
    complaint: str, department: str
) -> None:
    cases = [case("1", department="Emergency Medicine"), case("2", department="Psychology")]
    near = [Neighbour(each, 0.9 - place / 10) for place, each in enumerate(cases)]
    decision = majority(Evidence(STAGES["referral.level1"], chart_of(chief_complaint=f"{complaint} {LONG}"), near))
    assert decision.choices() == {department}


@pytest.mark.parametrize(
    ("language", "complaint", "called_for", "not_called_for"),
    [
        ("en", "I have lain awake at night for two years.", [], ["Endoscopy", "Pathological Examination"]),
        ("en", "Altered mental status", ["CT"], ["Endoscopy", "Pathological Examination"]),
        (
            "en",
            "Watery diarrhea. No cough, chest pain or rash.",
            ["Stool Test"],
            ["Chest Examination", "Skin Examination"],
        ),
        ("en", "A hard lump in my right breast", ["X-ray", "Pathological Examination"], ["Abdominal Examination"]),
        ("en", "Difficulty swallowing", ["Endoscopy"], ["Stool Test"]),
        ("zh", "声音嘶哑一年，无咳嗽。", ["Endoscopy"], ["Chest Examination"]),
        ("zh", "孕足月，无宫缩阵痛", ["Ultrasound"], ["Spine and Limb Examination"]),
        ("en", "My ring finger is swollen and hurts.", ["X-ray"], ["Chest Examination", "Abdominal Examination"]),
        ("en", "Both my ankles are swollen.", ["Chest Examination", "Abdominal Examination"], []),
        ("en", "Weakness in the right arm", ["Spine and Limb Examination"], ["Chest Examination", "Urine Test"]),
        ("en", "I feel weak.", ["Chest Examination", "Urine Test"], []),
        ("en", "My eye is full of yellowish matter.", ["Ultrasound"], ["Abdominal Examination"]),
        ("en", "My foot slaps when I am tired.", ["MRI"], ["Abdominal Examination"]),
        ("en", "Cramps with every bleeding", ["Urogenital System Examination"], ["Skin Examination"]),
        ("zh", "干咳六天，夜里咳得睡不着。", ["X-ray"], ["Neurological Examination"]),
        ("zh", "孩子一天比一天黄，连脚底都黄了。", ["Abdominal Examination"], ["Spine and Limb Examination"]),
        ("en", "My leg hurts since a trauma.", ["X-ray"], ["Chest Examination", "Abdominal Examination"]),
        ("en", "A large wound", ["Chest Examination", "Abdominal Examination"], ["Stool Test"]),
        ("en", "My arm is stiff. Diabetes.", ["Skin Examination", "Chest Examination"], []),
        ("zh", "吃了鸡腿以后肚子疼。", ["Abdominal Examination"], ["Spine and Limb Examination"]),
        ("zh", "胸口憋得慌，咽喉痒，有点咳嗽。", ["Chest Examination"], ["Skin Examination"]),
        ("zh", "皮肤和眼睛都变黄了，肚子疼。", ["Abdominal Examination"], ["Pathological Examination"]),
        ("zh", "左边的手脚都没什么力气，嘴巴干。", ["Neurological Examination"], ["Chest Examination"]),
        ("zh", "嗓子里有东西卡着三年多了。", ["Endoscopy"], ["Abdominal Examination"]),
        ("zh", "嗓子疼两天。", ["Neck Examination"], ["Endoscopy"]),
        ("zh", "脖子上长出个不疼的疙瘩。", ["Neck Examination"], ["Abdominal Examination"]),
        ("en", "I pass water in a weak stream.", ["Urogenital System Examination"], ["Chest Examination"]),
        ("en", "Itching scaly blotches on my knees and elbows", ["Skin Examination"], ["MRI", "CT"]),
        ("zh", "我胳膊肘和膝盖反复起红斑、掉白屑，又痒。", ["Skin Examination"], ["MRI", "CT"]),
    ],
)
def test_what_no_symptom_calls_for_is_not_taken_over_from_similar_cases(
    language: Language, complaint: str, called_for: list[str], not_called_for: list[str]
) -> None:
    """Sleeplessness came to a gastroscopy with biopsies, as three of five similar cases had been of the stomach."""
    items = [*called_for, *not_called_for]
    similar = [
        case(
            str(number),
            physical_examination={item: "-" for item in items if item in PHYSICAL_ITEMS.names},
            auxiliary_examination={item: "-" for item in items if item in AUXILIARY_ITEMS.names},
        )
        for number in range(5)
    ]
    chart = chart_of(language=language, chief_complaint=complaint, present_illness="")
    near = [Neighbour(each, 0.5) for each in similar]
    voted = {
        name
        for stage in ("physical", "auxiliary")
        for name in weights(Evidence(STAGES[f"history_taking.{stage}"], chart, near))
    }
    assert {*called_for} <= voted and not voted & {*not_called_for}


@pytest.mark.parametrize(
    ("language", "complaint", "expected", "not_expected"),
    [
        ("en", "A cough for three weeks.", "X-ray", "CT"),
        ("en", "A dull ache in my belly since Tuesday.", "Ultrasound", "CT"),
        ("en", "Headaches every morning for two months.", "Blood Test", "CT"),
        ("en", "A dull ache in my belly, and now a cough.", "Blood Test", "X-ray"),
        ("en", "My right hand has had a tremor for a year.", "MRI", "CT"),
        ("zh", "走路拖着步子有一年了。", "MRI", "CT"),
        ("zh", "胃痛两个月，吃一点就饱。", "Endoscopy", "CT"),
    ],
)
def test_the_gentle_picture_of_the_one_place_and_what_a_sign_needs_are_ordered_though_no_similar_case_had_them(
    language: Language, complaint: str, expected: str, not_expected: str
) -> None:
    similar = case("a", language=language, auxiliary_examination={"Blood Test": "Normal."})
    chart = chart_of(chief_complaint=complaint, present_illness="", language=language)
    ordered = orders(
        Evidence(STAGES["history_taking.auxiliary"], chart, [Neighbour(similar, 0.9)], AUXILIARY_ITEMS.names)
    )
    assert expected in ordered and not_expected not in ordered


@pytest.mark.parametrize(
    ("language", "words", "referred"),
    [
        ("zh", "反复喘息，绝经后女性。", "Internal Medicine"),
        ("zh", "患儿反复喘息。", "Pediatrics"),
        ("en", "Wheezing for years", "Internal Medicine"),
        ("en", "My little daughter wheezes", "Pediatrics"),
    ],
)
def test_a_patient_of_unknown_age_comes_to_paediatrics_if_the_parents_speak(
    language: Language, words: str, referred: str
) -> None:
    near = [
        Neighbour(case("near", department="Pediatrics"), 0.9),
        Neighbour(case("far", department="Internal Medicine"), 0.1),
    ]
    chart = chart_of(language=language, chief_complaint=words, present_illness=LONG, age_years=None)
    assert next(iter(weights(Evidence(STAGES["referral.level1"], chart, near)))) == referred


def test_who_carries_a_child_is_referred_to_obstetrics() -> None:
    """With a headache and flickering eyes in the 35th week, a woman was sent to the ophthalmologists for glaucoma."""
    near = [
        Neighbour(case("eye", department="Ophthalmology"), 0.6),
        Neighbour(case("birth", department="Obstetrics and Gynecology"), 0.4),
    ]
    for complaint, department in (("my baby is due in five weeks", "Obstetrics and Gynecology"), ("", "Ophthalmology")):
        chart = chart_of(
            chief_complaint=f"Bad headache and flickering eyes, {complaint}. {LONG}", sex="female", age_years=36
        )
        assert next(iter(weights(Evidence(STAGES["referral.level1"], chart, near)))) == department


@pytest.mark.parametrize(
    ("complaint", "sex", "radiated"),
    [
        ("I am 30 weeks pregnant and my belly hurts since last week.", "female", False),
        ("停经37+5周，阴道流液1小时，下腹一阵阵地痛。", None, False),
        ("My belly hurts since last week, and my baby is due in five weeks.", "female", False),
        ("孕足月，下腹一阵阵地痛。", "female", False),
        ("My belly hurts since last week; I was pregnant twice long ago.", "female", True),
        ("My wife is 30 weeks pregnant, and my own belly hurts since last week.", "male", True),
    ],
)
def test_no_unborn_child_is_radiated(complaint: str, sex: str | None, radiated: bool) -> None:
    near = [Neighbour(case("1", auxiliary_examination={"CT": "-", "Ultrasound": "-"}), 0.9)]
    chart = chart_of(chief_complaint=complaint, sex=sex, age_years=30)
    chosen = majority(Evidence(STAGES["history_taking.auxiliary"], chart, near, AUXILIARY_ITEMS.names)).choices()
    assert chosen == ({"CT", "Ultrasound"} if radiated else {"Ultrasound"})


def test_what_was_not_examined_is_no_finding_that_cases_share() -> None:
    """Of nothing but normal results, obsessive-compulsive disorder was diagnosed after a fall."""
    healthy = case(
        "强迫症",
        language="zh",
        physical_examination={"General Examination": "无异常。", "Skin Examination": "无异常。"},
    )
    dialogue = [
        Turn(speaker="doctor", text="请做一般检查。"),
        Turn(speaker="patient", text="检查员告诉我：\n一般检查：骨擦感。\n皮肤检查：无异常。"),
    ]
    (seen,) = seen_now([Neighbour(healthy, 0.3, told=0.1)], replace(chart_of(language="zh"), dialogue=dialogue))
    assert seen.found < 0.1


@pytest.mark.parametrize(
    ("language", "found"),
    [
        ("zh", "Phalen征阳性，Tinel征阳性，DR检查骨质无异常。"),
        ("en", "Phalen's and Tinel's signs positive. No abnormality."),
    ],
)
def test_a_result_that_ends_with_what_is_normal_is_a_finding(language: str, found: str) -> None:
    same = case("Carpal tunnel syndrome", language=language, physical_examination={"General Examination": found})
    chart = chart_of({"General Examination": found}, language=language)
    (seen,) = seen_now([Neighbour(same, 0.3, told=0.1)], chart)
    assert seen.found > 0.5


def test_a_chinese_complaint_finds_its_department_among_cases_of_any_language() -> None:
    """The default model of a memory reads English only."""
    recalled = [
        Neighbour(case("skin", department="Dermatology and Venereology", symptoms="A red rash on the face."), 0.8),
        Neighbour(case("back", department="Surgery", symptoms="Stiff lower back for twenty years."), 0.2),
    ]
    complaint = "腰背部僵硬二十年，早上起床时最明显，活动以后减轻。"
    chart = chart_of(chief_complaint=complaint, language="zh")
    seen = seen_whole(chart, recalled, lambda department, k: recalled, "all-MiniLM-L6-v2", complaint)
    assert next(iter(weights(Evidence(STAGES["referral.level1"], chart, seen)))) == "Surgery"


def test_a_case_that_the_patient_contradicts_is_kept_only_where_too_few_others_are() -> None:
    chart = chart_of(sex="male")
    contradicted = Neighbour(case("Uterine leiomyoma", sex="female"), 0.9)

    def kept(others: int) -> list[str]:
        found = [contradicted, *(Neighbour(case(f"Gout {number}"), 0.1) for number in range(others))]
        return [each.case.id for each in seen_whole(chart, [], lambda department, k: found, "all-MiniLM-L6-v2")]

    assert kept(KEPT) == [f"Gout {number}" for number in range(KEPT)]
    assert kept(KEPT - 1) == [*(f"Gout {number}" for number in range(KEPT - 1)), contradicted.case.id]


def test_no_prompt_shows_what_only_rules_look_at() -> None:
    shown = Neighbour(case("Gout", symptoms="A red toe."), 0.9)
    aside = Neighbour(case("Angina", symptoms="Pain on effort."), 0.8, aside="case")
    recalled = Recalled([shown, aside], ("symptoms", "diagnosis"), "en")
    assert str(recalled) == str(Recalled([shown], ("symptoms", "diagnosis"), "en"))
    assert recalled.shorter() == Recalled([], ("symptoms", "diagnosis"), "en")


@pytest.mark.parametrize(
    ("complaint", "language", "near", "referred"),
    [
        ("For two hours she has been vomiting since she sprayed the trees, and she breathes badly.", "en", *DENTAL),
        ("既往视神经萎缩导致左眼失明，急性起病以双下肢无力为主", "zh", "Dentistry", "Surgery"),
        ("采茶时被蜂蜇了，没一会儿我全身起疙瘩、喉咙发紧、喘不上气", "zh", "Rehabilitation", "Emergency Medicine"),
        ("I woke up two days ago hardly hearing anything in my left ear, with a loud ringing.", "en", *EAR),
        ("My legs and eyelids have been swelling for weeks, and my water foams.", "en", *SWELLING),
        ("这一个月我眼皮浮肿，腿也肿，尿里有泡沫，越来越没劲。", "zh", *SWELLING),
        ("我左边腰背像针扎一样疼了五天，三天前那里又起了一串水疱。", "zh", "Surgery", "Dermatology and Venereology"),
        (
            "I have been drinking a bottle every day for years and stopped two days ago.",
            "en",
            "Dentistry",
            "Psychiatry",
        ),
    ],
)
def test_a_department_for_some_organs_does_not_get_the_complaints_of_others(
    complaint: str, language: Language, near: str, referred: str
) -> None:
    """The poisoned woman was sent to the dentists, the allergic one with low blood pressure to rehabilitation."""
    others = [case(name, department=name) for name in dict.fromkeys([near, "Surgery", "Emergency Medicine", referred])]
    neighbours = [Neighbour(each, 0.5 - place / 1000) for place, each in enumerate(others)]
    assert (
        next(
            iter(
                weights(
                    Evidence(
                        STAGES["referral.level1"], chart_of(chief_complaint=complaint, language=language), neighbours
                    )
                )
            )
        )
        == referred
    )


@pytest.mark.parametrize(
    ("complaint", "language", "years", "expected"),
    [
        ("Change in mental status", "en", 67, "emergency"),
        ("Somnolence and non-responsiveness", "en", 22, "emergency"),
        ("My knee has been stable for years.", "en", 40, "routine"),
        ("I bleed only every two or three months.", "en", 27, "routine"),
        ("Yellow skin", "en", 0.02, "urgent"),
        ("女儿怕胖，体重掉了十六公斤。", "zh", 15, "urgent"),
        ("睡不着，手脚心发热。", "zh", 52, "routine"),
    ],
)
def test_urgency_reads_a_changed_mind_lost_weight_and_the_newborn(
    complaint: str, language: Language, years: float, expected: str
) -> None:
    assert urgency(chart_of(chief_complaint=complaint, language=language, age_years=years)) == expected


def test_who_carries_a_child_comes_to_obstetrics_too() -> None:
    near = [Neighbour(case("birth", department="Obstetrics and Gynecology", sub_departments=["Gynecology"]), 0.6)]
    chart = chart_of(chief_complaint="I am pregnant and vomit.", sex="female", age_years=30)
    chart = replace(chart, triage=Triage(urgency="routine", department="Obstetrics and Gynecology"))
    clinics = SECOND_LEVEL["Obstetrics and Gynecology"].names
    assert "Obstetrics" in majority(Evidence(STAGES["referral.level2"], chart, near, clinics)).choices()


@pytest.mark.parametrize(
    ("department", "words"),
    [
        ("Dentistry", "There is a hole."),
        ("Ophthalmology", "A grey shade is sinking."),
        ("Psychiatry", "I check all day."),
    ],
)
def test_a_clinic_that_is_called_after_the_complaint_speaks_for_its_department(department: str, words: str) -> None:
    name = SECOND_LEVEL[department].names[0]
    named = clinics(label(name, "zh"), "zh", "use-multilingual-v3")
    for complaint, admitted in ((f"{LONG} {words}", True), (f"{LONG} The socks leave marks.", False)):
        chosen = weights(Evidence(STAGES["referral.level1"], chart_of(chief_complaint=complaint), named))
        assert (next(iter(chosen), "") == department) == admitted, "not without a word of its organs"


@pytest.mark.parametrize(
    ("complaint", "who", "department"),
    [
        ("Episode of loss of consciousness", {}, "Internal Medicine"),
        ("Sudden loss of consciousness", {}, "Emergency Medicine"),
        ("Itchy blisters in the axilla", {}, "Dermatology and Venereology"),
        ("Respiratory distress", {}, "Emergency Medicine"),
        ("Somnolence and non-responsiveness", {}, "Emergency Medicine"),
        ("Found unresponsive to his wife's voice", {}, "Emergency Medicine"),
        ("Found unresponsive to her parents", {}, "Emergency Medicine"),
        ("Fever unresponsive to antibiotics", {}, "General Medicine"),
        ("Fever unresponsive to pain medication", {}, "General Medicine"),
        ("Obstructive sleep apnea", {}, "General Medicine"),
        ("Excessive daytime somnolence", {}, "General Medicine"),
        ("Respiratory distress", {"age_years": 0}, "Pediatrics"),
        ("Increasing yellow discoloration of the eyes and skin", {"age_years": 0}, "Pediatrics"),
        ("Edema, particularly around the eyes and ankles", {}, "General Medicine"),
        ("Rapid breathing", {"age_years": 3}, "Pediatrics"),
        ("Fatigue", {}, "General Medicine"),
        ("Fatigue", {"age_years": 9}, "Pediatrics"),
        ("反复左侧鼻腔出血。", {"language": "zh"}, "Otolaryngology"),
        ("下腹痛，盆腔胀。", {"language": "zh", "sex": "male"}, "Internal Medicine"),
        ("心里扑腾扑腾的", {"language": "zh"}, "Internal Medicine"),  # in everyday words
        ("上不来气", {"language": "zh"}, "Internal Medicine"),
        ("脑壳昏", {"language": "zh"}, "Internal Medicine"),
        ("吃饭噎得慌", {"language": "zh"}, "Internal Medicine"),
        ("脚气烂了，流水", {"language": "zh"}, "Dermatology and Venereology"),
        (f"{LONG} Tablets did nothing.", {}, "Traditional Chinese Medicine"),
    ],
)
def test_a_complaint_of_few_words_is_referred_by_its_place_and_not_by_a_case(
    complaint: str, who: dict[str, Any], department: str
) -> None:
    """A loss of consciousness came to acupuncture, a persistent headache to ultrasound."""
    stroke = case("stroke", department="Traditional Chinese Medicine")
    chart = chart_of(**{"chief_complaint": complaint, "age_years": 50, **who})
    assert next(iter(weights(Evidence(STAGES["referral.level1"], chart, [Neighbour(stroke, 0.9, 0.9)])))) == department


@pytest.mark.parametrize(
    ("language", "complaint", "few"),
    [
        ("en", "Progressively increasing swelling on the nape of neck for 2 months", True),
        ("en", "Progressively increasing swelling on the nape of neck after each meal", False),
        ("zh", "颈部包块4年以上，颈部疼痛不适1年以上", True),
        ("zh", "颈部包块越来越大，颈部疼痛不适也很明显", False),
    ],
)
def test_how_long_a_complaint_has_lasted_is_not_counted_among_its_words(
    language: Any, complaint: str, few: bool
) -> None:
    assert has_few_words(chart_of(chief_complaint=complaint, language=language)) == few


@pytest.mark.parametrize(
    ("complaint", "of_the_skin"),
    [
        ("Severe vulvar itching", False),
        ("Itchy eyes", False),
        ("Itching of both ears", False),
        ("Itching on the right thigh", True),
        ("Severe pruritus", True),
    ],
)
def test_itching_of_an_organ_is_of_that_organ_and_not_of_the_skin(complaint: str, of_the_skin: bool) -> None:
    assert is_of_the_skin(chart_of(chief_complaint=complaint)) == of_the_skin


@pytest.mark.parametrize(
    ("department", "language", "unasked", "asked"),
    [
        (
            "Pharmacy Department",
            "en",
            "I have had cramps with every bleeding for seven years and do not want to live on painkillers.",
            "For two weeks I have been shaking all over, ever since I began those new tablets for my nerves.",
        ),
        (
            "Pharmacy Department",
            "zh",
            "三个多月了我浑身发抖、没精神，开车老犯困，体重也轻了。",
            "吃了新开的药以后，我浑身发抖、没精神有三个多月了。",
        ),
        (
            "Traditional Chinese Medicine",
            "en",
            "I have had a deep pain in my thigh for three months that is getting worse, and tablets did nothing.",
            "I have had a dull pain in my thigh for three months, and tablets did nothing.",
        ),
        (
            "Traditional Chinese Medicine",
            "zh",
            "我的腿隐隐作痛有好几年了，走路多了更明显。",
            "我的腿痛有好几年了，阴天下雨时更明显，不想再吃止痛片。",
        ),
        (
            "Medical Imaging",
            "en",
            "I have felt a lump in my thigh for five months that does not hurt at all.",
            "I have had a dull ache in my thigh for five months, and a scan was asked for.",
        ),
        (
            "Oncology",
            "en",
            "Three weeks ago a volleyball hit me in the leg, and it has been throbbing ever since.",
            "For three weeks my leg has been throbbing, and a hard lump is growing there.",
        ),
        (
            "Laboratory Medicine",
            "en",
            "For four days I have had high fever and a terrible pounding over my left eyebrow.",
            "At the check-up last month a test of my blood was far out of order, though I feel well.",
        ),
        (
            "Nursing Department",
            "en",
            "For three weeks my hips have been so sore and stiff that I can hardly turn over in bed.",
            "The vein in my forearm has been red, hard and sore for two days where the drip was.",
        ),
        ("Rehabilitation", "en", f"{LONG} My foot tingles.", f"{LONG} It began after my stroke."),
    ],
)
def test_nobody_is_sent_without_a_reason_to_a_department_to_which_others_send(
    department: str, language: Language, unasked: str, asked: str
) -> None:
    """A ball in the face came to oncology, painful bleedings to pharmacy, a fever with pus to the laboratory."""
    near = [Neighbour(case(department, department=department), 0.9), Neighbour(case("a", department="Surgery"), 0.5)]
    for complaint, is_sent in ((unasked, False), (asked, True)):
        chart = chart_of(chief_complaint=complaint, language=language, present_illness="", sex="female")
        sent_to = next(iter(weights(Evidence(STAGES["referral.level1"], chart, near))))
        assert (sent_to == department) == is_sent, complaint


def test_a_complaint_of_the_mind_alone_comes_there_and_not_to_the_heart() -> None:
    near = [
        Neighbour(case(name, department=name), 0.5, told, 0.0)
        for name, told in (("Internal Medicine", 0.3), ("Psychiatry", 0.28))
    ]
    complaint = "I have been lying awake for two hours every night for two years, and by day I am tired."
    for words, department in (
        (complaint, "Psychiatry"),
        (f"{complaint} My heart races.", "Internal Medicine"),
        (f"{complaint} It came with new tablets.", "Internal Medicine"),
    ):
        chart = replace(chart_of(chief_complaint=words, present_illness="", age_years=50), referral=None, triage=None)
        assert next(iter(weights(Evidence(STAGES["referral.level1"], chart, near)))) == department


def test_an_illness_of_old_calls_for_nothing() -> None:
    """Of a stiff arm the chest was examined, as the patient had diabetes."""
    similar = case("a", physical_examination={"Chest Examination": "-", "Spine and Limb Examination": "-"})
    chart = chart_of(chief_complaint="My arm is stiff.", present_illness="I have had diabetes for years.")
    chosen = weights(Evidence(STAGES["history_taking.physical"], chart, [Neighbour(similar, 0.9)]))
    assert "Spine and Limb Examination" in chosen and "Chest Examination" not in chosen


def test_a_newborn_comes_to_the_newborns_clinic() -> None:
    near = [Neighbour(case("a", department="Pediatrics", sub_departments=["Pediatric Respiratory Medicine"]), 0.9)]
    clinics = SECOND_LEVEL["Pediatrics"].names
    for years, clinic in ((0.0, "Neonatology"), (0.01, "Neonatology"), (3.0, "Pediatric Respiratory Medicine")):
        chart = chart_of(chief_complaint="My daughter does not feed.", age_years=years)
        chart = replace(chart, triage=Triage(urgency="urgent", department="Pediatrics"), referral=None)
        assert clinic in majority(Evidence(STAGES["referral.level2"], chart, near, clinics)).choices()


def test_nobody_else_comes_to_the_newborns_clinic() -> None:
    """A boy of two years, pale since a bloody diarrhoea, was sent there by the nearest case, a pale newborn's."""
    near = [Neighbour(case("a", age_years=0.01, department="Pediatrics", sub_departments=["Neonatology"]), 0.9)]
    chart = chart_of(chief_complaint="Pallor and lethargy", age_years=2.0)
    chart = replace(chart, triage=Triage(urgency="urgent", department="Pediatrics"), referral=None)
    evidence = Evidence(STAGES["referral.level2"], chart, near, SECOND_LEVEL["Pediatrics"].names)
    assert "Neonatology" not in majority(evidence).choices()


@pytest.mark.parametrize(
    ("complaint", "ordered", "not_ordered"),
    [
        ("My right knee has been swollen for three weeks.", "MRI", "CT"),
        ("My belly has been aching for three weeks.", "CT", "MRI"),
        ("Half an hour ago a tearing pain struck between my shoulder blades.", "CT", "MRI"),
    ],
)
def test_of_ct_and_mri_one_is_ordered(complaint: str, ordered: str, not_ordered: str) -> None:
    similar = case("a", auxiliary_examination={"CT": "-", "MRI": "-"})
    chart = chart_of(chief_complaint=complaint, present_illness="")
    chosen = weights(Evidence(STAGES["history_taking.auxiliary"], chart, [Neighbour(similar, 0.9)]))
    assert ordered in chosen and not_ordered not in chosen


@pytest.mark.parametrize(
    ("clinic", "department", "fits", "does_not"),
    [
        ("Pediatric Dermatology", "Dermatology and Venereology", {"age_years": 7}, {"age_years": 77}),
        ("TCM Gynecology", "Traditional Chinese Medicine", {"sex": "female"}, {"sex": "male"}),
        ("Geriatrics", "Internal Medicine", {"age_years": 80}, {"age_years": 30}),
    ],
)
def test_nobody_is_referred_to_a_clinic_for_another_age_or_sex(
    clinic: str, department: str, fits: dict[str, Any], does_not: dict[str, Any]
) -> None:
    near = [Neighbour(case("near", department=department, sub_departments=[clinic]), 0.9)]
    level2, unplaced = STAGES["referral.level2"], "I do not feel well."
    assert [*weights(Evidence(level2, chart_of(chief_complaint=unplaced, **fits), near))] == [clinic]
    assert not weights(Evidence(level2, chart_of(chief_complaint=unplaced, **does_not), near))


@pytest.mark.parametrize(
    ("complaint", "departments"),
    [
        ("Itchy blisters on my left leg.", ["Dermatology and Venereology"]),
        ("Decreased vision and black spots in the right eye.", ["Ophthalmology"]),
        ("A rash on my eyelids and my chest.", ["Dermatology and Venereology", "Ophthalmology"]),
        ("My eyes and skin have turned yellow.", ["Internal Medicine"]),
        ("My knee is swollen.", ["Surgery"]),
    ],
)
def test_what_is_on_the_skin_of_a_limb_or_the_trunk_is_of_the_skin_alone(
    complaint: str, departments: list[str]
) -> None:
    named = sites(chart_of(chief_complaint=complaint))
    assert sorted(site["department"] for site in named) == departments


def test_every_clinic_with_words_of_its_own_is_one_of_a_department() -> None:
    named = data_file("nodes.offline", "clinics")["clinic"]
    assert set(named) <= set(SUB_DEPARTMENTS.names)


@pytest.mark.parametrize(
    ("department", "complaint", "clinic"),
    [
        ("Ophthalmology", "Decreased vision and black spots in the right eye.", "Retina and Vitreous"),
        (
            "Ophthalmology",
            "My right eye has been red and watering since I wore the lenses at night.",
            "Cornea and Ocular Surface",
        ),
        (
            "Internal Medicine",
            "Both hands are swollen, and every morning they are stiff.",
            "Rheumatology and Immunology",
        ),
        ("Internal Medicine", "眼黄，尿黄，腹胀4天。", "Hepatology"),
        ("Obstetrics and Gynecology", "备孕两年一直怀不上。", "Reproductive Medicine"),
        ("Dermatology and Venereology", "左腰起了一串水疱，像火烧。", "Infectious Dermatology"),
        ("Pediatrics", "My little boy walks on tiptoe with stiff legs.", "Pediatric Neurology"),
    ],
)
def test_words_of_the_complaint_send_to_a_clinic_as_at_a_reception_desk(
    department: str, complaint: str, clinic: str
) -> None:
    door: dict[str, Any] = {"language": "zh" if has_chinese(complaint) else "en", "sex": "female"}
    door["age_years"] = 4 if department == "Pediatrics" else 34
    triage = Triage(urgency="routine", department=department)
    chart = replace(chart_of(chief_complaint=complaint, **door), referral=None, triage=triage)
    names = SECOND_LEVEL[department].names
    near = [Neighbour(case("1", department=department, sub_departments=[names[-1]]), 0.5)]
    assert clinic in majority(Evidence(STAGES["referral.level2"], chart, near, names)).choices()


def test_a_result_that_the_patient_passes_on_calls_for_no_order_as_a_symptom_would() -> None:
    told = chart_of(chief_complaint="My upper belly on the right has been hurting for four days.", present_illness="")
    result = "The examiner told me this: a pear-shaped, very tender lump beneath the right costal arch."
    order = Turn(speaker="doctor", text="I should like to have this examined: Abdominal Examination.")
    passed_on = replace(told, dialogue=[order, Turn(speaker="patient", text=result)])
    assert not is_called_for("Pathological Examination", passed_on)
    assert is_called_for("Ultrasound", passed_on)
    complained = replace(told, dialogue=[Turn(speaker="patient", text="There is a lump under my skin there.")])
    assert is_called_for("Pathological Examination", complained)


@pytest.mark.parametrize(
    ("clinic", "complaint", "with_word"),
    [
        ("Resuscitation and Critical Care", "Terrible pain around my left eye.", "He is unconscious."),
        ("Toxicology and Poisoning", "Since yesterday I have had pain in my chest.", "She swallowed a spray."),
        ("Trauma Center", "A stabbing pain on the right of my chest.", "I was hit by a car."),
        ("Chest Pain Center", "Terrible pain around my left eye.", "Crushing pain behind the breastbone."),
        ("Chest Pain Center", "突发剧烈头痛。", "突发心前区疼痛。"),
    ],
)
def test_nobody_comes_to_a_clinic_for_few_without_a_word_of_it(clinic: str, complaint: str, with_word: str) -> None:
    near = [Neighbour(case("1", department="Emergency Medicine", sub_departments=[clinic]), 0.9)]
    for words, comes in ((complaint, False), (with_word, True)):
        triage = Triage(urgency="emergency", department="Emergency Medicine")
        door: dict[str, Any] = {"chief_complaint": words, "language": "zh" if has_chinese(words) else "en"}
        chart = replace(chart_of(**door), referral=None, triage=triage)
        assert (clinic in weights(Evidence(STAGES["referral.level2"], chart, near))) == comes


@pytest.mark.parametrize(
    ("complaint", "departments"),
    [
        ("Yellow eyes and skin", ["Internal Medicine"]),
        ("Yellowing of the eyes and skin", ["Internal Medicine"]),
        ("Dry eyes and skin", ["Ophthalmology", "Dermatology and Venereology"]),
    ],
)
def test_yellow_eyes_and_skin_are_no_complaint_of_the_eyes_and_skin_as_dry_ones_are(
    complaint: str, departments: list[str]
) -> None:
    assert [site["department"] for site in sites(chart_of(chief_complaint=complaint))] == departments


@pytest.mark.parametrize(
    ("complaint", "language", "clinic"),
    [("Spinning dizziness since noon", "en", "Neurology"), ("咳嗽、咳黄痰三天", "zh", "Respiratory Medicine")],
)
def test_of_a_departments_clinics_that_of_the_place_is_chosen_and_none_of_another_department(
    complaint: str, language: Language, clinic: str
) -> None:
    """Vertigo and a cough came to cardiology, the first clinic of the list, for a case of general medicine."""
    near = [Neighbour(case("near", department="General Medicine", sub_departments=["General Outpatient Clinic"]), 0.9)]
    door: dict[str, Any] = {"chief_complaint": complaint, "language": language}
    chart = replace(chart_of(**door), referral=None, triage=Triage(urgency="routine", department="Internal Medicine"))
    names = SECOND_LEVEL["Internal Medicine"].names
    assert majority(Evidence(STAGES["referral.level2"], chart, near, names)).listed() == [clinic]


@pytest.mark.parametrize(
    ("complaint", "language", "examined", "beside", "spared"),
    [
        (
            "Since noon my right lower belly hurts.",
            "en",
            "Abdominal Examination",
            "Urogenital System Examination",
            "Chest Examination",
        ),
        ("我左膝盖里侧鼓起一个硬包。", "zh", "Spine and Limb Examination", "Skin Examination", "Chest Examination"),
        ("三天来咳嗽、胸痛。", "zh", "Chest Examination", "Neck Examination", "Neurological Examination"),
    ],
)
def test_what_is_examined_follows_the_complaint_as_well_as_similar_cases(
    complaint: str, language: str, examined: str, beside: str, spared: str
) -> None:
    chart = chart_of(chief_complaint=complaint, language=language)
    others = [case(str(number), physical_examination={"General Examination": "Well."}) for number in range(3)]
    one = case("one", physical_examination=dict.fromkeys((spared, beside, "General Examination"), "-"))

    def ordered(*similar: RememberedCase) -> list[str]:
        near = [Neighbour(each, 0.5) for each in similar]
        return majority(Evidence(STAGES["history_taking.physical"], chart, near)).listed()

    assert ordered(one, *others) == ["General Examination", examined]
    often = ordered(one, one.model_copy(update={"id": "another"}), *others[:1])
    assert beside in often and spared not in often, "most similar cases had both, and the complaint calls for one"


def test_doctors_of_a_group_order_different_examinations_with_similar_cases_and_without() -> None:
    chart = chart_of(chief_complaint="My knee hurts.")
    told = Neighbour(case("told", physical_examination={"Skin Examination": "Red."}), 0.9, told=0.9, found=0.0)
    weak = case("found", physical_examination={"Neurological Examination": "Weak."})
    found = Neighbour(weak, 0.8, told=0.0, found=0.9)
    for near in ([told, found], []):
        groups = [
            tuple(orders(Evidence(STAGES[stage], chart, near, items.names, seat=seat)) for seat in (1, 2, 3))
            for stage, items in (
                ("history_taking.physical", PHYSICAL_ITEMS),
                ("history_taking.auxiliary", AUXILIARY_ITEMS),
            )
        ]
        physical, auxiliary = groups
        assert len(set(map(tuple, physical))) > 1 and all(physical) and all(auxiliary)
    assert orders(Evidence(STAGES["history_taking.physical"], chart, [], PHYSICAL_ITEMS.names)) == [
        "General Examination",
        "Spine and Limb Examination",
    ]


def test_results_that_the_patient_passes_on_are_findings_and_no_complaint() -> None:
    dialogue = [
        Turn(speaker="doctor", text="Please have these tests done: Blood Test."),
        Turn(speaker="patient", text="The examiner told me this: glucose 31 mmol/L, ketones positive."),
    ]
    diabetic = case("Ketoacidosis", auxiliary_examination={"Blood Test": "Glucose 28 mmol/L, ketones positive."})
    (seen,) = seen_now([Neighbour(diabetic, 0.3, told=0.1)], replace(OPEN, dialogue=dialogue))
    assert seen.found > 0.3


def test_what_was_told_since_the_recall_counts_too() -> None:
    """At the end of a consultation cases were still compared by the complaint of its beginning."""
    dialogue = [
        Turn(speaker="doctor", text="When did this begin?"),
        Turn(speaker="patient", text="For three months I have woken at night with burning feet."),
    ]
    burning = case("Neuropathy", symptoms="Burning feet at night for months.")
    (seen,) = seen_now([Neighbour(burning, 0.3, told=0.1)], replace(OPEN, dialogue=dialogue))
    (before,) = seen_now([Neighbour(burning, 0.3, told=0.1)], OPEN)
    assert seen.told and before.told and seen.told > before.told


def test_a_diagnosis_is_of_a_case_like_the_patient_in_words_and_in_findings() -> None:
    """The findings of an arthrosis of the knee were most like those of a sciatica, and its words least."""
    knee, sciatica = Neighbour(case("Arthrosis"), 0.5, 0.25, 0.5), Neighbour(case("Sciatica"), 0.5, 0.4, 0.3)
    others = [Neighbour(case(str(number), diagnosis=[]), 0.5, 0.3, 0.2) for number in range(AMONG)]
    assert majority(Evidence(DIAGNOSIS, chart_of({"CT": "."}), [knee, sciatica, *others])).listed() == ["Sciatica"]


def test_doctors_who_look_at_one_side_more_name_the_diagnosis_of_a_case_that_is_near_there() -> None:
    flu, asthma = Neighbour(case("Influenza"), 0.5, 0.6, 0.1), Neighbour(case("Asthma"), 0.5, 0.1, 0.6)
    others = [Neighbour(case(str(number), diagnosis=[]), 0.5, 0.3, 0.3) for number in range(AMONG)]
    neighbours, chart = [flu, asthma, *others], chart_of({"CT": "."})
    named = [majority(Evidence(DIAGNOSIS, chart, neighbours, seat=seat)).listed() for seat in range(1, 6)]
    assert (named[1], named[3], named[4]) == (["Influenza"], ["Asthma"], ["Influenza"])
    assert not {"Influenza", "Asthma"} & {*named[0], *named[2]}
