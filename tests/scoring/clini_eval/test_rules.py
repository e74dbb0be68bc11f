import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.dialogues import Dialogue, Message
from scoring.clini_eval.points import LEAVES
from scoring.clini_eval.rules import COUNTABLE, count_points, findings_of
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


def talk(*rounds: tuple[str, str], note: str = "A man coughs.", language: str = "en") -> Dialogue:
    messages = [
        Message(role=role, content=text)
        for physician, patient in rounds
        for role, text in (("assistant", physician), ("user", patient))
    ]
    return Dialogue.model_validate({"id": "1", "messages": messages, "note": note, "language": language})


def test_what_needs_judgement_is_not_counted() -> None:
    assert LEAVES.keys() - JUDGED == COUNTABLE


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("leaf", sorted(COUNTABLE))
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
    assert {"two_questions", "rarely_repetitive", "no_jargon"} <= points.unscored.keys()
    assert points.counted["family_history"] == 0, "what is told is not asked for"


def test_what_the_patient_says_is_not_the_physicians_question() -> None:
    points = count_points(talk(("I see.", "Do you want to know whether I smoke or have allergies?")))
    assert points.counted["personal_history"] == points.counted["medication_and_allergies"] == 0


def test_a_request_without_a_question_mark_asks() -> None:
    assert count_points(talk(("Please tell me about your family.", "Well."))).counted["family_history"] == 2


def test_a_term_is_jargon_only_in_a_question_that_does_not_explain_it() -> None:
    plain = count_points(talk(("Any dyspnea, that is, trouble breathing?", "No."))).counted["no_jargon"]
    jargon = count_points(talk(("Any dyspnea?", "No."))).counted["no_jargon"]
    told = count_points(talk(("Any trouble?", "No."), ("It is a myocardial infarction.", "Oh."))).counted["no_jargon"]
    assert (plain, jargon, told) == (2, 0, 2)


def test_a_third_question_at_once_is_one_too_many() -> None:
    two = count_points(talk(("Where? When?", "Here.")))
    half = count_points(talk(("Where? When? How?", "Here."), ("Since when?", "Now.")))
    assert two.counted["two_questions"] == 3 and half.counted["two_questions"] == 1.5


def test_haste_in_a_question_is_no_advice() -> None:
    asked = count_points(talk(("Did it come on immediately?", "Yes.")))
    told = count_points(talk(("Go to the emergency room.", "Yes.")))
    assert (asked.counted["urgent_care"], told.counted["urgent_care"]) == (0, 1)


def test_the_share_of_the_notes_findings_that_came_up_is_counted() -> None:
    note = "He coughs. Temperature is 39 C. Chest x-ray shows an infiltrate on the right."
    assert len(findings_of(note, "en")) == 2
    half = talk(("May I have the results?", "The temperature is 39 C."), note=note)
    assert count_points(half).counted["examination_consistency"] == 2
    assert "examination_consistency" in count_points(talk(("Well?", "No."))).unscored, "a note without findings"
    assert [len(findings_of(NOTE[language], language)) for language in ("en", "zh")] == [3, 3]


@given(st.lists(st.tuples(st.sampled_from(["assistant", "user", "system"]), st.text(max_size=60)), max_size=6))
def test_no_dialogue_is_beyond_counting(messages: list[tuple[str, str]]) -> None:
    given_ = [{"role": role, "content": text} for role, text in messages]
    points = count_points(Dialogue.model_validate({"id": "1", "messages": given_, "note": "x"}))
    assert all(0 <= value <= LEAVES[key].maximum for key, value in points.counted.items())
