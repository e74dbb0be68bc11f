"""What patients say of their own record offline."""

import pytest

from cases.case import ExaminationRecord, PatientRecord
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.vocabulary import Language
from nodes.offline.own_words import in_own_words, said_of, unsaid, voice_of
from nodes.offline.record_answers import answer_from_record
from nodes.reconstruction.voice import cannot_speak
from nodes.state.chart import Turn


@pytest.mark.parametrize(
    ("language", "recorded", "told"),
    [
        ("zh", "男，61岁，因反复咳嗽、咳痰3年，加重1周入院。", "是因为反复咳嗽、咳痰3年，加重1周来的。"),
        ("zh", "患者女，45岁，发现颈部包块2月。", "我发现颈部包块2月。"),
        ("zh", "患者，女，30岁。", "我30岁。"),
        ("zh", "以腹痛伴发热入院", "是因为腹痛伴发热来的。"),
        ("en", "A 61-year-old man presents with chest pain for 3 days.", "I have come in with chest pain for 3 days."),
        ("en", "An otherwise healthy 52-year-old man presents with a lump.", "I have come in with a lump."),
        ("en", "The patient was admitted for chest pain.", "I was admitted for chest pain."),
        (
            "en",
            "A 23-year-old pregnant woman at 22 weeks gestation presents with burning upon urination.",
            "I am pregnant at 22 weeks gestation and I have come in with burning upon urination.",
        ),
        ("en", "Chest pain for 3 days", "Chest pain for 3 days."),
        ("en", "Hearing voices that discuss her plans", "Hearing voices that discuss my plans."),
        ("en", "Gross hematuria", "Visible blood in the urine."),
        ("zh", "乏力、纳差10余天。", "乏力、胃口不好10余天。"),
        ("en", "I saw blood on the patient chair.", "I saw blood on the patient chair."),
    ],
)
def test_a_complaint_that_is_written_of_the_patient_is_told_by_the_patient(
    language: Language, recorded: str, told: str
) -> None:
    complaint = RecordSentence("chief_complaint", recorded)
    person = PatientRecord(chief_complaint=recorded, sex="female" if "her" in recorded else None)
    assert in_own_words([complaint], voice_of(person, language)) == [told]


@pytest.mark.parametrize(
    ("complaint", "story", "told"),
    [
        ("Unconsciousness", "He is currently unconscious.", "He is currently unconscious."),
        ("I fainted.", "He was unconscious for a minute.", "I was unconscious for a minute."),
    ],
)
def test_who_is_not_awake_does_not_speak(complaint: str, story: str, told: str) -> None:
    person = PatientRecord(sex="male", chief_complaint=complaint, present_illness=story)
    assert in_own_words([RecordSentence("present_illness", story)], voice_of(person, "en")) == [told]


@pytest.mark.parametrize(
    ("told", "asleep"),
    [
        ("6小时前滑倒，无头痛、昏迷，无呕吐。", False),
        ("病程中未出现昏迷。", False),
        ("He fell but was never unconscious.", False),
        ("She fell but never lost consciousness or became unconscious.", False),
        ("跌倒后无法言语、昏迷。", True),
        ("没有反应、意识不清2小时。", True),
        ("无明显诱因突发头痛、昏迷1小时。", True),
        ("She was found not breathing and unconscious.", True),
    ],
)
def test_who_was_never_asleep_speaks(told: str, asleep: bool) -> None:
    assert cannot_speak(told) is asleep


def test_what_a_record_has_twice_is_told_once_and_what_was_said_not_again() -> None:
    dialogue = [Turn(speaker="patient", text="I cough.")]
    assert unsaid(["I smoke.", "I cough.", "I smoke."], dialogue) == ["I smoke."]


@pytest.mark.parametrize(
    ("told", "unsaid_of_it"),
    [
        (["I have type 2 diabetes, treated with metformin.", "I have had type 2 diabetes."], [0]),
        (["I have had high blood pressure.", "I take pills for high blood pressure."], [1]),
        (["我有高血压，一直吃氨氯地平。", "我以前得过高血压。"], [0]),
        (["I have had a cough.", "I have had a cough"], [0]),
        (["I had asthma as a child.", "I have asthma."], [0, 1]),
        (["高血压。", "我有高血压，一直吃氨氯地平。"], [1]),
        (["I have no fever, but a cough.", "I have had a fever."], [0, 1]),
        (["I have asthma and my mother has diabetes.", "I have had diabetes."], [0, 1]),
        (["I have pain in the left knee.", "I have pain in the right knee."], [0, 1]),
        (["I am an accountant.", "I do not smoke, and work as an accountant."], [1]),
        (["I am a graphic designer.", "I work as a graphic designer."], [0]),
        (["I am a nurse.", "My mother works as a nurse."], [0, 1]),
        (["I am a retired welder.", "I worked as a welder for 30 years."], [0, 1]),
        (["No.", "Yes."], [0, 1]),
        (["No fever.", "I have not had any recent fever, weight loss or cough."], [1]),
        (["I have smoked one pack a day for 17 years.", "For 17 years I have smoked one pack a day."], [0]),
        (["Swollen neck.", "For 3 weeks now I have had a swollen neck."], [1]),
        (["I have a heart condition.", "There is a father with a heart condition."], [0, 1]),
        (["I am male.", "I hear two male voices."], [0, 1]),
        (["急性起病，有高血压。", "急性起病，有发热和高血压。"], [1]),
    ],
)
def test_what_a_longer_sentence_says_is_not_told_again_beside_it(told: list[str], unsaid_of_it: list[int]) -> None:
    assert unsaid(told, []) == [told[place] for place in unsaid_of_it]


def test_of_a_list_of_symptoms_is_told_what_the_story_does_not_tell() -> None:
    story = ["I have had drenching night sweats and a weight loss of 5 kg.", "I have not had any fever."]
    listed = "I have also had night sweats, weight loss of 5 kg and a swelling of the neck. No fever."
    assert unsaid([*story, listed], []) == [*story, "I have also had a swelling of the neck."]
    assert unsaid([listed], [Turn(speaker="patient", text=" ".join(story))]) == [
        "I have also had a swelling of the neck."
    ]
    assert unsaid([*story, "I have also had night sweats. No fever."], []) == story
    kept = "I have also had lesions on both wrists and hands and thirst."
    assert unsaid([*story, kept], []) == [*story, kept]


@pytest.mark.parametrize("before", ["I have had nausea and a mild fever.", "Hello. I have had a mild fever. I cough."])
def test_what_a_sentence_said_before_says_is_not_told_again(before: str) -> None:
    dialogue = [Turn(speaker="patient", text=before)]
    assert unsaid(["I have had a fever.", "I have no appetite."], dialogue) == ["I have no appetite."]


@pytest.mark.parametrize("other", ["Diabetes runs in the family.", "I was tested for diabetes.", "I fear diabetes."])
def test_what_was_feared_looked_for_or_is_a_relatives_does_not_say_that_the_patient_has_it(other: str) -> None:
    assert unsaid(["I have diabetes.", other], []) == ["I have diabetes.", other]


@pytest.mark.parametrize(
    ("occupation", "said", "language"),
    [
        ("retired school teacher", "I am a retired school teacher.", "en"),
        ("A retired school teacher", "I am a retired school teacher.", "en"),
        ("works as a software engineer", "I work as a software engineer.", "en"),
        ("unemployed", "I am unemployed.", "en"),
        ("Retired", "I am retired.", "en"),
        ("Office clerk", "I am an office clerk.", "en"),
        ("无业", "无业。", "zh"),
        ("退休工人", "我是退休工人。", "zh"),
    ],
)
def test_an_occupation_is_told_as_a_sentence_however_it_is_recorded(
    occupation: str, said: str, language: Language
) -> None:
    person = PatientRecord(chief_complaint="Chest pain.", occupation=occupation)
    facts = record_sentences(person, ExaminationRecord(), language)
    assert said in [words for _, words in said_of(facts, person, language)]


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ("67-year-old white man.", "I am a 67-year-old white man."),
        ("81-year-old college student.", "I am an 81-year-old college student."),
        ("Retired engineer; denies tobacco use.", "I am a retired engineer. I do not use tobacco."),
    ],
)
def test_who_somebody_is_and_what_a_semicolon_parts_are_told_in_sentences(recorded: str, told: str) -> None:
    habit = RecordSentence("personal_history", recorded)
    assert in_own_words([habit], voice_of(PatientRecord(sex="male", chief_complaint="I cough."), "en")) == [told]


@pytest.mark.parametrize(
    "recorded",
    [
        "Unable to perform due to patient's unconscious state.",
        "Limited due to patient's unconscious state and intubation.",
        "No other significant medical history is reported.",
        "Occupation and hobbies not specified.",
        "Patient exhibits confusion, and is oriented to person and place only.",
        "Vital signs within normal limits.",
    ],
)
def test_that_nothing_is_recorded_is_not_told(recorded: str) -> None:
    person = PatientRecord(chief_complaint="Unconsciousness.", present_illness=recorded)
    facts = record_sentences(person, ExaminationRecord(), "en")
    assert [words for section, words in said_of(facts, person, "en") if section == "present_illness"] == [""]
    assert answer_from_record("Does he have a fever?", person, [], "en") not in ("", recorded)
    assert recorded not in answer_from_record("Anything else?", person, [], "en")
