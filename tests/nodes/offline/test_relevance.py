import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import load_cases
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.vocabulary import Language
from nodes.offline.hearing import heard_tests
from nodes.offline.orders import open_results, ordered_results, tried
from nodes.offline.pairs import answer_scores
from nodes.offline.relevance import answering, released_for
from tests.graphs.scripting import builtin

CASES: dict[Language, str] = {"en": "surgery-01", "zh": "surgery-06"}
FACTS = {
    language: record_sentences(builtin(name).patient, builtin(name).examinations, language)
    for language, name in CASES.items()
}


def texts(facts: list[RecordSentence]) -> str:
    return " ".join(fact.text for fact in facts)


@pytest.mark.parametrize(
    ("language", "question", "told"),
    [
        ("en", "Do you drink alcohol?", RecordSentence("personal_history", "She does not smoke or drink.")),
        ("en", "Do you drink?", RecordSentence("personal_history", "A small brandy is all that he drinks.")),
        ("en", "What soothes it?", RecordSentence("present_illness", "Two tablets did not help.")),
        ("en", "What is it like?", RecordSentence("present_illness", "It throbs, and the arm aches.")),
        ("en", "What did you take?", RecordSentence("present_illness", "The gel was of no benefit.")),
        ("zh", "怎么做会好一点？", RecordSentence("present_illness", "曾服谷维素2周，无效。")),
        ("zh", "到现在怎么处理的？", RecordSentence("present_illness", "含人参片一个月，不见好。")),
    ],
)
def test_of_a_subject_is_told_what_the_record_says_of_it_in_other_words(
    language: Language, question: str, told: RecordSentence
) -> None:
    beside = {
        "en": ["She drinks two cups of coffee a day.", "It began on a Sunday.", "She asks for the help of a nurse."],
        "zh": ["口味偏咸。", "周日开始。", "去年体检。"],
    }[language]
    facts = [*(RecordSentence(told.section, text) for text in beside), told]
    assert answering(facts, question, language) == [told]


def test_an_illness_is_told_as_one_where_its_medicine_stands_beside_it() -> None:
    facts = [
        RecordSentence("past_history", text) for text in ("She has migraine and takes 50 mg.", "She takes tablets.")
    ]
    assert answering(facts, "What illnesses have you had?", "en") == facts[:1]


@pytest.mark.parametrize(
    ("language", "question", "told"),
    [
        (
            "en",
            "What illnesses have you had before, what medicines do you take, and do you have allergies?",
            ["His uric acid is slightly raised.", "He takes no medicine."],
        ),
        ("zh", "以前得过什么病、做过什么手术？在用什么药？有没有过敏？", ["尿酸偏高。", "不吃药。"]),
    ],
)
def test_who_asks_for_illnesses_medicines_and_allergies_hears_the_whole_past_history(
    language: Language, question: str, told: list[str]
) -> None:
    vaccinated = {"en": "His vaccinations are complete.", "zh": "疫苗接种齐全。"}[language]
    facts = [RecordSentence("past_history", text) for text in [*told, vaccinated]]
    assert answering(facts, question, language) == facts[:-1]


@pytest.mark.parametrize(
    ("language", "question", "part"),
    [
        ("en", "Where does the pain spread to?", "right shoulder blade"),
        ("en", "Have you vomited?", "four times"),
        ("en", "Is there any gallbladder trouble in your family?", "gallbladder removed"),
        ("en", "Do you smoke?", "does not smoke"),
        ("en", "Are you allergic to anything?", "drug allergy"),
        ("en", "How old are you?", "Age: 46 years."),
        ("en", "Are you male or female?", "Sex: female."),
        ("zh", "吐过吗？", "呕吐胃内容物1次"),
        ("zh", "平时喝酒吗？", "偶尔饮酒"),
        ("zh", "家里人有类似的病吗？", "家族中无类似疾病"),
        ("zh", "在宿舍量过体温吗？", "38.1"),
    ],
)
def test_a_question_is_answered_by_the_sentence_that_is_about_it(language: Language, question: str, part: str) -> None:
    found = answering(FACTS[language], question, language)
    assert part in texts(found)
    assert len(found) <= 3


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "Do you have a rash on your arms?"),
        ("en", "Does your knee hurt?"),
        ("en", "Do your joints swell?"),
        ("zh", "耳朵疼吗？"),
        ("zh", "有没有皮疹？"),
    ],
)
def test_what_is_not_on_record_has_no_answer(language: Language, question: str) -> None:
    assert answering(FACTS[language], question, language) == []


def test_who_has_no_chronic_disease_tells_so_to_a_question_for_one() -> None:
    assert texts(answering(FACTS["en"], "Have you got asthma?", "en")).startswith("She has had no chronic disease")


@pytest.mark.parametrize(
    ("language", "question", "recorded"),
    [
        ("en", "Have you had to tighten your belt?", ["He has lost 4 kg.", "He has no fever."]),
        ("en", "Did your teeth chatter at all?", ["He had a fever of 39.2 °C.", "No cough."]),
        ("zh", "皮带紧了几个眼？", ["体重下降4公斤。", "无发热。"]),
    ],
)
def test_a_symptom_that_is_described_and_not_named_is_told(
    language: Language, question: str, recorded: list[str]
) -> None:
    facts = [RecordSentence("present_illness", text) for text in recorded]
    assert answering(facts, question, language) == facts[:1]


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "Goodbye, I hope the pain goes away."), ("zh", "请躺到床上，把衣服撩起来露出肚子。")],
)
def test_what_asks_for_nothing_has_no_answer(language: Language, words: str) -> None:
    assert answering(FACTS[language], words, language) == []


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "words", "recorded"),
    [
        ("en", "Sleep is very important for the mind.", "He sleeps badly."),
        ("zh", "睡眠对身体特别重要。", "夜间睡眠差。"),
        ("zh", "你刚才讲过不喝酒。", "不饮酒。"),
    ],
)
def test_what_is_important_or_was_said_before_is_no_question(language: Language, words: str, recorded: str) -> None:
    assert answering([RecordSentence("personal_history", recorded)], words, language) == []


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "talk", "question", "recorded"),
    [
        (
            *("en", "The weather's dreadful today, isn't it? Traffic was awful.", "Do you smoke?"),
            ["He smokes ten cigarettes a day.", "It is worse in cold weather."],
        ),
        (
            *("en", "Come in, come in. Dreadful weather, isn't it?", "Do you smoke?"),
            ["He smokes ten cigarettes a day.", "Red dots came up five days ago, and they have merged since then."],
        ),
        ("zh", "您这围巾真好看。", "晚上睡得怎么样？", ["夜间睡眠差。", "围巾处皮肤发红。"]),
    ],
)
def test_small_talk_is_no_question_and_keeps_none_beside_it_from_its_answer(
    language: Language, talk: str, question: str, recorded: list[str]
) -> None:
    facts = [RecordSentence("personal_history", recorded[0]), RecordSentence("present_illness", recorded[1])]
    assert answering(facts, talk, language) == []
    assert answering(facts, f"{talk} {question}", language) == facts[:1]


def test_what_relatives_had_is_not_told_of_illnesses_and_operations_of_ones_own() -> None:
    told = texts(answering(FACTS["en"], "Which illnesses or operations have you had before, and any allergies?", "en"))
    assert "no abdominal operation" in told and "mother" not in told


@pytest.mark.parametrize(
    ("language", "question", "of_relatives"),
    [
        ("en", "Are you allergic to anything?", "Her mother is allergic to penicillin."),
        ("en", "Have you ever had surgery?", "A sister of her mother had breast surgery at the age of 61."),
        ("zh", "开过刀吗？", "母亲六十多岁时颈部开过刀，具体不详。"),
    ],
)
def test_where_only_a_relative_had_what_is_asked_for_nothing_is_told(
    language: Language, question: str, of_relatives: str
) -> None:
    """Asked whether she was allergic, a patient said that her mother was."""
    assert answering([RecordSentence("family_history", of_relatives)], question, language) == []


@pytest.mark.parametrize(
    ("language", "question", "told"),
    [
        ("en", "Are there illnesses that run in your family?", "She notes that her mother and brother had leg ulcers."),
        ("en", "Are there illnesses that run in your family?", "Other symptoms: Leg swelling; Family history of gout."),
        ("zh", "家里人有没有类似的疾病或遗传病？", "怕热、多汗，家族中妹妹有甲亢。"),
    ],
)
def test_what_relatives_had_is_told_of_the_family_wherever_it_is_recorded(
    language: Language, question: str, told: str
) -> None:
    others = ["Her mother has noticed a wound on the leg.", "No fever."] if language == "en" else ["母亲发现腿部伤口。"]
    facts = [RecordSentence("present_illness", text) for text in (*others, told)]
    assert answering(facts, question, language) == facts[-1:]


@pytest.mark.parametrize(
    ("language", "question", "recorded"),
    [
        (
            *("en", "When was your last period, and are they regular?"),
            RecordSentence("present_illness", "She has no diarrhea."),
        ),
        (
            *("zh", "以前住过院吗？因为什么？"),
            RecordSentence("chief_complaint", "因胸闷伴恶心2天，加重1.5小时入院。"),
        ),
        (
            *("zh", "月经准不准？上次是哪天？"),
            RecordSentence("present_illness", "三天前下楼时摔倒，左脚踝肿痛。"),
        ),
    ],
)
def test_what_asks_more_of_the_same_is_no_question_by_itself(
    language: Language, question: str, recorded: RecordSentence
) -> None:
    assert answering([recorded], question, language) == []


def test_of_many_symptoms_in_one_question_each_that_is_recorded_is_told() -> None:
    recorded = [
        RecordSentence("present_illness", "He has lost 8 kg of 74 kg."),
        RecordSentence("present_illness", "She sleeps lightly and is irritable before her periods."),
        RecordSentence("present_illness", "The pain began after a fall on the stairs."),
    ]
    question = (
        "Have you noticed any other symptoms along with this, such as fever, vomiting, weight changes or poor sleep?"
    )
    assert answering(recorded, question, "en") == recorded[:2]


def test_of_the_family_alone_is_told_what_relatives_have() -> None:
    recorded = [
        RecordSentence("past_history", "Has been diagnosed with arthritis."),
        RecordSentence("family_history", "Her father has gout."),
    ]
    question = "Do any of your close relatives suffer from chronic diseases or take medicines for them?"
    assert answering(recorded, question, "en") == recorded[1:]


def test_what_is_asked_of_the_family_with_or_is_not_asked_of_oneself() -> None:
    recorded = [
        RecordSentence("past_history", "高血压三年，九年前因鼻咽部肿瘤做过放疗。"),
        RecordSentence("family_history", "父亲有痛风。"),
    ]
    question = "您的家族中有没有人患有类似的疾病，或者有肿瘤、心脏病、免疫系统疾病等病史？"
    assert answering(recorded, question, "zh") == recorded[1:]


def test_where_several_parts_name_a_symptom_nothing_is_told_of_all_together() -> None:
    recorded = [RecordSentence("present_illness", "慢性病程，急性发作。")]
    assert answering(recorded, "在过去几周里，您有没有出现发热、乏力或者不明原因的体重减轻？", "zh") == []


def test_pain_here_and_a_rash_there_are_less_probably_told_of_a_rash_here_than_of_one_there() -> None:
    facts = [RecordSentence("present_illness", "She has pain in the chest, a rash on the arm.")]
    here, there = (answer_scores(f"Is there a rash on your {part}?", facts, "en") for part in ("chest", "arm"))
    assert here < there - 1


def test_an_ordered_item_gives_its_results_and_a_named_value_its_sentence_alone() -> None:
    item = [fact for fact in FACTS["en"] if fact.section == "Ultrasound"]
    assert ordered_results(FACTS["en"], "Let us do an ultrasound of the upper belly.", "en") == item
    [value] = ordered_results(FACTS["en"], "Please check the liver values.", "en")
    assert value.text.startswith("Total bilirubin")


@pytest.mark.parametrize("order", ["A CT of the belly, please.", "Let us do an ultrasound of the knee."])
def test_another_examination_or_another_part_of_the_body_is_no_result(order: str) -> None:
    assert ordered_results(FACTS["en"], order, "en") == []


def test_what_a_treatment_has_done_is_told_when_it_is_advised() -> None:
    [fact] = tried(FACTS["zh"], "可以吃点蒙脱石散。", "zh")
    assert "没有缓解" in fact.text
    assert released_for(FACTS["en"], "You could take an antacid.", "advice", "en")[0].text.endswith("did not help.")


@pytest.mark.parametrize(
    ("language", "advice"), [("en", "Take aspirin."), ("en", "Please take ibuprofen daily."), ("zh", "请服用布洛芬。")]
)
def test_advice_to_take_a_medicine_that_is_not_on_record_is_not_answered_by_another(
    language: Language, advice: str
) -> None:
    others = {"en": "She takes metformin and no other medicine.", "zh": "长期服用二甲双胍，未服用其他药物。"}
    assert tried([RecordSentence("past_history", others[language])], advice, language) == []


@pytest.mark.slow
@given(
    case=st.sampled_from([case for case in load_cases() if case.split == "test"]),
    words=st.lists(
        st.sampled_from(
            [
                "pain",
                "fever",
                "blood",
                "family",
                "all",
                "results",
                "record",
                "everything",
                "CT",
                "ultrasound",
                "chest",
                "tell",
                "me",
                "your",
                "you",
                "have",
                "the",
                "疼",
                "发烧",
                "血",
                "家族",
                "全部",
                "结果",
                "病历",
                "超声",
                "胸",
                "告诉",
                "您",
                "有没有",
                "所有",
                "检查",
            ]
        ),
        max_size=8,
    ),
    kind=st.sampled_from(["inquiry", "advice"]),
)
def test_whatever_is_said_only_facts_are_found_and_only_results_that_are_named(
    case: object, words: list[str], kind: str
) -> None:
    from cases import Case

    assert isinstance(case, Case)
    facts = record_sentences(case.patient, case.examinations, case.language)
    said = " ".join(words)
    found = released_for(facts, said, kind, case.language)
    assert set(found) <= set(facts)
    if kind == "inquiry":
        assert {fact for fact in found if fact.is_result} <= set(open_results(facts, said, case.language))
    # A classifier may take a heap of words ("me fever 胸 fever") for an order.
    if not ({"CT", "ultrasound", "blood", "超声", "血", "检查"} & set(words) or heard_tests(said)):
        assert not any(fact.is_result for fact in found)


def test_what_is_only_named_is_not_opened_by_a_word_of_its_name() -> None:
    facts = [RecordSentence("Ultrasound", "盆腔超声：盆腔无积液。")]
    assert ordered_results(facts, "先不给您做超声了。", "zh") == []
    assert ordered_results(facts, "请做个超声。", "zh") == facts


def test_what_is_asked_for_in_everyday_words_is_heard_in_jargon() -> None:
    facts = [RecordSentence("past_history", "Hypertension for ten years."), RecordSentence("past_history", "No gout.")]
    assert answering(facts, "Do you have high blood pressure?", "en") == facts[:1]


def test_where_the_complaint_is_all_the_story_it_answers_what_the_story_would() -> None:
    facts = [RecordSentence("chief_complaint", "中上腹部隐痛1年。"), RecordSentence("past_history", "否认高血压。")]
    assert answering(facts, "什么时候开始的？", "zh") == facts[:1] and answering(facts, "您抽烟吗？", "zh") == []


@pytest.mark.parametrize(
    ("language", "question", "opening"),
    [
        ("en", "Do you smoke?", "I have smoked a pack a day for thirty years and now I cough."),
        ("en", "Do you drink?", "I had been drinking every day and stopped yesterday; since then my hands shake."),
        ("zh", "您现在吃什么药？", "皮肤病三年了，药膏一停就犯。"),
    ],
)
def test_a_habit_that_only_the_opening_names_is_not_denied(language: Language, question: str, opening: str) -> None:
    story = {"en": "The stairs are worse than before.", "zh": "三周前又重了。"}[language]
    facts = [RecordSentence("chief_complaint", opening), RecordSentence("present_illness", story)]
    assert answering(facts, question, language) == facts[:1]
    assert not answering(facts, {"en": "Do you keep a dog?", "zh": "家里养狗吗？"}[language], language)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "She is a retired teacher, married, two children."),
        ("zh", "中学教师，已婚，育一子。"),
        ("zh", "退休工人。"),
    ],
)
def test_work_is_told_by_the_name_of_an_occupation(language: Language, told: str) -> None:
    facts = [
        RecordSentence("personal_history", text) for text in (told, {"en": "She smokes.", "zh": "吸烟。"}[language])
    ]
    assert answering(facts, {"en": "What is your job?", "zh": "您做什么工作？"}[language], language) == facts[:1]


@pytest.mark.parametrize(
    ("language", "question", "is_told"),
    [
        ("en", "What's your name and how old are you?", True),
        ("en", "What is your name?", False),
        ("zh", "您叫什么，多大年纪？", True),
        ("zh", "您叫什么名字？", False),
    ],
)
def test_the_age_is_told_beside_a_name_that_no_record_has(language: Language, question: str, is_told: bool) -> None:
    age = RecordSentence("person", {"en": "Age: 42 years.", "zh": "年龄：42岁。"}[language])
    assert answering([age], question, language) == [age] * is_told


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("name", "question", "part"),
    [
        ("rehabilitation-01", "How are your appetite, your sleep and your weight?", "weight loss"),
        ("general-medicine-07", "食欲、睡眠和体重怎么样？", "打鼾"),
    ],
)
def test_of_several_things_asked_at_once_is_told_what_is_recorded_of_one(name: str, question: str, part: str) -> None:
    case = builtin(name)
    facts = record_sentences(case.patient, case.examinations, case.language)
    assert part in texts(answering(facts, question, case.language))


TOGETHER: dict[Language, tuple[str, list[str]]] = {
    "en": (
        "Which illnesses or operations have you had before, what medicines do you take, and do you have allergies?",
        ["Which illnesses or operations have you had before?", "What medicines do you take?", "Do you have allergies?"],
    ),
    "zh": (
        "以前得过什么病、做过什么手术？在用什么药？有没有过敏？",
        ["以前得过什么病、做过什么手术？", "在用什么药？", "有没有过敏？"],
    ),
}


def test_who_asks_several_things_at_once_hears_all_that_each_alone_is_answered_by() -> None:
    for case in load_cases()[::4]:
        facts = record_sentences(case.patient, case.examinations, case.language)
        together, alone = TOGETHER[case.language]
        answers = {fact for question in alone for fact in answering(facts, question, case.language)}
        assert answers <= {*answering(facts, together, case.language)}, case.id
