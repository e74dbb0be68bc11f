from typing import Any

import pytest

from nodes.consultation.final_report import ReportView, report_by_neighbours
from nodes.offline.record_answers import tells_diagnosis
from nodes.state.chart import Presentation, Turn, heard_by
from nodes.workflow.stages import read_chart
from prompts import load_words, mark
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import findings


def report(dialogue: list[Turn], **more: Any) -> Any:
    chart = read_chart(findings(dialogue=dialogue, **more), "treatment", None)
    return report_by_neighbours(ReportView(chart=chart, neighbours=[]))


OPEN = "Undetermined (the complaint: “A cough for two weeks”)"
REPORTED = {"en": "The patient tells: {}", "zh": "患者自述：{}"}
DIALOGUE = [
    Turn(speaker="doctor", text="Since when?"),
    Turn(speaker="patient", text="For two weeks, with fever."),
    Turn(speaker="doctor", text="Please have a chest X-ray done."),
    Turn(speaker="patient", addressee="examiner", text="An X-ray, please."),
    Turn(speaker="examiner", addressee="patient", text="What only the patient hears."),
    Turn(speaker="patient", addressee="doctor", text="X-ray: findings consistent with lobar pneumonia."),
]


def test_offline_a_report_sorts_what_was_said_into_symptoms_and_examinations() -> None:
    found = report(DIALOGUE)
    assert "For two weeks, with fever." in found.symptoms and "X-ray" not in found.symptoms
    assert found.examinations == "X-ray: findings consistent with lobar pneumonia."


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_no_stock_reply_of_a_patient_is_a_symptom(language: Any) -> None:
    replies = [load_words("consultation/words", language)["patient"]["unclear"]]
    replies += load_words("saps/words", language).values()
    door = Presentation(language=language, chief_complaint="A cough.")
    told = report([Turn(speaker="patient", text=reply) for reply in replies], presentation=door)
    assert told.symptoms == REPORTED[language].format("A cough.")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_results_are_reported_without_the_talk_around_them(language: Any) -> None:
    relay = load_words("ai_hospital/words", language)["patient"]["told"]
    asked = load_words("clini_eval/words", language)["patient"]
    dialogue = [
        Turn(speaker="doctor", text="Please have a chest X-ray done."),
        Turn(speaker="patient", text=relay.format("X-ray: clear.")),
        Turn(speaker="doctor", text="Please have a chest X-ray done."),
        Turn(speaker="patient", text=f"X-ray: clear.\n{asked['results']}"),
        Turn(speaker="doctor", text="Please have a chest X-ray done."),
        Turn(speaker="patient", text=asked["confirmatory_tests"]),
        Turn(speaker="doctor", text="Please have a chest X-ray done."),
        Turn(speaker="patient", text=load_words("saps/words", language)["ineffective_advice"]),
    ]
    door = Presentation(language=language, chief_complaint="A cough.")
    assert report(dialogue, presentation=door).examinations == "X-ray: clear."


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_the_disease_that_the_patient_was_told_to_have_is_the_one_reported(language: Any) -> None:
    doctor = load_words("consultation/words", language)["doctor"]
    told, concluded = (doctor[each].format(diagnosis="gout", treatment="rest") for each in ("told", "concluded"))
    suspected = load_words("clini_eval/words", language)["physician"]["steps"][0].format(disease="gout")
    door = Presentation(language=language, chief_complaint="A cough.")
    for words in (told, concluded, suspected):
        found = report([*DIALOGUE, Turn(speaker="doctor", text=words)], presentation=door)
        assert found.diagnosis == ["gout"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_a_known_name_with_a_comma_in_it_is_one_diagnosis(language: Any) -> None:
    comma = mark("listed", language)
    name = comma.join(("chronic myeloid leukemia", "chronic phase"))
    told = load_words("consultation/words", language)["doctor"]["told"]
    words = told.format(diagnosis=comma.join(("gout", name)), treatment="rest")
    door = Presentation(language=language, chief_complaint="A cough.")
    dialogue = [*DIALOGUE, Turn(speaker="doctor", text=words)]
    chart = read_chart(findings(dialogue=dialogue, presentation=door), "treatment", None)
    known = Neighbour(RememberedCase(id="a", verified=True, diagnosis=[name]), 0.1)
    assert report_by_neighbours(ReportView(chart=chart, neighbours=[known])).diagnosis == ["gout", name]
    assert report_by_neighbours(ReportView(chart=chart, neighbours=[])).diagnosis == ["gout", *name.split(comma)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_a_name_that_was_told_ends_where_the_words_behind_it_begin(language: Any) -> None:
    """Trying each later place, too, took time that grew with the square of a text that repeats them."""
    told = load_words("consultation/words", language)["doctor"]["told"]
    between = told.partition("{diagnosis}")[2].partition("{treatment}")[0]
    words = told.format(diagnosis="gout", treatment=f"rest{between}ice")
    door = Presentation(language=language, chief_complaint="A cough.")
    found = report([*DIALOGUE, Turn(speaker="doctor", text=words)], presentation=door)
    assert found.diagnosis == ["gout"] and found.treatment == f"rest{between}ice"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_who_was_told_that_the_diagnosis_is_open_has_it_reported_as_undetermined(language: Any) -> None:
    words = load_words("consultation/words", language)["doctor"]["open"].format(treatment="rest")
    unnamed = load_words("clini_eval/words", language)["physician"]["unnamed"].format(tests="CT")
    door = Presentation(language=language, chief_complaint="A cough.")
    undetermined = load_words("medchain/words", language)["group"]["undetermined"].format("A cough")
    for said, treatment in ((words, "rest"), (unnamed, None)):
        found = report([*DIALOGUE, Turn(speaker="doctor", text=said)], presentation=door)
        assert found.diagnosis == [undetermined] and found.treatment == (treatment or found.treatment)
    assert undetermined not in words and tells_diagnosis(words)


def test_offline_a_complaint_ends_before_the_next_sentence_and_one_that_nobody_can_name_stays_whole() -> None:
    unknown = load_words("medchain/words", "en")["group"]["undetermined"].format("A cough, and pain")
    words = load_words("clini_eval/words", "en")["physician"]["steps"][0].format(disease=unknown)
    door = Presentation(language="en", chief_complaint="A cough")
    found = report([*DIALOGUE, Turn(speaker="doctor", text=words)], presentation=door)
    assert found.symptoms.startswith("The patient tells: A cough. For two weeks") and found.diagnosis == [unknown]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_a_report_says_each_sentence_once_and_nothing_of_a_patient_who_only_asks_back(language: Any) -> None:
    told_all = load_words("consultation/words", language)["patient"]["all_said"]
    complaint = {"en": "A cough for two weeks.", "zh": "咳嗽两周。"}[language]
    replies = [f"Hello: {complaint}", f"{complaint} It is worse at night.", told_all, "What would you like to know?"]
    asked = Turn(speaker="doctor", text="What else?")
    dialogue = [turn for text in replies for turn in (asked, Turn(speaker="patient", text=text))]
    for recorded in (complaint, complaint.rstrip(".。")):
        door = Presentation(language=language, chief_complaint=recorded)
        symptoms = report(dialogue, presentation=door).symptoms
        assert symptoms == REPORTED[language].format(f"{complaint}{mark('space', language)}It is worse at night.")


@pytest.mark.parametrize(
    ("language", "complaint", "again"),
    [
        ("en", "Dyspnea for two weeks.", "Shortness of breath for two weeks."),
        ("zh", "纳差一月余。", "胃口不好一月余。"),
    ],
)
def test_offline_a_report_has_the_complaint_once_though_the_patient_says_it_in_own_words(
    language: Any, complaint: str, again: str
) -> None:
    door = Presentation(language=language, chief_complaint=complaint)
    written = report([Turn(speaker="patient", text=f"{again} It is worse at night.")], presentation=door)
    assert written.symptoms == REPORTED[language].format(f"{complaint}{mark('space', language)}It is worse at night.")


@pytest.mark.parametrize(("language", "complaint"), [("en", "I cough."), ("zh", "咳嗽两周。")])
def test_offline_a_report_of_a_doctor_who_knows_only_the_dialogue_has_the_complaint_without_the_greeting(
    language: Any, complaint: str
) -> None:
    greeted = load_words("ai_hospital/words", language)["profile"]["statement"].format(complaint.rstrip(".。"))
    greeted = greeted.rstrip(".。") + complaint[-1]
    door = Presentation(language=language, chief_complaint=greeted)
    written = report([Turn(speaker="patient", text=greeted)], presentation=door)
    assert written.symptoms == REPORTED[language].format(complaint)


def test_offline_a_disease_that_a_result_names_is_the_diagnosis_and_the_result_its_basis() -> None:
    found = report(DIALOGUE)
    assert found.diagnosis == ["lobar pneumonia"]
    assert "consistent with lobar pneumonia" in found.basis


@pytest.mark.parametrize(
    ("result", "named"),
    [
        ("Biopsy confirming the diagnosis of malignant melanoma.", "malignant melanoma"),
        ("Ultrasound suggests possible liver failure.", "liver failure"),
        ("超声提示为肌瘤。", "肌瘤"),
        ("CT提示胃癌表现。", "胃癌"),
        ("超声提示异位妊娠可能性大。", "异位妊娠"),
        ("彩超符合子宫肌瘤声像图。", "子宫肌瘤"),
        ("头颅CT显示左侧丘脑出血破入脑室系统。", "左侧丘脑出血"),
        ("血常规提示HGB89g/L。", ""),
        ("活检提示未分化癌。", "未分化癌"),
        ("MRI suggests normal pressure hydrocephalus.", "normal pressure hydrocephalus"),
        ("The MRI suggests no meniscal tear.", ""),
        ("No confirmatory findings of a tumour.", ""),
    ],
)
def test_offline_a_result_names_a_disease_as_a_doctor_would_and_a_value_is_none(result: str, named: str) -> None:
    found = report([], results={"Blood Test": result})
    assert found.diagnosis == [named or OPEN]


def test_offline_a_doctor_who_knows_nothing_says_that_the_diagnosis_is_open() -> None:
    assert report([]).diagnosis == [OPEN]


def test_offline_an_open_diagnosis_has_the_complaint_without_the_manner_of_a_persona() -> None:
    manner = load_words("medpmc/words", "en")["manner"]["student"]["male"][0][0]
    door = Presentation(language="en", chief_complaint=f"{manner} A cough.")
    assert report([], presentation=door).diagnosis == ["Undetermined (the complaint: “A cough”)"]


def test_results_on_file_are_reported_by_the_name_of_the_examination() -> None:
    door = Presentation(language="en", chief_complaint="A cough")
    found = report([], results={"Blood Test": "CRP 60 mg/L."}, presentation=door)
    assert found.examinations == "Blood Test: CRP 60 mg/L." and found.basis == "A cough. CRP 60 mg/L."


@pytest.mark.parametrize("listener", ["doctor", "patient", "examiner"])
def test_words_for_one_person_are_heard_by_speaker_and_addressee_alone(listener: Any) -> None:
    heard = [turn.text for turn in heard_by(listener, DIALOGUE)]
    assert ("An X-ray, please." in heard) == (listener in ("patient", "examiner"))
    assert ("What only the patient hears." in heard) == (listener in ("patient", "examiner"))
    assert "Since when?" in heard


def test_what_only_the_patients_side_knows_of_a_turn_is_not_on_the_doctors_chart() -> None:
    told = Turn(speaker="patient", text="It hurts.", plain="Pain.", action="Effective Inquiry", facts=["Pain."])
    [turn] = read_chart(findings(dialogue=[told]), "treatment", None).dialogue
    assert turn == Turn(speaker="patient", text="It hurts.")


def test_offline_what_the_patient_was_told_is_what_is_filed() -> None:
    wording = load_words("consultation/words", "en")["doctor"]["told"]
    told = Turn(speaker="doctor", text=wording.format(diagnosis="Gout, Obesity", treatment="Medication, Rest"))
    found = report([*DIALOGUE, told, Turn(speaker="patient", addressee="doctor", text="Thank you.")])
    assert (found.diagnosis, found.treatment) == (["Gout", "Obesity"], "Medication, Rest")
