import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import Case, PatientRecord, load_cases
from cases.text.sentences import sentences
from cases.vocabulary import Language
from nodes.patients.medchain import PatientView, quote_the_record
from nodes.state.chart import Turn
from prompts import load_words

INTERVIEW = {language: load_words("medchain/words", language)["doctor"]["questions"] for language in ("en", "zh")}
RECORDS: dict[Language, PatientRecord] = {
    "en": PatientRecord(
        chief_complaint="Pain in the belly since yesterday.",
        present_illness=(
            "It began at noon. The pain is dull. It moved to the right. It rose to 38.5 degrees at night. I was sick."
        ),
        past_history="Hernia operation in 2019. No allergy.",
        personal_history="Smokes ten a day.",
    ),
    "zh": PatientRecord(
        chief_complaint="腹痛一天。",
        present_illness="昨天中午开始。隐隐作痛。后来转到右下腹。夜里体温38.5℃。吐过一次。",
        past_history="2019年做过疝气手术。无过敏。",
        personal_history="每天抽十支烟。",
    ),
}


@pytest.mark.parametrize(("asked", "told"), [("Have you had a blood test?", "CRP 88."), ("Does it hurt?", "")])
def test_a_patient_who_was_told_results_tells_the_one_that_is_asked_for_and_no_other(asked: str, told: str) -> None:
    results = {"Blood Test": "CRP 88.", "Ultrasound": "Free fluid."}
    reply = quote_the_record(PatientView(RECORDS["en"], [], asked, "en", results)).text
    assert (reply == told) if told else not any(result in reply for result in results.values())


DENIALS = {
    "en": ("No, nothing that I know of.", "I have told you all that I know of it."),
    "zh": ("没有，我不清楚。", "我知道的都说过了。"),
}
QUESTIONS: dict[Language, dict[str, str]] = {
    "en": {
        "present_illness": "What is it like?",
        "past_history": "Which operations have you had before?",
        "personal_history": "Do you smoke?",
        "family_history": "Are there illnesses that run in your family?",
    },
    "zh": {
        "present_illness": "具体是什么样的感觉？",
        "past_history": "以前做过什么手术？",
        "personal_history": "平时抽烟吗？",
        "family_history": "家里人有没有遗传病？",
    },
}
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])


def talk(record: PatientRecord, language: Language, questions: list[str]) -> list[str]:
    """The replies to the questions, one after the other."""
    dialogue: list[Turn] = []
    replies = []
    for question in questions:
        replies.append(quote_the_record(PatientView(record, list(dialogue), question, language)).text)
        dialogue += [Turn(speaker="doctor", text=question), Turn(speaker="patient", text=replies[-1])]
    return replies


@LANGUAGES
@pytest.mark.parametrize("section", ["present_illness", "past_history", "personal_history"])
def test_the_patient_answers_from_the_section_that_is_asked_about(language: Language, section: str) -> None:
    [reply] = talk(RECORDS[language], language, [QUESTIONS[language][section]])
    assert set(sentences(reply)) <= set(sentences(getattr(RECORDS[language], section)))


@LANGUAGES
def test_the_patient_denies_what_is_not_recorded(language: Language) -> None:
    assert talk(RECORDS[language], language, [QUESTIONS[language]["family_history"]]) == [DENIALS[language][0]]
    bare = PatientRecord(chief_complaint="Pain.")
    assert set(talk(bare, language, list(QUESTIONS[language].values()))) == {DENIALS[language][0]}


@LANGUAGES
@pytest.mark.parametrize("section", ["present_illness", "past_history", "personal_history"])
def test_asked_again_the_patient_says_no_sentence_twice_and_denies_nothing_recorded(
    language: Language, section: str
) -> None:
    replies = talk(RECORDS[language], language, [QUESTIONS[language][section]] * 4)
    said = [sentence for reply in replies for sentence in sentences(reply) if reply not in DENIALS[language]]
    assert sorted(said) == sorted(sentences(getattr(RECORDS[language], section)))
    assert DENIALS[language][0] not in replies
    assert replies[-1] == DENIALS[language][1]


@LANGUAGES
def test_a_long_story_is_told_bit_by_bit(language: Language) -> None:
    replies = talk(RECORDS[language], language, [QUESTIONS[language]["present_illness"]] * 2)
    assert [len(sentences(reply)) for reply in replies] == [3, 2]


def test_a_symptom_is_told_although_its_denial_was_said_before() -> None:
    record = PatientRecord(chief_complaint="头痛。", present_illness="昨天无头痛。一。二。头痛。")
    assert talk(record, "zh", ["感觉怎么样？"] * 2)[1] == "头痛。"


@settings(max_examples=40)
@given(
    case=st.sampled_from([case for case in load_cases() if case.split == "test"]),
    order=st.permutations(range(len(INTERVIEW["en"]))),
)
def test_over_a_whole_interview_every_sentence_is_of_the_record_and_none_is_said_twice(
    case: Case, order: list[int]
) -> None:
    record, language = case.patient, case.language
    known = [
        sentence
        for section in ("present_illness", "past_history", "personal_history", "family_history")
        for sentence in sentences(getattr(record, section))
    ]
    replies = talk(record, language, [INTERVIEW[language][number] for number in order])
    said = [sentence for reply in replies for sentence in sentences(reply) if reply not in DENIALS[language]]
    assert set(said) <= set(known)
    assert all(said.count(sentence) <= known.count(sentence) for sentence in said)
