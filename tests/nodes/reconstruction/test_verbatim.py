"""A dialogue in its note's own words says in each sentence what one sentence of the note says."""

from collections.abc import Sequence

import pytest

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.vocabulary import Language
from llm.specs import OFFLINE
from nodes.reconstruction.parsed import ParsedDialogue
from nodes.reconstruction.verbatim import by_the_other, changed

NOTE: dict[Language, str] = {
    "en": "The woman has had a dull ache in the left knee for 3 weeks after kneeling on a tiled floor. She denies "
    "fever, locking of the joint and swelling of the ankle. Her mother had gout and her father a hip fracture. On "
    "examination the left knee is warm with a small effusion, and bending stops at 110 degrees. Plan: rest, cold packs "
    "and ibuprofen 400 mg three times a day.",
    "zh": "患者3周前跪地擦瓷砖后左膝部持续隐隐作痛，上下楼梯时明显加重。无发热、寒战，无关节交锁，睡眠正常。"
    "母亲患痛风多年，父亲曾有髋部骨折。查体：左膝皮温略高，少量积液，屈曲至110度受限。"
    "建议休息，局部冷敷，布洛芬400毫克每日三次。",
}
SAID: dict[Language, list[str]] = {
    "en": [
        "Hello, what brings you here?",
        "I have had a dull ache in the left knee for 3 weeks, after kneeling on a tiled floor.",
        "What else have you noticed?",
        "I have had no fever, no locking of the joint and no swelling of the ankle.",
        "Which illnesses run in the family?",
        "My mother had gout, and my father a hip fracture.",
        "The left knee is warm with a small effusion, and bending stops at 110 degrees.",
        "I see.",
        "Rest, cold packs and ibuprofen 400 mg three times a day.",
        "Thank you, doctor.",
    ],
    "zh": [
        "您好，请坐。您哪里不舒服？",
        "我3周前跪地擦瓷砖后左膝部持续隐隐作痛，上下楼梯时明显加重。",
        "还有别的吗？",
        "我没有发热、寒战，没有关节交锁，睡眠正常。",
        "家里人有什么病吗？",
        "母亲患痛风多年，父亲曾有髋部骨折。",
        "左膝皮温略高，少量积液，屈曲至110度受限。",
        "好的。",
        "建议休息，局部冷敷，布洛芬400毫克每日三次。",
        "谢谢医生。",
    ],
}


def found(language: Language, said: Sequence[str], note: str = "") -> list[int | None]:
    """The numbers of the turns that say something else than the note."""
    roles = [PHYSICIAN if number % 2 == 0 else PATIENT for number in range(len(said))]
    messages = [Message(role=role, content=text) for role, text in zip(roles, said, strict=True)]
    parsed = ParsedDialogue(Dialogue(id="1", note=note or NOTE[language], messages=messages, language=language))
    return [turn for _, turn in changed(parsed)]


def test_a_chinese_sentence_as_a_patient_says_it_is_no_change() -> None:
    note = NOTE["zh"].replace("睡眠正常。", "睡眠正常。父母体健，家族中无遗传病史。")
    said = [*SAID["zh"][:5], "父母身体挺好，家里没有人有遗传病。母亲有痛风多年，父亲曾有髋部骨折。", *SAID["zh"][6:]]
    assert found("zh", said, note) == []


def test_what_the_patients_rules_say_for_a_history_of_being_is_no_change() -> None:
    note = NOTE["en"].replace("Her mother", "History of being a professional athlete. Her mother")
    said = [*SAID["en"][:5], "I used to be a professional athlete. My mother had gout.", *SAID["en"][6:]]
    assert found("en", said, note) == []


def test_a_complaint_behind_a_name_and_an_age_is_no_change_in_the_patients_words() -> None:
    note = "姓名：王某，女，45岁，因腹痛3天入院。既往史：高血压10年。"
    said = ["您哪里不舒服？", "是因为腹痛3天来的。", "以前得过什么病？", "高血压10年。"]
    parsed = ParsedDialogue(
        Dialogue(
            id="1",
            note=note,
            messages=[
                Message(role=PATIENT if number % 2 else PHYSICIAN, content=text) for number, text in enumerate(said)
            ],
            language="zh",
            models=[OFFLINE],
        )
    )
    assert [*changed(parsed)] == []


@pytest.mark.parametrize("language", NOTE)
def test_the_notes_sentences_spoken_are_no_change(language: Language) -> None:
    assert found(language, SAID[language]) == []


@pytest.mark.parametrize(
    ("language", "turn", "was", "becomes"),
    [
        ("en", 2, "the left knee", "the right knee"),
        ("en", 2, "a dull ache", "a dull ache and a rash"),
        ("en", 2, "3 weeks", "8 weeks"),
        ("en", 4, "I have had no fever", "I have had a fever"),
        ("en", 6, "my father a hip fracture", "my uncle a hip fracture"),
        ("en", 6, "My mother had gout", "My mother never had gout"),
        ("en", 7, "a small effusion", "a small effusion and a torn meniscus"),
        ("en", 8, "I see.", "I want morphine."),
        ("en", 9, "ibuprofen", "prednisolone"),
        ("en", 9, "Rest,", "Stop your insulin and eat nothing for a week. Rest,"),
        ("zh", 2, "左膝部", "右膝部"),
        ("zh", 2, "隐隐作痛", "隐隐作痛，大腿起水疱"),
        ("zh", 2, "3周前", "8周前"),
        ("zh", 4, "没有关节交锁", "有关节交锁"),
        ("zh", 6, "父亲曾有髋部骨折", "祖父曾有髋部骨折"),
        ("zh", 6, "痛风多年", "痛风多年，化疗"),  # a word of the rules that nobody says
        ("zh", 7, "少量积液", "少量积液，半月板撕裂"),
        ("zh", 9, "布洛芬", "泼尼松"),
        ("zh", 9, "建议休息", "先停用胰岛素，建议休息"),
    ],
)
def test_each_change_is_found_where_it_stands(language: Language, turn: int, was: str, becomes: str) -> None:
    said = list(SAID[language])
    assert was in said[turn - 1]
    said[turn - 1] = said[turn - 1].replace(was, becomes)
    assert found(language, said) == [turn]


def test_a_dialogue_in_words_of_its_own_is_left_to_the_reader() -> None:
    said = [
        "Hi there, how can I help?",
        "My knee has been playing up ever since I redid the bathroom.",
        "Is it swollen, or do you feel hot?",
        "A bit puffy maybe. No temperature. My cousin has arthritis.",
        "Let me have a feel. There's some fluid in there.",
        "Is that bad?",
    ]
    assert found("en", said) == []


def test_a_short_dialogue_that_rules_wrote_has_no_words_but_the_notes() -> None:
    note = "Chief complaint: Cough for 3 days.\nAllergies: He has no allergies."
    said = ["Hello, doctor.", "What is it?", "I have had a cough for 3 days.", "Any allergies?"]
    denial = "No, I am not allergic to anything that I know of."

    def turns(*more: str, models: list[str]) -> list[int | None]:
        roles = [PATIENT, PHYSICIAN] * len(said)
        messages = [Message(role=role, content=text) for role, text in zip(roles, [*said, *more], strict=False)]
        return [
            turn for _, turn in changed(ParsedDialogue(Dialogue(id="a", note=note, messages=messages, models=models)))
        ]

    assert turns(denial, models=["offline"]) == []
    assert turns(f"{denial} My neighbour is a plumber.", models=["offline"]) == [5]
    assert turns(f"{denial} My neighbour is a plumber.", models=["openai:m"]) == []  # few words: left to the reader


HEADED: dict[Language, tuple[str, ...]] = {
    "en": (
        "Present illness: Her knee has ached for weeks.\n"
        "Physical examination: The left knee is warm with a small effusion.\n"
        "Family history: Her mother had gout of both big toes.",
        "The left knee is warm with a small effusion.",
        "My mother had gout of both big toes.",
        "I had gout of both big toes.",
    ),
    "zh": (
        "现病史：左膝持续隐痛3周。\n体格检查：左膝皮温略高，有少量积液。\n家族史：母亲患有痛风，双足跖趾关节反复红肿多年。",
        "左膝皮温略高，有少量积液。",
        "母亲患有痛风，双足跖趾关节反复红肿多年。",
        "我有痛风，双足跖趾关节反复红肿多年。",
    ),
}


@pytest.mark.parametrize("language", HEADED)
def test_findings_are_the_physicians_to_tell_and_a_history_the_patients_and_a_relatives_stays_the_relatives(
    language: Language,
) -> None:
    note, finding, history, own = HEADED[language]

    def told(by_patient: str, by_physician: str, model: str = OFFLINE) -> list[int | None]:
        messages = [Message(role=PATIENT, content=by_patient), Message(role=PHYSICIAN, content=by_physician)]
        dialogue = Dialogue(id="1", note=note, messages=messages, language=language, models=[model])
        return [turn for _, turn in by_the_other(ParsedDialogue(dialogue))]

    assert told(history, finding) == []
    assert told(finding, history) == [1, 2]
    assert told("...", history, "fake") == []
    assert told(own, finding) == [1]


@pytest.mark.parametrize(
    ("language", "asked", "reply", "refused"),
    [
        ("en", "Any trouble with your bladder?", "No, never.", False),
        ("en", "When was that first found?", "I don't remember.", False),
        ("en", "Do you cough at night?", "No, I do not cough at night.", False),
        ("en", "Do you cough at night?", "Yes, I cough at night.", True),
        ("en", "Do you cough at night?", "No, I never eat.", True),
        ("en", "Does the knee ache?", "No, I have no ache in the knee.", True),
        ("en", "Any trouble with your bladder?", "Nothing unusual, and nobody has told me.", False),
        ("en", "When was that first found?", "It is hard to say.", False),
        ("en", "Any trouble with your bladder?", "I have noticed something unusual.", True),
        ("en", "Any cough or wheezing?", "No cough or wheezing.", False),
        ("en", "Any cough or wheezing?", "No cough, only wheezing.", True),
        ("zh", "小便有问题吗？", "没有这种情况。", False),
        ("zh", "是什么时候查出来的？", "不太清楚。", False),
        ("zh", "有没有咳嗽？", "没有，没有咳嗽。", False),
        ("zh", "有没有咳嗽？", "有，一直咳嗽。", True),
        ("zh", "左膝疼痛吗？", "没有，左膝不痛。", True),
        ("zh", "对青霉素过敏吗？", "对青霉素不过敏。", False),
        ("zh", "小便有问题吗？", "有这些症状。", True),
        ("zh", "有没有咳嗽、气喘？", "没有咳嗽，也没有气喘。", False),
        ("zh", "有没有咳嗽、气喘？", "没有咳嗽，就是气喘。", True),
    ],
)
def test_who_says_only_no_or_not_sure_beyond_the_note_changes_nothing(
    language: Language, asked: str, reply: str, refused: bool
) -> None:
    said = SAID[language]
    assert found(language, [*said, asked, reply]) == ([len(said) + 2] if refused else [])


def test_a_word_of_courtesy_that_tells_something_is_a_change() -> None:
    assert found("en", [*SAID["en"][:7], "It is worse at night.", *SAID["en"][8:]]) == [8]


@pytest.mark.parametrize("history", ["My sister has lupus and I drink vodka daily.", "Your mother had diabetes."])
def test_a_history_that_the_note_lacks_is_a_change_in_the_closing_sections_too(history: str) -> None:
    roles = [PHYSICIAN if number % 2 == 0 else PATIENT for number in range(10)]
    said = [*SAID["en"][:8], "I suspect bursitis.", history]
    messages = [Message(role=role, content=text) for role, text in zip(roles, said, strict=True)]
    closing = {"sections": {"initial_diagnosis": 8}, "inferred": "bursitis"}
    assert [
        turn for _, turn in changed(ParsedDialogue(Dialogue(id="1", note=NOTE["en"], messages=messages, **closing)))
    ] == [10]


@pytest.mark.parametrize(
    ("language", "consents", "infers"),
    [
        ("en", "All right, go ahead.", "Putting it together, I suspect bursitis; a blood test would settle it."),
        ("zh", "好的。", "综合来看，我考虑是滑囊炎，还要抽血化验。"),
    ],
)
def test_the_disease_that_a_model_infers_and_its_tests_are_no_change(
    language: Language, consents: str, infers: str
) -> None:
    said = [*SAID[language][:7], consents, infers, SAID[language][9]]
    roles = [PHYSICIAN if number % 2 == 0 else PATIENT for number in range(len(said))]
    messages = [Message(role=role, content=text) for role, text in zip(roles, said, strict=True)]
    dialogue = Dialogue(id="1", note=NOTE[language], messages=messages, language=language)
    planned = dialogue.model_copy(update={"sections": {"initial_diagnosis": 8}, "inferred": "bursitis"})
    by_rules = planned.model_copy(update={"models": [OFFLINE]})
    assert list(changed(ParsedDialogue(planned))) == []
    assert (
        {turn for _, turn in changed(ParsedDialogue(dialogue))}
        == {turn for _, turn in changed(ParsedDialogue(by_rules))} - {8}
        == {9}
    )


@pytest.mark.parametrize(("language", "bare", "answered"), [("en", "No, I don't.", "No."), ("zh", "有。", "没有。")])
def test_a_dialogue_by_rules_has_no_bare_answer_and_no_question_that_its_own_turn_answers(
    language: Language, bare: str, answered: str
) -> None:
    said = SAID[language]
    for spoken, turns in (
        (said, []),
        ([*said[:3], bare, *said[4:]], [4]),
        ([*said[:2], f"{said[2]} {answered}", *said[3:]], [3]),
    ):
        roles = [PHYSICIAN if number % 2 == 0 else PATIENT for number in range(len(spoken))]
        messages = [Message(role=role, content=text) for role, text in zip(roles, spoken, strict=True)]
        dialogue = Dialogue(id="1", note=NOTE[language], messages=messages, language=language, models=[OFFLINE])
        assert [turn for _, turn in changed(ParsedDialogue(dialogue))] == turns
        freely = dialogue.model_copy(update={"models": ["openai:m"]})
        assert [turn for message, turn in changed(ParsedDialogue(freely)) if "own question" in message] == []


@pytest.mark.parametrize(
    ("language", "note", "said"),
    [
        ("en", "Non-smoker, rarely drinks alcohol.", "I do not smoke and rarely drink alcohol."),
        ("en", "Unremarkable except for alcohol abuse.", "Alcohol abuse."),
        ("en", "He had a clot in the right leg 5 years prior.", "I had a clot in the right leg 5 years ago."),
        ("en", "Smokes 2 ppd.", "I smoke 2 packs a day."),
        ("en", "Previously healthy, takes no medications.", "I was previously healthy and take no medications."),
        ("zh", "父母均非近亲婚配。", "父母不是近亲结婚。"),
    ],
)
def test_what_rules_make_of_a_chart_is_no_change(language: Language, note: str, said: str) -> None:
    assert problems_by_rules(language, note, said) == []


def test_of_a_list_the_items_that_are_told_say_whether_a_relative_has_it() -> None:
    note = "Other symptoms: Lack of close friendships at school; Trouble in the family."
    assert problems_by_rules("en", note, "I have also had lack of close friendships at school.") == []
    mother = "Her mother had lack of close friendships at school; trouble at work."
    assert problems_by_rules("en", mother, "I have also had lack of close friendships at school.")


def problems_by_rules(language: Language, note: str, said: str) -> list[str]:
    messages = [Message(role=PATIENT, content="Hello."), Message(role=PHYSICIAN, content="Go on.")]
    messages.append(Message(role=PATIENT, content=said))
    parsed = ParsedDialogue(Dialogue(id="1", note=note, messages=messages, language=language, models=[OFFLINE]))
    return [message for rule in (changed, by_the_other) for message, _ in rule(parsed)]
