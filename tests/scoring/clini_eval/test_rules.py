import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import load_cases
from cases.dialogues import Dialogue, Message
from cases.notes import Note, note_of
from cases.text.words import stem
from cases.vocabulary import Language
from nodes.reconstruction.knowledge import KnowledgeView, knowledge_of_the_note
from nodes.reconstruction.plan import fill_plan
from nodes.reconstruction.role_setting import roles_of
from scoring.clini_eval import rules
from scoring.clini_eval.points import LEAVES
from scoring.clini_eval.rules import count_points, findings_of, is_urgent, questions_at_once, read_interview
from tests.scoring.clini_eval_dialogues import NOTE, interview

# What depends on medicine or on tact, and so on a judge.
JUDGED = {
    "concomitant_symptoms",
    "customized_inquiry",
    "organization",
    "detailed_inquiry",
    "question_types",
    "non_leading",
    "patients_perspective",
    "direct_responses",
    "empathy",
    "diagnosis_consistency",
    "basis_consistency",
    "tests_consistency",
}
COUNTED = LEAVES.keys() - JUDGED


def talk(*rounds: tuple[str, str], note: str = "A man coughs.", language: str = "en") -> Dialogue:
    messages = [
        Message(role=role, content=text)
        for physician, patient in rounds
        for role, text in (("assistant", physician), ("user", patient))
    ]
    return Dialogue.model_validate({"id": "1", "messages": messages, "note": note, "language": language})


def test_what_needs_judgement_is_not_counted() -> None:
    assert count_points(interview("en", good=True)).counted.keys() == COUNTED


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("leaf", sorted(COUNTED))
def test_the_good_interview_has_more_points_of_every_leaf_that_is_counted(leaf: str, language: str) -> None:
    good, bad = (count_points(interview(language, good)).counted[leaf] for good in (True, False))
    assert 0 <= bad < good <= LEAVES[leaf].maximum


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_leaf_is_counted_or_says_why_not(language: str) -> None:
    points = count_points(interview(language, good=True))
    assert points.counted.keys() | points.unscored.keys() == LEAVES.keys()
    assert points.unscored.keys() == JUDGED and all(points.unscored.values())


def test_a_physician_who_asks_nothing_gets_no_points_for_how_he_asks() -> None:
    points = count_points(talk(("You had a cold in your family.", "Oh.")))
    asked = ("two_questions", "rarely_repetitive", "no_jargon", "brief_responses")
    assert [points.counted[leaf] for leaf in asked] == [0, 0, 0, 0]
    assert points.counted["family_history"] == 0, "what is told is not asked for"


def test_what_the_patient_says_is_not_the_physicians_question() -> None:
    points = count_points(talk(("I see.", "Do you want to know whether I smoke or have allergies?")))
    assert points.counted["personal_history"] == points.counted["medication_and_allergies"] == 0


@pytest.mark.parametrize(
    ("words", "language", "asks"),
    [
        ("We need not talk about smoking or your medicines, all right?", "en", False),
        ("I will not ask whether you smoke or take medicines, okay?", "en", False),
        ("No need to go through your medicines, is there?", "en", False),
        ("I don't know if you told me: do you smoke, and which medicines do you take?", "en", True),
        ("Don't you have to take medicines when you smoke?", "en", True),
        ("I will not ask what you take, how you sleep or whether you smoke, is that all right?", "en", False),
        ("I can't hear you: do you smoke or take medicines?", "en", True),
        ("Never mind your work, but do you smoke, and which medicines do you take?", "en", True),
        ("You need not tell me all, do you smoke or take medicines?", "en", True),
        ("抽烟和用药就不用说了吧？", "zh", False),
        ("我不问您抽不抽烟，用什么药，您看可以吗？", "zh", False),
        ("先不谈工作，您抽烟吗，用什么药？", "zh", True),
        ("您是不是对抽烟都没有兴趣了，用药吗？", "zh", True),
        ("抽烟、用药的事我不想知道，行吗？", "zh", False),
        ("You needn't go into your smoking or your medicines, all right?", "en", False),
        ("Have you noticed that you don't talk or go out since you smoke or take medicines?", "en", True),
        ("有没有不想说话、心跳过快？抽烟吗？用药吗？", "zh", True),
        ("我对抽烟、用药没兴趣，好吗？", "zh", False),
        ("对抽烟、用药没有兴趣了吗？", "zh", True),
        ("请分别说说抽烟和用药的情况？", "zh", True),
        ("您跳过早餐、抽烟、用药吗？", "zh", True),
        ("家人不关心您抽烟和用药吗？", "zh", True),
        ("Let's give your smoking and your medicines a miss, okay?", "en", False),
        ("What you smoke or which medicines you take is of no consequence to me, is it?", "en", False),
        ("It may not matter, but do you smoke or take medicines?", "en", True),
        ("烟和药咱们都免谈，行吧？", "zh", False),
        ("抽不抽烟、用什么药，我听了也没用，是吧？", "zh", False),
        ("您就当闲聊，抽烟吗，用药吗？", "zh", True),
        ("Shall we move on to your smoking and your medicines?", "en", True),
        ("Now let's talk about your smoking and your medicines, okay?", "en", True),
        ("Are you okay with telling me about your smoking and your medicines?", "en", True),
        ("接下来我们聊聊您抽烟和用药，好吗？", "zh", True),
        ("现在说说您抽烟和用药的情况，好吗？", "zh", True),
        ("我们再回到抽烟和用药上来，好吗？", "zh", True),
    ],
)
def test_who_declines_to_ask_has_not_asked(words: str, language: str, asks: bool) -> None:
    counted = count_points(talk((words, "-"), language=language)).counted
    assert all((counted[leaf] > 0) == asks for leaf in ("personal_history", "medication_and_allergies"))


@pytest.mark.parametrize(
    ("leaf", "language", "words"),
    [
        ("chief_complaint", "en", "What made you come in today?"),
        ("cardinal_symptom_characteristics", "en", "Whereabouts is it?"),
        ("cardinal_symptom_characteristics", "zh", "有什么能让它轻一点，或者更重？"),
        ("family_history", "zh", "家里有人有过这种情况吗：中风？"),
        ("family_history", "zh", "家里有没有人看过精神科？"),
    ],
)
def test_a_subject_counts_as_asked_for_in_everyday_words(leaf: str, language: Language, words: str) -> None:
    asked = Dialogue(id="d", note="x", language=language, messages=[Message(role="assistant", content=words)])
    assert count_points(asked).counted[leaf] > 0


@pytest.mark.parametrize(
    ("words", "past"),
    [
        ("Have you seen a doctor or tried any treatment for it?", False),
        ("Were you treated for it?", True),
        ("What treatment for those was given?", True),
    ],
)
def test_treatment_of_the_complaint_is_not_that_of_earlier_illnesses(words: str, past: bool) -> None:
    counted = count_points(talk((words, "No."))).counted
    assert counted["illness_treatment"] > 0 or past
    assert (counted["past_treatment"] > 0) == past


@pytest.mark.parametrize(
    ("words", "past"),
    [
        ("Do you take anything for your blood pressure?", True),
        ("What did they do for your asthma back then?", True),
        ("How are your sugars running?", True),
        ("What tablets are you on for your cholesterol?", True),
        ("高血压平时吃什么药？", True),
        ("以前的胃溃疡治疗过吗？", True),
        ("血压现在稳定吗？", True),
        ("Has anyone in your family had diabetes?", False),
        ("Do you take anything for the headache?", False),
        ("Did anything happen at the time it began?", False),
        ("家里人有糖尿病吗？", False),
        ("这次来之前治疗过吗？", False),
    ],
)
def test_treatment_of_an_illness_that_is_named_is_that_of_an_earlier_one(words: str, past: bool) -> None:
    language: Language = "en" if words.isascii() else "zh"
    asked = Dialogue(id="d", note="x", language=language, messages=[Message(role="assistant", content=words)])
    assert (count_points(asked).counted["past_treatment"] > 0) is past


def test_a_request_without_a_question_mark_asks() -> None:
    assert count_points(talk(("Please tell me about your family.", "Well."))).counted["family_history"] == 2


def test_a_term_is_jargon_wherever_the_physician_leaves_it_unexplained() -> None:
    plain = count_points(talk(("Any dyspnea, that is, trouble breathing?", "No."))).counted["no_jargon"]
    jargon = count_points(talk(("Any dyspnea?", "No."))).counted["no_jargon"]
    told = count_points(talk(("Any trouble?", "No."), ("The film shows a radiolucency.", "Oh."))).counted["no_jargon"]
    named = talk(("Any trouble?", "No."), ("It is a myocardial infarction.", "Oh."))
    named.diseases.append("Myocardial infarction")
    assert (plain, jargon, told, count_points(named).counted["no_jargon"]) == (2, 0, 1, 2)


def test_a_third_question_at_once_is_one_too_many() -> None:
    two = count_points(talk(("Where? When?", "Here.")))
    half = count_points(talk(("Where? When? How?", "Here."), ("Since when?", "Now.")))
    assert two.counted["two_questions"] == 3 and half.counted["two_questions"] == 1.5


URGENT = {"en": "A man has had chest pain for two hours.", "zh": "患者胸痛两小时。"}


@pytest.mark.parametrize(
    ("language", "said", "points"),
    [
        ("en", "Go to the emergency room.", 1),
        ("en", "You have to be treated in hospital immediately.", 1),
        ("en", "Did you go to the hospital immediately?", 0),
        ("en", "Please come back at once if anything gets worse.", 0),
        ("en", "There is no need to go to the emergency room.", 0),
        ("en", "We immediately had the hospital send the film.", 0),
        ("en", "The pain came on immediately.", 0),
        ("en", "Take a rest.", 0),
        ("zh", "您要立即住院。", 1),
        ("zh", "请马上去急诊。", 1),
        ("zh", "如果加重，请马上来医院。", 0),
        ("zh", "不用马上去医院。", 0),
        ("zh", "回去休息吧。", 0),
    ],
)
def test_where_the_note_is_urgent_only_unconditional_advice_to_seek_care_now_earns_the_point(
    language: str, said: str, points: float
) -> None:
    dialogue = talk(("Where is the pain?", "Here."), (said, "Oh."), note=URGENT[language], language=language)
    assert count_points(dialogue).counted["urgent_care"] == points


def test_urgent_care_is_not_assessed_where_the_note_is_not_urgent() -> None:
    assert "urgent_care" in count_points(talk(("Go to the emergency room.", "Why?"))).unscored
    for note in ("He has had no chest pain.", "Ten weeks ago he fell two metres.", "He works ten hours a day."):
        assert not is_urgent(f"History of present illness: {note}", "en"), note
    for note in ("患者无胸痛。", "现病史：每天工作十小时。"):
        assert not is_urgent(note, "zh"), note


@pytest.mark.parametrize(("since", "urgent"), [("three months", False), ("two days", True)])
def test_beside_a_complaint_of_weeks_what_the_present_illness_tells_of_is_past(since: str, urgent: bool) -> None:
    told = "History of present illness: He fainted twice and was treated in the emergency department."
    assert is_urgent(f"Chief complaint: I have been dizzy for {since}.\n{told}", "en") == urgent
    assert is_urgent(f"Chief complaint: I have been dizzy for {since} and fainted today.\n{told}", "en")


def test_of_the_built_in_cases_every_emergency_and_hardly_a_routine_case_is_urgent() -> None:
    found: dict[str | None, list[bool]] = {}
    for case in load_cases("builtin"):
        note = note_of(case)
        found.setdefault(case.key.urgency, []).append(is_urgent(note.text, note.language))
    assert all(found["emergency"]) and sum(found["routine"]) <= 0.05 * len(found["routine"])


@pytest.mark.parametrize(
    ("language", "sentence", "count"),
    [
        ("en", "Where is it, when did it begin, how bad is it, what helps, does it spread?", 5),
        ("en", "Where is it and when did it begin and how bad is it?", 3),
        ("en", "Tell me where it is, when it began, how bad it is, what helps, who knows.", 5),
        ("en", "Any fever, any cough, any rash?", 3),
        ("en", "Do you have fever, cough, chest pain, a rash or a headache?", 3),
        ("en", "Do you have fever, cough, chest pain or a rash?", 1),
        ("en", "Do you have fever, chills or a cough?", 1),
        ("en", "How old are you, and what is your job?", 2),
        ("en", "Do you smoke or drink?", 1),
        ("zh", "您哪里不舒服，什么时候开始的，怎么痛，有没有发热，吃过什么药？", 5),
        ("zh", "有没有发热、咳嗽、胸痛、恶心、头痛？", 3),
        ("zh", "有没有发热、咳嗽、胸痛、恶心？", 1),
        ("zh", "有没有发热、咳嗽？", 1),
    ],
)
def test_questions_that_commas_and_conjunctions_join_are_counted_one_by_one(
    language: Language, sentence: str, count: int
) -> None:
    assert questions_at_once(sentence, language) == count
    kept = count_points(talk((sentence, "Well."), language=language)).counted["two_questions"]
    assert kept == (3 if count <= 2 else 0)


@pytest.mark.parametrize(
    ("first", "again", "points"),
    [
        ("Do you smoke?", "Do you smoke?", 0.5),
        ("Do you smoke?", "And have you ever smoked?", 0.5),
        ("Do you smoke?", "Do you drink?", 1),
        ("Where is the pain?", "When is the pain there?", 1),
        ("您抽烟吗？", "请问您有没有抽烟？", 0.5),
        ("您抽烟吗？", "您喝酒吗？", 1),
    ],
)
def test_a_question_asked_twice_is_repeated_unless_the_patient_did_not_understand(
    first: str, again: str, points: float
) -> None:
    language = "en" if first.isascii() else "zh"
    asked = talk((first, "No."), (again, "No."), language=language)
    assert count_points(asked).counted["rarely_repetitive"] == points
    unclear = talk((first, "What do you mean?"), (again, "No."), language=language)
    assert count_points(unclear).counted["rarely_repetitive"] == 1


MORE = {
    "en": ["Mm-hm. And?", "Please go on.", "Tell me more.", "I see."],
    "zh": ["嗯。", "请继续说。", "还有呢？", "好的。", "请说。", "好的，请讲。"],
}


@pytest.mark.parametrize("language", ["en", "zh"])
@given(data=st.data())
def test_of_a_silent_physician_no_number_is_above_zero_though_the_patient_recites_the_note(
    language: str, data: st.DataObject
) -> None:
    said = data.draw(st.lists(st.sampled_from(MORE[language]), min_size=1, max_size=6))
    dialogue = talk(*((one, NOTE[language]) for one in said), note=NOTE[language], language=language)
    assert not any(count_points(dialogue).counted.values())


def test_going_on_again_and_again_is_read_in_one_pass() -> None:
    """The time doubled with each repetition."""
    dialogue = talk(("继续说，" * 200 + "哪里疼？", "肚子。"), language="zh")
    assert read_interview(dialogue).turns[0].questions


@pytest.mark.parametrize(("language", "word", "most"), [("en", "then ", 40), ("zh", "再", 80)])
def test_a_turn_is_brief_up_to_its_languages_length(language: Language, word: str, most: int) -> None:
    question = {"en": "Any fever?", "zh": "发热吗？"}[language]
    rest = most - (len(question.split()) if language == "en" else len(question))
    points = [
        count_points(talk((word * number + question, "No."), language=language)).counted["brief_responses"]
        for number in (rest, rest + 1)
    ]
    assert points == [LEAVES["brief_responses"].maximum, 0]


SPOILT = {
    "two_questions": (
        "Where is it, when did it begin, how bad is it, what helps, does it spread?",
        "哪里痛，什么时候开始的，怎么痛，多久了，吃过什么药？",
    ),
    "rarely_repetitive": ("How can I help you today?", "哪里不舒服？"),
    "no_jargon": ("Any hemoptysis?", "有反跳痛吗？"),
    "brief_responses": ("I tell you, rest is good for everybody. " * 6, "您回去休息，吃好一点，想点别的事情。" * 6),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("leaf", SPOILT)
@given(place=st.integers(1, 20))
def test_a_turn_against_a_rule_costs_points_of_its_number_and_only_a_clean_interview_has_all(
    leaf: str, language: str, place: int
) -> None:
    good = interview(language, good=True)
    spoilt = good.model_copy(update={"messages": list(good.messages)})
    spoilt.messages[2 * place : 2 * place] = [
        Message(role="assistant", content=SPOILT[leaf][language == "zh"]),
        Message(role="user", content="No."),
    ]
    full = LEAVES[leaf].maximum
    assert count_points(good).counted[leaf] == full > count_points(spoilt).counted[leaf] > 0.8 * full


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_planned_interview_alone_earns_points_of_every_part_of_the_history(language: Language) -> None:
    note = Note(id="n", text=NOTE[language], language=language)
    plan = fill_plan(note, roles_of(note), knowledge_of_the_note(KnowledgeView(note)), language)
    asked = talk(*((step.physician, "...") for section in plan for step in section.steps), language=language)
    history = {leaf.key for leaf in LEAVES.values() if leaf.asked}
    assert {key for key, points in count_points(asked).counted.items() if points > 0} >= history


@pytest.mark.parametrize("language", ["en", "zh"])
def test_findings_count_where_the_physician_tells_or_asks_for_them_with_the_right_numbers_and_polarity(
    language: str,
) -> None:
    note = NOTE[language]
    asked, chat = ("May I have the results?", "How are you?") if language == "en" else ("检查结果呢？", "您好吗？")
    wrong = note.replace("165", "125").replace("36.9", "39.6").replace("ST", "no ST" if language == "en" else "未见ST")
    points = [
        count_points(talk(*rounds, note=note, language=language)).counted["examination_consistency"]
        for rounds in (
            [(note, "Oh.")],
            [(asked, note)],
            [(chat, note)],
            [(chat, "x"), ("I see.", note)],
            [(wrong, "x")],
        )
    ]
    assert points == [4, 4, 0, 0, 0]


def test_the_share_of_the_notes_findings_that_came_up_is_counted() -> None:
    note = "He coughs. Temperature is 39 C. Chest x-ray shows an infiltrate on the right."
    assert len(findings_of(note, "en")) == 2
    half = talk(("May I have the results?", "The temperature is 39 C."), note=note)
    assert count_points(half).counted["examination_consistency"] == 2
    assert "examination_consistency" in count_points(talk(("Well?", "No."))).unscored, "a note without findings"
    assert [len(findings_of(NOTE[language], language)) for language in ("en", "zh")] == [3, 3]


@pytest.mark.parametrize(
    ("language", "note", "same", "opposite"),
    [
        (
            "en",
            "Physical examination: The left knee is swollen and warm. Ultrasound shows stones in the gallbladder.",
            "Swelling and heat of the knee on the left. Gallstones are seen sonographically. How are you?",
            "The left knee is slim and cool. Ultrasound shows a gallbladder without stones. How are you?",
        ),
        (
            "zh",
            "体格检查：大便黑色如柏油。尿中见蛋白和红细胞。",
            "解柏油样黑便。尿检蛋白阳性，有红细胞。您怎么样？",
            "大便黄色成形。尿中无蛋白和红细胞。您怎么样？",
        ),
    ],
)
def test_findings_in_other_words_count_more_than_their_opposites(
    language: str, note: str, same: str, opposite: str
) -> None:
    told, denied = (
        count_points(talk((words, "Oh."), note=note, language=language)).counted["examination_consistency"]
        for words in (same, opposite)
    )
    assert told > denied == 0


def test_a_heading_of_the_note_is_no_part_of_a_finding() -> None:
    note = "Chief complaint: Cough. Test results: ECG shows ST elevation in V2. WBC 15.2."
    assert findings_of(note, "en") == ["ECG shows ST elevation in V2.", "WBC 15.2."]
    told = talk(("Your ECG shows ST elevation in V2, and the WBC is 15.2. Any questions?", "No."), note=note)
    assert count_points(told).counted["examination_consistency"] == LEAVES["examination_consistency"].maximum


@given(st.lists(st.tuples(st.sampled_from(["assistant", "user", "system"]), st.text(max_size=60)), max_size=6))
def test_no_dialogue_is_beyond_counting(messages: list[tuple[str, str]]) -> None:
    given_ = [{"role": role, "content": text} for role, text in messages]
    points = count_points(Dialogue.model_validate({"id": "1", "messages": given_, "note": "x"}))
    assert all(0 <= value <= LEAVES[key].maximum for key, value in points.counted.items())


def test_the_words_of_a_question_are_stemmed_once_however_many_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    stemmed: list[str] = []
    monkeypatch.setattr(rules, "stem", lambda word: stemmed.append(word) or stem(word))
    signs = ("knee", "elbow", "ankle", "wrist", "finger", "hip", "neck", "jaw", "heel", "thumb")
    count_points(talk(*((f"Does your {sign} hurt?", "No.") for sign in signs)))
    assert 0 < len(stemmed) <= 3 * len(signs)


def wide(text: str) -> str:
    return "".join(chr(ord(each) + 0xFEE0) if each.isascii() and each.isalnum() else each for each in text)


WRITTEN = {
    "wide letters": wide,
    "double blanks": lambda text: text.replace(" ", "  "),
    "blanks that do not break": lambda text: text.replace(" ", "\u00a0"),
    "bold": lambda text: f"**{text}**",
    "slanted": lambda text: f"_{text}_",
    "a list": lambda text: f"- {text}",
    "a face behind": lambda text: f"{text} 😊",
    "marks doubled": lambda text: text.replace("?", "?!").replace("？", "？！"),
}


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("how", WRITTEN)
def test_how_words_are_typed_changes_no_points(how: str, language: str, good: bool) -> None:
    dialogue = interview(language, good)
    typed = [
        message.model_copy(update={"content": WRITTEN[how](message.content)} if message.role == "assistant" else {})
        for message in dialogue.messages
    ]
    assert count_points(dialogue.model_copy(update={"messages": typed})) == count_points(dialogue)


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_messages_without_a_word_are_no_turns(language: str, good: bool) -> None:
    dialogue = interview(language, good)
    messages = [each for one in dialogue.messages for each in (one, Message(role=one.role, content="..."))]
    assert count_points(dialogue.model_copy(update={"messages": messages})) == count_points(dialogue)


@pytest.mark.parametrize("sign", ["'", "’"])
def test_advice_against_haste_urges_no_care_however_its_apostrophe_is_typed(sign: str) -> None:
    dialogue = talk(
        ("How old are you?", "Fifty."), (f"You don{sign}t need a hospital right away.", "All right."), note=NOTE["en"]
    )
    assert count_points(dialogue).counted["urgent_care"] == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_recites_the_note_or_says_nothing_has_no_points_but_those_for_findings(language: str) -> None:
    asked = interview(language, good=True)
    said = {
        text: asked.model_copy(update={"messages": [Message(role="assistant", content=text)]})
        for text in ("", asked.note)
    }
    recited = count_points(said[asked.note]).counted
    assert not any(count_points(said[""]).counted.values())
    assert {leaf for leaf, points in recited.items() if points} == {"examination_consistency"}
