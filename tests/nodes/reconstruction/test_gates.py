"""The gates name each fault of a dialogue, and let a sound one through."""

from typing import Any

import pytest

from cases.dialogues import Dialogue, Message
from cases.text.numbers import known_numbers, stated_numbers
from nodes.reconstruction.gates import GATES, check_dialogue

NOTE = "A 45-year-old man has had chest pain for two weeks. Temperature 37.2 °C. Diagnosis: Acute pericarditis (APC)."


def dialogue(*spoken: str, note: str = NOTE, **more: Any) -> Dialogue:
    """The patient speaks first, then both in turns."""
    roles: Any = ("user", "assistant")
    messages = [Message(role=roles[number % 2], content=text) for number, text in enumerate(spoken)]
    return Dialogue(**{"id": "d", "messages": messages, "note": note, "diseases": ["Acute pericarditis (APC)"], **more})


GOOD = (
    "Hello, doctor.",
    "What brings you here? Since when?",
    "My chest has hurt for 2 weeks.",
    "Your temperature is 37.2 °C. I suspect acute pericarditis.",
    "What is pericarditis? Is it bad? Will it last? Thank you.",
    "You're welcome.",
)


def found(spoken: tuple[str, ...], **more: Any) -> list[str]:
    return [problem.gate for problem in check_dialogue(dialogue(*spoken, **more))]


def changed(turn: int, text: str) -> tuple[str, ...]:
    return (*GOOD[:turn], text, *GOOD[turn + 1 :])


def test_a_sound_dialogue_passes_every_gate() -> None:
    assert check_dialogue(dialogue(*GOOD)) == []


def test_whose_illness_it_is_may_be_said_by_age_and_sex() -> None:
    note = "A three-week-old girl with fever for 2 days. She feeds poorly. No rash."
    child = ("Hello, doctor.", "Who is this about?", "A three-week-old girl, my daughter.", "What is wrong with her?")
    more = ("She has had a fever for 2 days and she feeds poorly.", "I will examine her now.")
    assert check_dialogue(dialogue(*child, *more, note=note, diseases=[])) == []


def test_a_patient_who_speaks_of_people_or_says_who_he_is_tells_no_case_report() -> None:
    for said in ("老年男性都容易有前列腺的毛病吧。", "中年女性，我今年45岁。"):
        assert "roles_kept" not in found(("医生您好。", "您好。", said, "好的。"), language="zh")
    assert "roles_kept" in found(("医生您好。", "您好。", "45岁男性，因腹痛入院。", "好的。"), language="zh")


@pytest.mark.parametrize(
    ("gate", "spoken"),
    [
        ("not_empty", changed(4, " ")),
        ("few_questions", changed(1, "What is it? Since when? Where?")),
        ("few_questions in_the_language", changed(1, "哪里疼？多久了？怎么疼的？")),
        ("no_placeholders", changed(1, "What about {symptom}?")),
        ("no_placeholders", changed(1, "Hello, [Patient Name], what is it?")),
        ("no_placeholders", changed(1, "Do you have XX and XX?")),
        ("no_placeholders", changed(1, "Family history: None mentioned?")),
        ("no_placeholders", changed(2, "@I has pain since 2 weeks.")),
        ("no_placeholders", changed(3, "Your temperature is 37.2 Â°C. I suspect acute pericarditis.")),
        ("no_placeholders", changed(2, "It has hurt for 2 weeks; donâ€™t press it.")),
        ("roles_kept", changed(2, "The patient's chest has hurt for 2 weeks.")),
        (
            "roles_kept kinds_of_the_note numbers_of_the_note times_of_the_note",
            changed(2, "A 40-year-old woman comes for chest pain, 2 weeks."),
        ),
        ("begins_once", changed(4, "Hello, doctor. What is pericarditis?")),
        ("numbers_of_the_note times_of_the_note", changed(2, "My chest has hurt for 3 weeks.")),
        ("numbers_of_the_note times_of_the_note", changed(2, "My chest has hurt for twelve weeks.")),
        ("numbers_of_the_note", changed(3, "Your temperature is 39.2 °C. I suspect acute pericarditis.")),
        ("diagnosis_not_leaked", changed(2, "It has hurt for 2 weeks; I think it is acute pericarditis.")),
        ("diagnosis_not_leaked", changed(2, "It has hurt for 2 weeks; I think it is APC.")),
        ("diagnosis_not_leaked", changed(1, "Could it be acute pericarditis?")),
        ("plain_words", changed(2, "My chest has hurt for 2 weeks, with dyspnea and orthopnea.")),
        ("plain_words", changed(1, "Do you have orthopnea or hemoptysis?")),
    ],
)
def test_each_gate_names_its_fault(gate: str, spoken: tuple[str, ...]) -> None:
    assert set(found(spoken)) == set(gate.split())


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("You have two turns left.", False),
        ("I have two tablets left, and much time left.", False),
        ("It is the left knee.", True),
        ("After two weeks left knee pain came.", True),
    ],
)
def test_what_is_left_over_is_no_side(said: str, refused: bool) -> None:
    note = "Pain of the right knee."
    problems = check_dialogue(dialogue("Hello, doctor.", said, note=note))
    assert ("side_of_the_note" in {problem.gate for problem in problems}) is refused


@pytest.mark.parametrize(
    ("note", "said", "refused"),
    [
        ("Pain of the right knee, and a rash of the left arm.", "My left knee hurts.", True),
        (
            "Pain of the right knee, and a rash of the left arm.",
            "It is the left lower arm. My right knee hurts.",
            False,
        ),
        ("Pain of the right knee, and of the left knee.", "My left knee hurts.", False),
        ("Right knee pain, left arm rash, both knees swollen.", "My left knee hurts.", False),
    ],
)
def test_of_a_note_with_both_sides_each_part_keeps_its_own(note: str, said: str, refused: bool) -> None:
    assert ("side_of_the_note" in found(("Hello, doctor.", "Where is it?", said), note=note)) is refused


@pytest.mark.parametrize("said", ["It is 37.2 °C.", "A naïve “yes”… – that’s it.", "37.2℃，“好”……"])
def test_signs_that_are_what_they_are_are_no_wrong_encoding(said: str) -> None:
    assert "no_placeholders" not in found(changed(2, said))


@pytest.mark.parametrize(
    "said",
    [
        "I was given morphine and told to mention it.",
        "In this case I would wait.",
        "The scan did not reveal much.",
        "I have the note from my doctor, and the note for school.",
        "As a doctor, I see it daily.",
        "You are supposed to take it daily.",
        "The pain is burning in character.",
        "In the worst case scenario we would operate.",
        "I was asked to name the months, and could not.",
        "Please follow my instructions.",
        "As instructed, I stopped the aspirin.",
        "I left the note at home.",
        "Did you bring the note your doctor wrote?",
        "In the case that it gets worse, come back.",
    ],
)
def test_what_people_say_of_notes_and_cases_is_no_reading_aloud(said: str) -> None:
    assert "no_placeholders" not in found(changed(2, said))


def test_a_turn_is_counted_among_those_that_are_spoken() -> None:
    asked = dialogue(*changed(1, "What about {symptom}?"))
    told = asked.model_copy(update={"messages": [Message(role="system", content="Take a history."), *asked.messages]})
    for each in (asked, told):
        assert {problem.turn for problem in check_dialogue(each) if problem.gate == "no_placeholders"} == {2}


def test_who_asks_how_the_patient_is_may_be_a_nurse() -> None:
    assert "roles_kept" not in found(changed(2, "How is the patient doing?"))


def test_two_turns_of_one_person_are_named() -> None:
    messages = [Message(role="user", content="Hello."), Message(role="user", content="It hurts for two weeks.")]
    problems = check_dialogue(Dialogue(id="d", messages=messages, note=NOTE))
    assert {problem.gate for problem in problems} >= {"roles_alternate"}
    assert any("expected the physician, found the patient" in str(problem) for problem in problems)


@pytest.mark.parametrize(
    ("said", "passes"),
    [
        ("I'm forty-five.", True),
        ("I am 45.", True),
        ("It began 14 days ago.", True),  # two weeks
        ("It takes vitamin B12 away.", True),  # a name, not a number
        ("One of them hurts.", True),
        ("I am 45, and six of us have been ill for two weeks.", True),  # the note counts none of these
        ("I am fifty-four.", False),
        ("It began 16 days ago.", False),
    ],
)
def test_numbers_are_compared_as_numbers_however_they_are_written(said: str, passes: bool) -> None:
    assert ("numbers_of_the_note" not in found(changed(2, said))) == passes


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("I am forty-five. It has hurt for fifteen weeks, since 1998.", "'fifteen', but nobody says the note's 12"),
        ("I am 45. It has hurt for 12 weeks, since nineteen ninety-nine.", "nobody says the note's 1998"),
        ("I am forty-five. It has hurt for twelve weeks, since nineteen ninety-eight.", ""),
        ("I am 45. It has hurt for 12 weeks, and six of us were there.", ""),  # no year
    ],
)
def test_a_number_in_words_stands_for_one_of_its_kind_that_nobody_says(said: str, problem: str) -> None:
    note = "A 45-year-old man has had chest pain for 12 weeks. He was operated on in 1998."
    problems = check_dialogue(dialogue("Hello, doctor.", "What brings you here?", said, note=note, diseases=[]))
    told = [str(each) for each in problems if "nobody says" in str(each) and each.gate == "numbers_of_the_note"]
    assert [each.endswith(problem) for each in told] == [True] * bool(problem)


def test_chinese_numerals_count_only_where_something_is_counted() -> None:
    assert stated_numbers("我一直疼，三个月了，一天两次，十二号", "zh") == {3.0: "三", 2.0: "两"}
    assert {3.0, 2.0, 12.0} <= known_numbers("三个月，一天2次，十二天")


def test_where_sections_are_recorded_the_physician_names_the_disease_in_the_closing_ones_alone() -> None:
    sections = {"chief_complaint": 1, "initial_diagnosis": 3}
    assert found(GOOD, sections=sections) == []
    assert found(GOOD, sections={**sections, "initial_diagnosis": 5}) == ["diagnosis_not_leaked"]


def test_the_physician_may_use_technical_words_for_findings_but_the_patient_never() -> None:
    reported = changed(3, "There is edema and dyspnea. I suspect acute pericarditis.")
    assert found(reported, sections={"physical_examination": 3}, note=f"{NOTE} Edema and dyspnea.") == []
    asked = changed(4, "What is hemoptysis, and what is orthopnea?")
    assert set(found(asked, sections={"physical_examination": 3})) == {"plain_words"}


def test_what_stands_in_the_note_is_no_placeholder() -> None:
    assert found(changed(2, "They gave me [Drug], for two weeks."), note=NOTE + " [Drug]") == []


def test_every_gate_says_what_it_holds_a_dialogue_to() -> None:
    assert all(gate.__doc__ for gate in GATES.values())


def test_a_result_of_the_note_that_names_the_disease_may_be_told_before_it_is_concluded() -> None:
    sections: Any = {"chief_complaint": 1, "physical_examination": 3, "initial_diagnosis": 5}
    note = "Chief complaint: Chest pain for two weeks.\nTest results: CT: consistent with acute pericarditis."
    told = changed(3, "Here are the results. CT: consistent with acute pericarditis.")
    for name, refused in ((note, False), (note.replace("acute pericarditis", "effusion"), True)):
        assert ("diagnosis_not_leaked" in found(told, note=name, sections=sections)) == refused


def test_a_note_that_tells_nothing_gives_no_dialogue() -> None:
    empty = ("Hello, doctor.", "Thank you for coming. Please come back at once if anything gets worse.")
    assert found(empty, note="Family history: Unchanged.", strategy="clini_recon") == ["not_empty"]


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("I have never had eczema.", True),
        ("As for eczema, no, never.", True),
        ("There is no eczema, doctor.", True),
        ("No eczema at all.", True),
        ("I don't have eczema at the moment.", False),
        ("I have never had asthma.", False),  # nor has the note
    ],
)
def test_what_the_note_records_by_whatever_word_is_not_denied(said: str, refused: bool) -> None:
    note = "Chief complaint: Itching for two weeks. Past medical history: Gout. Eczema. No asthma."
    talk = (
        "Hello, doctor.",
        "What brings you here?",
        "My arm has itched for 2 weeks.",
        "And before?",
        said,
        "Goodbye.",
    )
    assert (found(talk, note=note, diseases=[]) == ["agrees_with_the_note"]) == refused


def test_a_dialogue_of_less_than_three_quarters_of_its_note_is_refused_but_a_role_play_may_run_out_of_turns() -> None:
    note = (
        "Her chest has hurt for 2 weeks. Temperature 37.2 °C. " + "Beside this the chest is sound and heals well. " * 6
    )
    assert "in_proportion" in found(GOOD, note=note)
    assert "in_proportion" not in found(GOOD, note=note, strategy="interactive")
    assert "in_proportion" in found(GOOD, note=2 * note, strategy="interactive")
    assert "in_proportion" not in found(GOOD, note=note[:220])  # four words for five


PARTS = "knee elbow shoulder ankle wrist thumb heel chin jaw scalp shin calf thigh cheek tongue lip"
EVENTS = "wedding storm harvest journey fair race flood feast match trial strike parade lecture picnic funeral sale"


@pytest.mark.parametrize(("share", "refused"), [(1.0, True), (0.5, False)])
def test_no_reply_tells_most_of_the_note_at_once(share: float, refused: bool) -> None:
    told = [
        f"My {part} has been sore since the {event}." for part, event in zip(PARTS.split(), EVENTS.split(), strict=True)
    ]
    reply = " ".join(told[: int(share * len(told))])
    problems = check_dialogue(dialogue("Hello, doctor.", "What brings you here?", reply, note=" ".join(told)))
    assert (("in_proportion", 3) in {(problem.gate, problem.turn) for problem in problems}) is refused


@pytest.mark.parametrize(
    ("asked", "answer", "refused"),
    [
        ("Do you have a cough?", "No.", True),
        ("Do you have a cough?", "Yes.", False),
        ("Have you had a rash?", "Yes.", True),
        ("Have you had a rash?", "No.", False),
        ("Tell me whether you have a cough.", "No.", False),
        ("Do you have a cough, dizziness or diarrhea?", "No.", False),  # one of three is not so
        ("You have no rash?", "Yes.", False),
    ],
)
def test_a_yes_or_no_counts_for_what_the_question_names(asked: str, answer: str, refused: bool) -> None:
    note = "Chief complaint: Cough for two weeks. She denies a rash."
    assert ("agrees_with_the_note" in found(("Hello, doctor.", asked, answer, "I see."), note=note)) is refused


def test_a_complaint_that_the_patient_tells_elsewhere_is_not_denied_for_good() -> None:
    note = "Chief complaint: Cough for two weeks. She denies a rash."
    talk = (
        "I have had a cough for two weeks.",
        "Do you have a cough now?",
        "No.",
        "And a rash?",
        "Yes.",
        "Now?",
        "No.",
    )
    assert "agrees_with_the_note" in found(talk, note=note)
    both = (*talk[:5], "Is that a rash?", "No, there was no rash.")
    assert "agrees_with_the_note" not in found(both, note=note)


ECHO = ("My chest has hurt for weeks.", "Your chest has hurt.", "Yes, quite badly.", "How badly does your chest hurt?")


@pytest.mark.parametrize(
    ("spoken", "refused"),
    [
        ((*ECHO, "My chest hurts badly.", "I see."), True),  # the second echo
        ((*ECHO, "It stings.", "I see."), False),
        (("My chest hurts sharply at night lately.", "Your chest hurts sharply at night lately."), True),
    ],
)
def test_who_only_says_back_what_he_hears_says_nothing(spoken: tuple[str, ...], refused: bool) -> None:
    assert ("not_repeated" in found(spoken)) is refused


@pytest.mark.parametrize(("answer", "refused"), [("I am 61.", True), ("I am 61, and a cook.", False)])
def test_a_short_question_comes_again_but_not_with_its_answer(answer: str, refused: bool) -> None:
    spoken = ("Hello, doctor.", "Your age and work?", "I am 61.", "Your age and work?", answer)
    assert ("not_repeated" in found(spoken)) is refused


@pytest.mark.parametrize(
    ("question", "answer", "refused"),
    [
        ("So, where does your chest hurt?", "Behind the breastbone, as I said.", True),
        ("So, where does your chest hurt?", "It has moved to the left arm.", False),
        ("Where else does it hurt?", "Behind the breastbone.", False),
    ],
)
def test_a_question_does_not_come_again_with_courtesies_and_the_same_answer(
    question: str, answer: str, refused: bool
) -> None:
    spoken = ("Hello, doctor.", "Where does your chest hurt?", "Behind the breastbone.", question, answer)
    assert ("not_repeated" in found(spoken)) is refused


def test_the_only_turn_that_stops_within_a_sentence_is_cut_off_however_short() -> None:
    assert "not_cut_off" in found(changed(1, "What brings"))
    assert "not_cut_off" not in found(changed(1, "Yes"))
    assert "not_cut_off" not in found(changed(1, "What brings")[:3])  # too few turns to tell how they are written


@pytest.mark.parametrize("note", [NOTE, "Negative."])
def test_a_dialogue_of_courtesies_says_nothing_of_any_note(note: str) -> None:
    courtesies = ("Hello, doctor.", "Good morning. How can I help you?", "I see, thank you.", "Anything else?", "No.")
    assert "covers_the_note" in found(courtesies, note=note)
    assert "covers_the_note" in found((*courtesies[:3], "Nice weather.", "No."), note=note)
    asked = ("Hello, doctor.", "Have you had any operation, or been in hospital?", "No, never.", "Goodbye.")
    assert "covers_the_note" not in found(asked, note="Negative.")


def test_a_note_comes_up_in_lay_words_too() -> None:
    note = "Dyspnea, hemoptysis, pyrexia, epistaxis, dysuria, pruritus, emesis, syncope, alopecia, vertigo."
    told = (
        "I am short of breath, cough up blood and have a fever.",
        "And else?",
        "I vomit, it itches, and I lose hair.",
    )
    assert found(("Hello, doctor.", "What brings you here?", *told), note=note, diseases=[]) == []


def test_findings_in_the_order_of_a_chart_are_english() -> None:
    findings = "Total bilirubin 16.5 mg/dL. Mother's blood group O, baby's A."
    turns = (*GOOD[:3], f"Now to the results. {findings}", "Thank you.", "You're welcome.")
    assert "in_the_language" not in found(turns, note=f"{NOTE} {findings}")


def test_findings_in_a_charts_short_words_are_chinese_and_their_words_out_of_order_are_not() -> None:
    findings = "T 36.7℃,P 108次/分,R 20次/分,BP 98/62mmHg。贫血貌,腹软,剑突下压痛,无反跳痛,肠鸣音8次/分。"
    mixed = "音腹痛肠软下,压突无剑跳反,痛貌贫鸣血,分次分音腹痛软肠。"
    for told, gates in ((findings, False), (mixed, True)):
        turns = (
            "医生，您好。",
            "请坐，您怎么了？",
            "上腹痛3月。",
            f"这是查体的结果。{told}",
            "我知道了。",
            "请多休息。",
        )
        note = f"【主诉】上腹痛3月。\n【体格检查】{findings}"
        assert ("in_the_language" in found(turns, note=note, language="zh", diseases=[])) is gates
