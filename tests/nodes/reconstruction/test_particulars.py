"""Particulars that a dialogue may not change: each change is named by its gate, and the sound dialogue passes."""

from typing import Any

import pytest

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.text.numbers import Span, spans_of_time
from nodes.reconstruction.gates import check_dialogue

NOTE = """Patient: 45-year-old woman.
Chief complaint: Cough for 2 days.
History: She takes lisinopril 40 mg. She denies fever or night sweats.
Allergies: no known drug allergies.
Family history: her mother had gout."""
CONCLUDED = {"illness_of_the_note", "closing_of_the_note"}
SOUND = [
    "Hello, doctor.",
    "Hello, what brings you here?",
    "I have had a cough for two days.",
    "How old are you?",
    "I am 45 years old.",
    "Have you had a fever, or sweated at night?",
    "No, neither a fever nor night sweats.",
    "Which medicines do you take?",
    "I take lisinopril, forty milligrams.",
    "Are you allergic to anything?",
    "No, I have no allergies.",
    "Which illnesses run in the family?",
    "My mother had gout.",
    "Thank you. I shall listen to your lungs now.",
    "All right.",
    "You're welcome. Goodbye.",
]


def dialogue(note: str = NOTE, **changed: str) -> Dialogue:
    said = [changed.get(f"turn_{number}", text) for number, text in enumerate(SOUND, 1)]
    roles = [PATIENT if number % 2 == 0 else PHYSICIAN for number in range(len(said))]
    return Dialogue(id="a", note=note, messages=[Message(role=r, content=t) for r, t in zip(roles, said, strict=True)])


def test_a_sound_dialogue_passes_every_gate() -> None:
    assert check_dialogue(dialogue()) == []


@pytest.mark.parametrize(
    ("turn", "text", "gate"),
    [
        (3, "I have had a cough for two years.", "times_of_the_note"),
        (9, "I take warfarin, forty milligrams.", "medicines_of_the_note"),
        (9, "I take lisinopril, 400 mg.", "numbers_of_the_note"),
        (11, "Yes, I am allergic to penicillin.", "allergies_of_the_note"),
        (15, "All right. I smoke, by the way.", "nothing_invented"),
        (3, "I have had a cough for two days. It's sarcoidosis, I have no doubt about it.", "illness_of_the_note"),
        (9, "I take lisinopril, fifty five milligrams.", "numbers_of_the_note"),
        (5, "I cough at night, mostly.", "answers_fit"),
        (4, "Well, ma'am, sir, how old are you?", "address_of_the_note"),
        (15, "My prostate was looked at last year.", "address_of_the_note"),
        (15, "As a father of two I cannot rest.", "address_of_the_note"),
        (14, "Thank you. I can feel a lump in your neck.", "nothing_invented"),
        (14, "We will start chemotherapy tomorrow.", "treatment_of_the_note"),
        (15, "All right. I also had a heart transplant three years ago.", "treatment_of_the_note"),
        (9, "I take lisinopril, forty milligrams. Oh, and I underwent a hysterectomy.", "treatment_of_the_note"),
        (9, "I take lisinopril, forty milligrams. I've had two back operations.", "treatment_of_the_note"),
        (14, "Please rub the new ointment into both elbows every evening.", "treatment_of_the_note"),
        (3, "I have had a cough for two minutes.", "times_of_the_note"),
        (15, "As an AI language model, I have no symptoms.", "no_placeholders"),
        (15, "*sighs* All right.", "no_placeholders"),
        (15, "Patient: All right.", "no_placeholders"),
        (15, "According to the note, I agree.", "no_placeholders"),
        (15, "The note says nothing of that.", "no_placeholders"),
        (15, "The note contains nothing of that.", "no_placeholders"),
        (15, "According to my instructions, I cannot tell.", "no_placeholders"),
        (15, "That is not part of my case.", "no_placeholders"),
        (15, "In this scenario I live alone.", "no_placeholders"),
        (15, "I should stay in character.", "no_placeholders"),
        (15, "My instructions say nothing of it.", "no_placeholders"),
        (15, "I am not allowed to name the illness.", "no_placeholders"),
        (15, "As the patient, I would agree.", "no_placeholders"),
        (13, "My father had gout.", "kinds_of_the_note"),
        (15, "PMH: All right.", "no_placeholders"),
        (15, "Oui, ça a commencé il y a trois jours.", "in_the_language"),
        (16, "You're", "not_cut_off"),
        (7, "No, neither a fever nor night", "not_cut_off"),
        (9, "Yes.", "answers_fit"),
        (15, "All <b>right</b>.", "no_placeholders"),
        (15, "All right. ```json", "no_placeholders"),
        (15, "【好的】 All right.", "no_placeholders"),
        (9, "I take lisinopril, forty milligrams. And Lipitor at bedtime.", "medicines_of_the_note"),
        (13, "My mother had gout. My urine has been dark like tea.", "founded_on_the_note"),
        (13, "My mother had gout. My heart pounds and I get palpitations.", "founded_on_the_note"),
        (14, "Thank you. Your eardrum is perforated.", "founded_on_the_note"),
        (2, "Hello, it looks like you have pneumonia. What brings you here?", "illness_of_the_note"),
        (8, "Which medicines do you take? No, none at all.", "answers_fit"),
        (8, "Do you take any medicines? Lisinopril, forty milligrams.", "answers_fit"),
        (15, "As a man of my age I am careful.", "address_of_the_note"),
        (14, "You look like a healthy man to me.", "address_of_the_note"),
        (9, "My neighbor takes lisinopril, forty milligrams.", "own_history"),
        (16, "Anything else that bothers you?", "not_cut_off"),
        (13, "Yes, my mother had gout. Yes, my mother had gout.", "not_repeated"),
        (15, "Desde hace tres semanas me duele mucho la cabeza y no puedo dormir.", "in_the_language"),
    ],
)
def test_a_changed_particular_is_named_by_its_gate_at_its_turn(turn: int, text: str, gate: str) -> None:
    problems = check_dialogue(dialogue(**{f"turn_{turn}": text}))
    assert (gate, turn) in {(problem.gate, problem.turn) for problem in problems}


def test_an_exchange_with_another_patient_stands_alone() -> None:
    spliced = dialogue(turn_10="How did the accident happen?", turn_11="I slipped on the ice and hurt my wrist.")
    assert "connected_to_the_note" in {problem.gate for problem in check_dialogue(spliced)}
    denied = dialogue(turn_10="How did the accident happen?", turn_11="No accident, nobody slipped on any ice.")
    assert "connected_to_the_note" not in {problem.gate for problem in check_dialogue(denied)}


@pytest.mark.parametrize(
    "said",
    [
        {"turn_4": "How old are you again, forty-five?", "turn_5": "Yes."},
        {"turn_6": "What about fever, or night sweats?", "turn_7": "No."},
        {"turn_9": "I take lisinopril, ≤ 40 mg."},
        {"turn_9": "I take lisinopril, forty milligrams. I have not had any surgery."},
        {"turn_14": "Thank you. I shall listen to your lungs now -"},
        {"turn_15": "The nurse just brought me back, two days back."},
        {"turn_9": "I take lisinopril, forty milligrams. And some ibuprofen now and then."},
        {"turn_13": "My mother had gout. That did a number on her."},
        {"turn_14": "I see in your chart that a temperature was taken. I shall listen to your lungs now."},
        {"turn_2": "Hello, I see that you have been referred for pneumonia. What brings you here?"},
        {"turn_2": "Hello, how are you today? Before we begin, I shall ask you some questions."},
        {"turn_13": "My mother had gout. Yes, she did.", "turn_15": "Yes, she did."},
        {"turn_12": "It may be an infection, or even epilepsy. Any of that in the family.", "turn_13": "Yes, gout."},
    ],
)
def test_what_people_say_is_refused_by_no_rule(said: dict[str, str]) -> None:
    assert check_dialogue(dialogue(**said)) == []


@pytest.mark.parametrize(
    ("note", "told", "refused"),
    [
        ("She had a total hip arthroplasty.", "I had a hip replacement.", False),
        ("She is status post CABG.", "I've had bypass surgery.", False),
        ("She had a total hip arthroplasty.", "I also had a kidney transplant.", True),
    ],
)
def test_an_operation_may_be_told_by_another_name_unless_it_has_but_one(note: str, told: str, refused: bool) -> None:
    problems = check_dialogue(dialogue(f"{NOTE}\n{note}", turn_15=f"All right. {told}"))
    assert ("treatment_of_the_note" in {problem.gate for problem in problems}) is refused


def test_a_denial_of_lately_denies_nothing_of_the_past() -> None:
    note = NOTE.replace("She denies", "She has had anemia. She denies")
    told = "My mother had gout, and I had anemia once."
    assert check_dialogue(dialogue(note, turn_13=told, turn_15="I have not had anemia in a while.")) == []
    problems = check_dialogue(dialogue(note, turn_13=told, turn_15="I have not had anemia."))
    assert {problem.gate for problem in problems} == {"agrees_with_the_note"}


def test_an_answer_in_the_physicians_mouth_before_the_patients_question_is_found() -> None:
    swapped = dialogue(turn_4="I am 45 years old.", turn_5="How old are you?")
    assert "answers_fit" in {problem.gate for problem in check_dialogue(swapped)}


def test_no_allergy_under_a_heading_on_a_line_of_its_own_may_be_denied() -> None:
    note = "HPI: Cough for 3 days.\nALLERGIES\nNKDA"
    turns = ("Hello.", "Do you have any allergies?", "No.", "Goodbye.")
    messages = [Message(role=("user", "assistant")[at % 2], content=text) for at, text in enumerate(turns)]
    gates = {problem.gate for problem in check_dialogue(Dialogue(id="1", messages=messages, note=note))}
    assert "allergies_of_the_note" not in gates


@pytest.mark.parametrize(
    ("note", "refused"), [("未发现过敏。", False), ("没有药物过敏。", False), ("青霉素过敏。", True)]
)
def test_in_chinese_too_an_allergy_may_be_denied_where_none_was_found(note: str, refused: bool) -> None:
    turns = ("您好。", "有药物过敏吗？", "没发现过敏。", "好的。")
    messages = [Message(role=("user", "assistant")[at % 2], content=text) for at, text in enumerate(turns)]
    problems = check_dialogue(Dialogue(id="1", messages=messages, note=f"咳嗽3天。{note}", language="zh"))
    assert ("allergies_of_the_note" in {problem.gate for problem in problems}) is refused


@pytest.mark.parametrize(
    ("told", "gate"),
    [
        ("我三年前做过心脏移植。", "treatment_of_the_note"),
        ("我小时候开过刀。", "treatment_of_the_note"),
        ("我的子宫切除了。", "treatment_of_the_note"),
        ("我还有糖尿病。", "illness_of_the_note"),
        ("我一吃海鲜就过敏。", "allergies_of_the_note"),
        ("我还便血。", "nothing_invented"),
    ],
)
def test_what_a_chinese_patient_adds_is_held_against_the_note(told: str, gate: str) -> None:
    assert gate in gates_of("主诉：咳嗽3天。", told)


@pytest.mark.parametrize(
    "told",
    ["我有高血压五年了。", "我的胆囊切除了。", "胆囊开过刀，吃什么都不会过敏。", "我爸爸有糖尿病。", "我没有痛风。"],
)
def test_what_the_note_has_may_be_told_in_everyday_chinese(told: str) -> None:
    note = "主诉：咳嗽3天。既往史：血压高5年，胆囊切除术后，无药物过敏。家族史：父亲患糖尿病。"
    added = {"treatment_of_the_note", "illness_of_the_note", "allergies_of_the_note", "nothing_invented"}
    assert not gates_of(note, told) & added


def gates_of(note: str, told: str) -> set[str]:
    """Return the gates that find something in a short Chinese dialogue whose patient says this."""
    turns = ("您好。", "您哪里不舒服？", f"咳嗽三天了。{told}", "好的，我知道了。")
    messages = [Message(role=("user", "assistant")[at % 2], content=text) for at, text in enumerate(turns)]
    dialogue = Dialogue(id="1", messages=messages, note=note, language="zh")
    return {problem.gate for problem in check_dialogue(dialogue)}


def test_an_allergy_is_not_told_where_the_note_has_no_word_of_any() -> None:
    note = NOTE.replace("Allergies: no known drug allergies.\n", "")
    told = dialogue(note, turn_15="All right. And I am allergic to latex.")
    assert "allergies_of_the_note" in {problem.gate for problem in check_dialogue(told)}
    assert check_dialogue(dialogue(note)) == []


def test_a_recorded_allergy_is_not_denied() -> None:
    note = NOTE.replace("no known drug allergies", "allergic to penicillin")
    assert {problem.gate for problem in check_dialogue(dialogue(note))} >= {"allergies_of_the_note"}
    note += "\nRight-handed."
    told = dialogue(note, turn_11="Yes, I am allergic to penicillin.", turn_15="None of it hurts; I am right-handed.")
    assert check_dialogue(told) == []


@pytest.mark.parametrize(
    ("note", "said", "passes"),
    [
        ("Temperature 102.6.", "It was one oh two point six.", True),
        ("Last seen in 1990.", "That was in nineteen ninety.", True),
        ("Last seen on 05/07/2004.", "That was May seventh two thousand and four.", True),
        ("Weighs 197 pounds.", "About one hundred ninety seven pounds.", True),
        ("BP 145/90.", "It was one forty five over ninety.", True),
        ("Ages 26 and 28.", "Twenty six and twenty eight.", True),
        ("Ages 26 and 28.", "Twenty six and thirty one.", False),
        ("BP 145/90.", "It was one sixty five over ninety.", False),
        ("Last seen in 1990.", "That was in nineteen ninety three.", False),
        ("Ages 26 and 28.", "At that point, twenty six point, twenty eight.", True),  # a point without digits
    ],
)
def test_numbers_in_words_are_held_against_the_note_however_they_are_spoken(note: str, said: str, passes: bool) -> None:
    messages = [Message(role=PATIENT, content="Hello."), Message(role=PHYSICIAN, content=said)]
    problems = check_dialogue(Dialogue(id="a", note=note, messages=messages))
    assert ("numbers_of_the_note" not in {problem.gate for problem in problems}) == passes


@pytest.mark.parametrize(
    ("note", "said", "passes"),
    [
        ("Last seen 07/29/2008.", "I was here on July twenty ninth, two thousand eight.", True),
        ("Last seen 07/29/2008.", "I was here on June twenty ninth, two thousand eight.", False),
        ("Last seen in 08/07.", "I was here in August of two thousand seven.", True),
        ("Last seen in 08/07.", "I was here in May of two thousand seven.", False),
        ("Last seen in March.", "I may come back in March, and again in May.", True),  # of the note's month, too
        ("Cough for 3 weeks, one visit 2 days ago.", "I have coughed for two weeks.", False),
        ("Cough for 3 weeks, one visit 2 days ago.", "I coughed for two weeks, or three weeks.", False),
        ("Cough for 3 weeks, one visit 4 days ago.", "I coughed for three weeks, with one week in bed.", True),
        ("A 17-year-old girl.", "She is seventeen days old.", False),
        ("高血压10余年，糖尿病5年。", "高血压有10多年了。", True),  # rounded, as Chinese notes do
        ("高血压10余年，糖尿病5年。", "高血压有10多天了。", False),
        ("高血压10+年。", "高血压有5年了。", False),
    ],
)
def test_times_are_the_notes_by_unit_amount_and_month(note: str, said: str, passes: bool) -> None:
    messages = [Message(role=PHYSICIAN, content="When was it?"), Message(role=PATIENT, content=said)]
    problems = check_dialogue(Dialogue(id="a", note=note, messages=messages))
    assert ("times_of_the_note" not in {problem.gate for problem in problems}) == passes


@pytest.mark.parametrize(
    ("note", "said", "passes"),
    [
        ("Denies chest pain and fever.", "No stomach pain, and no fever.", False),
        ("Denies chest pain and fever.", "No stomach pain, no chest pain and no fever.", True),
        ("Mother and uncle had cancer.", "My mom's brother and my mother had cancer.", True),
    ],
)
def test_a_word_of_a_kind_that_nobody_says_is_not_replaced_in_a_sentence_about_it(
    note: str, said: str, passes: bool
) -> None:
    messages = [Message(role=PHYSICIAN, content="Any pain or cancer?"), Message(role=PATIENT, content=said)]
    problems = check_dialogue(Dialogue(id="a", note=note, messages=messages))
    assert ("kinds_of_the_note" not in {problem.gate for problem in problems}) == passes


def test_a_mother_who_speaks_for_her_son_is_of_the_other_sex() -> None:
    turns = ("Does he have a fever?", "As a mother I worry: yes, he does.", "Has he any rash?", "No rash.")
    messages = [Message(role=(PHYSICIAN, PATIENT)[at % 2], content=text) for at, text in enumerate(turns)]
    problems = check_dialogue(Dialogue(id="a", note="A 6-year-old boy with fever, no rash.", messages=messages))
    assert "address_of_the_note" not in {problem.gate for problem in problems}


def test_spans_of_time_agree_over_their_units() -> None:
    (days,), (weeks,) = spans_of_time("for 14 days"), spans_of_time("two weeks ago")
    assert days.lasts_as(weeks) and not days.lasts_as(Span("14", "week"))
    assert spans_of_time("for a few days, 咳嗽3天, a few days") == [Span("few", "day"), Span("3", "天")]
    assert not Span("few", "day").lasts_as(Span("few", "year"))


@pytest.mark.parametrize("written", ["10余年", "十余年", "10+年", "10多年", "20来年", "3个余月"])
def test_a_span_is_read_as_chinese_notes_round_it(written: str) -> None:
    (span,) = spans_of_time(f"高血压{written}")
    assert span.unit == written[-1] and span.amount[0].isdigit()


@pytest.mark.parametrize(
    ("closing", "gates"),
    [
        ("So you have had a cough and a fever.", {"closing_of_the_note"}),
        ("I think that it is tuberculosis.", {"illness_of_the_note"}),
        ("You have carpal tunnel syndrome.", {"illness_of_the_note"}),
        ("So you have had a cough, and no fever.", set()),
        ("If you get a fever, come back.", set()),
        ("It could be bronchitis, and I am concerned about pneumonia.", set()),
        ("Your mother had gout, so I will keep that in mind.", set()),
        ("Your temperature is 37 degrees now.", set()),
    ],
)
def test_what_the_physician_states_at_the_end_is_held_against_the_note(closing: str, gates: set[str]) -> None:
    found = [one for one in check_dialogue(dialogue(turn_16=closing)) if one.gate in CONCLUDED]
    assert {one.gate for one in found} == gates and all(one.turn == 16 for one in found)


def test_a_disease_of_the_dialogue_may_be_concluded_and_the_beginning_is_not_read() -> None:
    inferred = dialogue(turn_16="I think that it is tuberculosis.").model_copy(update={"inferred": "Tuberculosis"})
    early = dialogue(turn_2="Hello, you have had a fever, the nurse wrote. What brings you here?")
    for sound in (inferred, early):
        assert not any(problem.gate in CONCLUDED for problem in check_dialogue(sound))


@pytest.mark.parametrize(
    ("note", "spoken", "refused"),
    [
        ("A 6-year-old girl with a cough.", ("My son has a cough.", "How is he now?"), True),
        ("A 6-year-old girl with a cough. Her brother had it first.", ("My son has a cough.", "How is he now?"), False),
        ("A 6-year-old girl with a cough.", ("My daughter has a cough.", "How is she now?"), False),
        ("She has a cough.", ("Here is a patient with a cough.", "Does he smoke? Has he any fever?"), True),
        ("She has a cough.", ("I have a cough, and my husband too.", "Does he smoke? Has he any fever?"), False),
    ],
)
def test_who_is_spoken_of_is_of_the_notes_sex(note: str, spoken: tuple[str, str], refused: bool) -> None:
    roles: Any = ("user", "assistant")
    messages = [Message(role=roles[place % 2], content=text) for place, text in enumerate(spoken)]
    problems = check_dialogue(Dialogue(id="d", messages=messages, note=note))
    assert ("address_of_the_note" in {problem.gate for problem in problems}) is refused


def test_what_is_told_of_somebody_of_whom_nobody_asked_is_refused_unless_a_relative_speaks() -> None:
    def refused(asked: str, reply: str, note: str = NOTE) -> bool:
        messages = [Message(role=PHYSICIAN, content=asked), Message(role=PATIENT, content=reply)]
        return "own_history" in {one.gate for one in check_dialogue(Dialogue(id="d", messages=messages, note=note))}

    assert refused("What brings you here?", "My brother takes lisinopril.")
    assert refused("What brings you here?", "My daughter has been sleeping badly.")
    assert not refused("How is he? Does he take anything?", "My brother takes lisinopril.")
    assert not refused("Does anything run in your family?", "My sister had gout.")
    assert not refused("What is your daughter's trouble?", "My daughter has been sleeping badly.")
    assert not refused("Do you live alone?", "My wife is a teacher.")
    assert not refused("What brings you here?", "My husband is looking for parking, he brought us here.")
    family = "Family history: unremarkable except for alcohol abuse."
    assert not refused("Anything else?", "My grandfather had trouble with alcohol abuse.", family)
