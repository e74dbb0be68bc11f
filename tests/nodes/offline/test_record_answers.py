import pytest

from cases import PatientRecord
from cases.case import ExaminationRecord
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.text.sentences import sentences
from cases.vocabulary import Language, patterns
from nodes.offline.meaning import subjects_heard
from nodes.offline.own_words import in_own_words, voice_of
from nodes.offline.record_answers import answer_from_record, denial, facts_for, wants_examination
from nodes.state.chart import Turn
from prompts import load_words

RECORDS: dict[Language, PatientRecord] = {
    "en": PatientRecord(
        chief_complaint="Pain in the belly since yesterday.",
        present_illness="It began at noon. The pain is dull. It moved to the right. She vomited twice. No diarrhea.",
        past_history="Hernia operation in 2019. No known drug allergy.",
        personal_history="She smokes ten cigarettes a day. She works at night.",
        family_history="Her father has gout.",
    ),
    "zh": PatientRecord(
        chief_complaint="腹痛一天。",
        present_illness="昨天中午开始腹痛。隐隐作痛。后来转到右下腹。呕吐两次。无腹泻。",
        past_history="2019年做过疝气手术。无药物过敏史。",
        personal_history="每天抽十支烟。上夜班。",
        family_history="父亲有痛风。",
    ),
}


def answer(question: str, language: Language, *said: str) -> str:
    dialogue = [Turn(speaker="patient", text=text) for text in said]
    return answer_from_record(question, RECORDS[language], dialogue, language)


@pytest.mark.parametrize(
    ("language", "question", "told", "not_told"),
    [
        ("en", "Any other symptoms, such as a cough, headaches or numb feet?", "The pain is dull.", "gout"),
        ("en", "Any other symptoms, such as vomiting, headaches or numb feet?", "I vomited twice.", "dull"),
        ("en", "Any other symptoms, such as vomiting, an allergy or trouble with your sleep?", "No known drug", "dull"),
        ("zh", "还有没有其他症状，比如咳嗽、头痛或者脚麻？", "隐隐作痛", "痛风"),
        ("zh", "还有什么您觉得重要但我没有问到的，或者您自己最担心什么？", "隐隐作痛", "痛风"),
    ],
)
def test_a_question_for_other_symptoms_is_open_where_no_example_is_recorded(
    language: Language, question: str, told: str, not_told: str
) -> None:
    said = answer(question, language)
    assert told in said and not_told not in said


def test_a_question_for_other_symptoms_goes_on_with_the_story_where_its_examples_have_been_told() -> None:
    said = answer("Any other symptoms, such as vomiting or headaches?", "en", "I vomited twice.")
    assert said.startswith("It began at noon.") and "vomited" not in said


@pytest.mark.parametrize(
    ("language", "question", "expected"),
    [
        ("en", "Did you vomit?", "I vomited twice."),
        ("en", "Are you allergic to any drugs?", "No known drug allergy."),
        ("en", "Do you smoke?", "I smoke ten cigarettes a day."),
        ("en", "Are there illnesses that run in your family?", "My father has gout."),
        ("zh", "有没有呕吐？", "呕吐两次。"),
        ("zh", "对药物过敏吗？", "没有药物过敏。"),
        ("zh", "抽烟吗？", "每天抽十支烟。"),
        ("zh", "家里人有什么病？", "父亲有痛风。"),
    ],
)
def test_the_sentence_that_answers_is_told_as_i_and_no_other(language: Language, question: str, expected: str) -> None:
    assert answer(question, language) == expected


@pytest.mark.parametrize(
    ("language", "question", "denial"), [("en", "Do you have a rash?", "No"), ("zh", "有没有皮疹？", "没有")]
)
def test_what_is_not_on_record_is_denied(language: Language, question: str, denial: str) -> None:
    assert answer(question, language).startswith(denial)


@pytest.mark.parametrize(
    ("language", "question", "reply"),
    [
        ("en", "How often do you exercise?", "untold"),
        ("zh", "一晚上睡几个小时？", "untold"),
        ("en", "Does the lid fit?", "unclear"),
        ("zh", "盖子合得上吗？", "unclear"),
        ("en", "Did the parcel arrive?", "off_topic"),
        ("zh", "快递到了没有？", "off_topic"),
        ("en", "How was the traffic this morning?", "off_topic"),
        ("en", "Did you find the place all right?", "off_topic"),
        ("en", "Is it still raining out there?", "off_topic"),
        ("zh", "路上堵不堵？", "off_topic"),
        ("zh", "今天外面热吗？", "off_topic"),
        ("zh", "今天路上车多不多？", "off_topic"),
        ("en", "Do you have any questions?", "thanks"),
        ("zh", "你还有什么要问的吗？", "thanks"),
        ("en", "What's his name?", "untold"),
        ("zh", "你叫什么名字？", "untold"),
        ("zh", "好的，先这样，祝您早日康复。", "thanks"),
        ("en", "Thank you, that is all for now. Goodbye.", "thanks"),
        ("en", "I think you have pneumonia. Take these tablets. Goodbye.", "thanks"),
        ("zh", "您得的是肺炎，按时吃药，再见。", "thanks"),
        ("en", "The diagnosis is pneumonia.", "thanks"),
        ("zh", "给您开个血常规和CT。", "advised"),
        ("zh", "抽点血化验一下，再拍个片子。", "advised"),
        ("en", "I will book an MRI of the knee for you.", "advised"),
        ("en", "Keep off the cigarettes.", "followed"),
        ("en", "Drink plenty of water.", "followed"),
        ("en", "Here is a prescription for a painkiller.", "followed"),
        ("zh", "戒烟吧。", "followed"),
        ("zh", "多喝水。", "followed"),
        ("zh", "我给您开点止咳糖浆。", "followed"),
        ("en", "You should have some tests.", "which"),
        ("zh", "您应该做些检查。", "which"),
        ("en", "Open your mouth, please.", "agreed"),
    ],
)
def test_how_much_and_what_was_not_understood_or_asks_nothing_are_not_answered_with_no(
    language: Language, question: str, reply: str
) -> None:
    assert answer(question, language) == load_words("consultation/words", language)["patient"][reply]


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "Are you sleeping all right?"),
        ("en", "Is your appetite normal these days?"),
        ("en", "Are you getting a decent night's rest?"),
        ("zh", "晚上睡得好不好？"),
        ("zh", "夜里睡得踏实吗？"),
        ("zh", "大小便正常吗？"),
        ("zh", "拉的尿的都还行吧？"),
        ("zh", "胃口怎么样，吃得下饭吗？"),
        ("zh", "成家了吗，家里有几口人？"),
    ],
)
def test_whether_all_is_well_with_what_is_not_on_record_is_not_answered_with_no(
    language: Language, question: str
) -> None:
    record = RECORDS[language].model_copy(update={"personal_history": ""})  # night work may answer for sleep
    reply = answer_from_record(question, record, [], language)
    assert reply == load_words("consultation/words", language)["patient"]["untold"]


@pytest.mark.parametrize(
    ("language", "story", "question", "told"),
    [
        ("en", "He has gained 7 kg.", "Have you lost or put on any weight lately?", "gained 7 kg"),
        ("en", "Her doctor asked for a scan.", "Have you already seen a doctor about it?", "asked for a scan"),
        ("zh", "船医给过丹参片，没有作用。", "之前在别的医院看过没有，医生怎么说的？", "船医给过"),
        ("zh", "颈部不痛，也没有低烧。", "有没有发烧？", "没有低烧"),
        ("zh", "右侧颈部长了肿块。没有手指麻木。", "具体是哪个地方不舒服，您指给我看看？", "右侧颈部"),
    ],
)
def test_a_question_is_answered_from_the_story_and_not_by_what_a_word_of_it_means_elsewhere(
    language: Language, story: str, question: str, told: str
) -> None:
    history = {"en": "He takes no regular medication.", "zh": "平时不吃药。"}[language]
    complaint = {"en": "I feel ill.", "zh": "我不舒服。"}[language]
    person = PatientRecord(chief_complaint=complaint, present_illness=story, past_history=history)
    said = answer_from_record(question, person, [], language)
    assert told in said and not any(word in said for word in ("regular medication", "平时不吃药")), said


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("zh", "孩子都几个了？"),
        ("en", "Do you nod off all right?"),
        ("en", "Spending a penny a lot?"),
    ],
)
def test_an_idiom_for_what_is_not_on_record_does_not_have_the_story_told(language: Language, question: str) -> None:
    record = RECORDS[language].model_copy(update={"personal_history": ""})
    reply = answer_from_record(question, record, [], language)
    assert reply in load_words("consultation/words", language)["patient"].values()


@pytest.mark.parametrize(
    ("language", "question", "told"),
    [
        ("en", "Tell me more about the vomiting.", "I vomited twice."),
        ("en", "Tell me about your work.", "I work at night."),
        ("zh", "说说呕吐的情况。", "呕吐两次。"),
    ],
)
def test_who_asks_to_be_told_asks_without_a_question_mark(language: Language, question: str, told: str) -> None:
    assert told in answer(question, language)


@pytest.mark.parametrize(("language", "question"), [("en", "What brings you here?"), ("zh", "您哪里不舒服？")])
def test_an_open_question_has_the_story_told_bit_by_bit_until_all_is_said(language: Language, question: str) -> None:
    said: list[str] = []
    for _ in range(3):
        said.append(answer(question, language, *said))
    told = [sentence for text in said[:2] for sentence in sentences(text)]
    record = record_sentences(RECORDS[language], ExaminationRecord(), language)
    story = [fact for fact in record if fact.section in ("chief_complaint", "present_illness")]
    assert told == in_own_words(story, voice_of(RECORDS[language], language))
    assert "all that I know" in said[2] or "都说过" in said[2]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("Please have an MRI done.", True),
        ("I need your test results.", True),
        ("请去做个CT。", True),
        ("检查结果怎么样？", True),
        ("What is your blood pressure?", True),
        ("Do you have high blood pressure?", False),
        ("Any temperature, chills or sweats with it?", False),
        ("Are you running a temperature?", False),
        ("What is your temperature?", True),
        ("Could we get a temperature, please?", True),
        ("I'd like a temperature and a pulse, okay?", True),
        ("You have a temperature, so a chest X-ray, all right?", True),
        ("您有高血压吗？", False),
        ("Have you had an MRI before?", False),
        ("以前做过CT吗？", False),
        ("Where does it hurt?", False),
        ("哪里疼？", False),
    ],
)
def test_an_order_is_told_from_a_question_about_earlier_examinations(words: str, wanted: bool) -> None:
    assert wants_examination(words) == wanted


@pytest.mark.parametrize(
    ("question", "recorded"),
    [
        ("Are you allergic to anything?", "Penicillin led to swelling of the lips and hives ten years ago."),
        ("Any allergies to medicines, such as penicillin?", "Sulfonamides once caused hives."),
        ("Have you ever had an operation?", "He had an inguinal hernia repair at the age of 60."),
        ("Which medicines do you take?", "She injects insulin glargine at night."),
    ],
)
def test_what_is_recorded_in_other_words_is_not_denied(question: str, recorded: str) -> None:
    person = PatientRecord(chief_complaint="My knee hurts.", past_history=f"Asthma since childhood. {recorded}")
    answer = answer_from_record(question, person, [], "en")
    assert recorded.rstrip(".").split(" ", 2)[-1] in answer and "Asthma" not in answer.partition(recorded[-12:])[2]


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "question", "reply"),
    [
        ("en", "Would you go without a drop?", "unclear"),  # of several parts, and surely of none
        ("en", "Takes the edge off?", "untold"),  # nobody denies the story
        ("en", "Is the pain worse at night?", "untold"),
        ("en", "What makes it worse?", "untold"),  # and not the rest of the story
        ("en", "Do you live alone?", "untold"),
        ("en", "Have you had a fever?", "nothing"),
        ("zh", "什么情况下会加重？", "untold"),
        ("zh", "躺下去会不会更喘？", "untold"),
        ("zh", "一个人住吗？", "untold"),
        ("zh", "发烧吗？", "nothing"),
    ],
)
def test_only_what_is_surely_heard_and_not_everybodys_is_denied(language: Language, question: str, reply: str) -> None:
    person = {
        "en": PatientRecord(chief_complaint="A lump.", present_illness="She found it on Monday. It is round."),
        "zh": PatientRecord(chief_complaint="有个包。", present_illness="周一摸到的。圆的。"),
    }[language]
    expected = load_words("consultation/words", language)["patient"][reply]
    assert answer_from_record(question, person, [], language) == expected


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "question", "recorded", "beside"),
    [
        ("en", "Are you allergic to anything?", "No medicine had ever disagreed with him.", "He had his tonsils out."),
        ("zh", "有什么过敏的吗？", "青霉素皮试阳性。", "去年体检。"),
        (
            "en",
            "Any medicines that don't agree with you?",
            "Morphine made her itch all over.",
            "A vertebra collapsed at 66.",
        ),
        ("zh", "拉肚子吗？", "3周前拉稀，每天4~6次。", "周日开始。"),
    ],
)
def test_what_the_record_says_without_naming_it_is_not_denied(
    language: Language, question: str, recorded: str, beside: str
) -> None:
    section = "present_illness" if "3周前" in recorded else "past_history"
    facts = [RecordSentence(section, text) for text in (beside, recorded)]
    assert facts_for(question, facts, language) == facts[1:]


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "words", "told"),
    [
        ("en", "Past history?", "I have had hernia operation in 2019. No known drug allergy."),
        ("en", "Allergies.", "No known drug allergy."),
        ("en", "How are your folks?", "My father has gout."),
        ("en", "Go on.", "Pain in the belly since yesterday. It began at noon. The pain is dull."),
        ("zh", "既往史", "2019年做过疝气手术。没有药物过敏。"),
        ("zh", "过敏史", "没有药物过敏。"),
    ],
)
def test_a_bare_heading_is_answered_and_a_go_on_gets_the_story(language: Language, words: str, told: str) -> None:
    assert answer(words, language) == told


@pytest.mark.slow  # the embedding model reads what it has not seen
def test_of_two_subjects_that_are_near_each_other_in_one_part_both_are_told() -> None:
    assert set(subjects_heard("Where is it and what sort of pain?", "en")) == {"site", "character"}
    assert subjects_heard("What makes it worse?", "en") == ("worse",)


@pytest.mark.slow  # the embedding model reads what it has not seen
def test_a_lump_is_told_or_not_denied_where_the_record_or_the_doctor_calls_it_by_its_other_name() -> None:
    [other, named, palpable, stomach] = [
        RecordSentence("present_illness", text)
        for text in (
            "发现右颈部肿物3个月。",
            "发现右颈部肿块3个月。",
            "左手掌中可扪及肿物，质软，压叩痛。",
            "腹痛3天。",
        )
    ]
    assert facts_for("有没有摸到肿块？", [other], "zh") == [other]
    assert facts_for("身上有没有肿物？", [named], "zh") == [named]
    assert denial("身上有没有长什么包块?", "zh", [palpable]) == "untold"
    assert denial("身上有没有肿物？", "zh", [stomach]) == "nothing"


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "I'm so sorry to hear that."),
        ("en", "All right, I've got that noted."),
        ("en", "I know this is worrying, but most people do well."),
        ("zh", "好的，我记下了。"),
        ("zh", "听到这些我很难过。"),
        ("zh", "到您这个岁数，这挺普遍的。"),
        ("zh", "您这个年纪，血压高一点也不稀奇。"),
        ("en", "He says he understands you."),
        ("en", "At your age that is common."),
        ("en", "It's the nurse from the surgery."),
        ("en", "This is the nurse from the surgery, calling about your appointment."),
        ("zh", "他说他听懂你的意思了。"),
        ("zh", "在您这个年龄很常见。"),
    ],
)
def test_a_remark_is_thanked_for_and_nothing_is_told(language: Language, words: str) -> None:
    assert answer(words, language) == load_words("consultation/words", language)["patient"]["thanks"]


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    "words", ["It's the nurse here. Where does it hurt?", "He says it hurts. Where?", "Is that common for you?"]
)
def test_who_says_who_he_is_may_ask_besides(words: str) -> None:
    assert answer(words, "en") != load_words("consultation/words", "en")["patient"]["thanks"]


def test_a_family_history_is_told_only_if_the_family_is_asked_about() -> None:
    """An uncle's bleeding was told for "When did it start?"."""
    story = "The bleeding began on Monday. Family history includes the patient's uncle, who bled for days."
    person = PatientRecord(chief_complaint="My gums bleed.", present_illness=story)
    for question, is_told in (
        ("When did it start?", False),
        ("Have you noticed anything else besides?", False),
        ("Are there illnesses that run in your family?", True),
        ("Anybody related to you had something similar?", True),
    ):
        assert ("uncle" in answer_from_record(question, person, [], "en")) == is_told


def test_what_a_sentence_says_of_oneself_is_told_though_it_names_the_family_too() -> None:
    story = (
        "The bleeding began on Monday. Denies fever, joint pains (except noted in family history) or earlier illnesses."
    )
    person = PatientRecord(chief_complaint="My gums bleed.", present_illness=story)
    assert "fever" in answer_from_record("Been running a temperature at all?", person, [], "en")


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "You ought to give up smoking."),
        ("en", "Keep off the cigarettes for a while."),
        ("en", "Leave the coffee alone for now."),
        ("zh", "您应该戒烟。"),
        ("zh", "咖啡这阵子先不喝了。"),
    ],
)
def test_advice_that_names_a_habit_asks_for_nothing(language: Language, words: str) -> None:
    facts = record_sentences(RECORDS[language], ExaminationRecord(), language)
    assert facts_for(words, facts, language) == []


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "words", "reply"),
    [
        ("en", "I'd like to get some bloods and take a listen to your chest, is that okay?", "advised"),
        ("en", "I think we should do a urine test. Is that fine with you?", "advised"),
        ("en", "Can I examine your tummy?", "advised"),
        ("en", "I'd suggest an ultrasound and an ECG. Have you had those done already?", "advised"),
        ("en", "I want you to stop smoking, okay?", "followed"),
        ("zh", "我想给您抽个血，再听一下肺，可以吗？", "advised"),
        ("zh", "我建议您把烟戒了，好不好？", "followed"),
    ],
)
def test_whether_something_may_be_done_asks_for_no_fact(language: Language, words: str, reply: str) -> None:
    assert answer(words, language) == load_words("consultation/words", language)["patient"][reply]


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "words", "reply"),
    [
        ("en", "A hernia operation, have you ever had one?", "I have had hernia operation in 2019."),
        ("en", "Gout in the family, have they had that?", "My father has gout."),
        ("zh", "胃口，好吗？", "这个我说不上来。"),
    ],
)
def test_a_question_behind_its_subject_asks_for_a_fact(language: Language, words: str, reply: str) -> None:
    assert answer(words, language) == reply


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize("question", ["Do you take any medication regularly?", "Do you have headaches regularly?"])
def test_whether_something_happens_regularly_is_denied_where_nothing_is_recorded(question: str) -> None:
    assert answer(question, "en") == load_words("consultation/words", "en")["patient"]["nothing"]


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    ("language", "question"),
    [("en", "Are you allergic to penicillin? Or anything else?"), ("zh", "青霉素过敏吗？别的呢？")],
)
def test_anything_else_after_another_question_asks_more_of_the_same(language: Language, question: str) -> None:
    assert answer(question, language) == {"en": "No known drug allergy.", "zh": "没有药物过敏。"}[language]


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize(
    "question", ["Is there anything else you think I ought to know?", "Is there anything we haven't talked about?"]
)
def test_who_asks_for_anything_else_hears_the_story_and_is_not_led_back_to_it(question: str) -> None:
    assert answer(question, "en").startswith("It began at noon.")


def test_an_answer_says_no_as_a_whole_and_not_within() -> None:
    record = PatientRecord(
        chief_complaint="Cough.",
        past_history="Appendectomy in 2001. No significant past medical history. He takes aspirin.",
    )
    asked = "Which illnesses or operations have you had before, and what medicines do you take?"
    said = answer_from_record(asked, record, [], "en")
    assert "I have not had any serious illness before." in said and "aspirin" in said
    assert "No, " not in said[1:]
    alone = PatientRecord(chief_complaint="Cough.", past_history="No significant past medical history.")
    assert answer_from_record(asked, alone, [], "en") == "No, I have not had any serious illness before."


@pytest.mark.parametrize(
    ("language", "illness", "earlier", "said"),
    [
        ("zh", "夜间加重。有高血压病史，血压控制一般。", "高血压", "夜间加重。"),
        ("zh", "夜间加重。左腹股沟斜疝术后1年。", "斜疝", "夜间加重。"),
        (
            "en",
            "It is worse at night. He has a history of hypertension for which he takes clopamide.",
            "clopamide",
            "night",
        ),
    ],
)
def test_an_earlier_illness_in_the_story_is_told_where_it_is_asked_for_and_is_no_complaint(
    language: Language, illness: str, earlier: str, said: str
) -> None:
    """Imported records have it there; patients told it when asked what else they had noticed."""
    record = PatientRecord(chief_complaint={"en": "A cough.", "zh": "咳嗽一周。"}[language], present_illness=illness)
    questions = load_words("medchain/words", language)["doctor"]["questions"]
    of_now = answer_from_record(questions[2], record, [], language)
    assert said in of_now and earlier not in of_now
    assert earlier in answer_from_record(questions[3], record, [Turn(speaker="patient", text=of_now)], language)


@pytest.mark.parametrize(
    ("sentence", "is_of_the_past"),
    [
        ("食管癌放疗史，长期高血压病史，吸烟史。", True),
        ("有两次剖宫产史。", True),
        ("She has a history of type 2 diabetes mellitus.", True),
        ("7年咳嗽、咳痰、喘息病史。", False),
        ("病史1年，孕期使用胰岛素。", False),
        ("有高血压及糖尿病史，急性起病。", False),
        ("摔伤病史。", False),
        ("She has a history of flank pain.", False),
        ("He has a history of hypertension for which he takes clopamide.", True),
        ("He has a history of diabetes and presents with chest pain.", False),
        ("She has a history of asthma and has coughed for three days.", False),
        ("He had a history of hypertension, now well.", False),
        ("She has a history of high blood pressure that she stopped treating.", False),
        ("高血压病史5年，服药后头晕。", False),
        ("糖尿病史，注射胰岛素后多汗。", False),
        ("胆囊切除术后3月，服药后出现皮疹。", False),
        ("高血压病史5年，口服氨氯地平。", True),
        ("He has a history of hypertension and presents with two hours of chest pain.", False),
        ("She has a history of asthma and now cannot get her breath.", False),
        ("He has a history of asthma for which he uses inhaled salbutamol.", True),
        ("高血压病史5年，近3天服药后头晕。", False),
        ("冠心病史5年，昨夜服药后无缓解。", False),
        ("精神分裂症病史3年，自行停药2周。", False),
        ("有高血压病史，未规律服药，近1年未监测血压。", True),
    ],
)
def test_a_sentence_is_of_earlier_illnesses_if_it_tells_of_nothing_else(sentence: str, is_of_the_past: bool) -> None:
    pattern = patterns("nodes.offline", "patterns")["of_earlier_illnesses"]
    assert (pattern.fullmatch(sentence) is not None) is is_of_the_past
