"""What the small classifiers refuse in freely worded dialogues, and let pass."""

from collections.abc import Sequence
from typing import Any

import pytest

from cases.dialogues import Dialogue, Message
from cases.notes import Note
from llm.specs import OFFLINE
from nodes.reconstruction.gates import check_dialogue
from nodes.reconstruction.knowledge import KnowledgeView, knowledge_of_the_note
from nodes.reconstruction.learned import RULES
from nodes.reconstruction.plan import fill_plan
from nodes.reconstruction.role_setting import RoleSetting

NOTE = (
    "A 58-year-old woman has had pain in the left hip for six weeks, worse on stairs. She takes ibuprofen; it helps. "
    "Her mother had osteoarthritis. She works as a cook and does not smoke."
)
SPOKEN = (
    "Good morning, doctor.",
    "Good morning. What brings you in?",
    "My left hip has been hurting, mostly when I climb the stairs.",
    "How long has this been going on?",
    "About six weeks now.",
    "Are you taking anything for the pain?",
    "Just ibuprofen, and it does help me.",
    "Does anybody in your family have trouble with their joints?",
    "My mom had arthritis in her knees.",
    "What do you do for a living?",
    "I am a cook, so I stand all day.",
)

STRANGE = ("Have you coughed up any blood?", "Yes, and I sweat through my pajamas at night.")


def refusals(
    messages: dict[int, str] | None = None,
    between: tuple[str, ...] | None = None,
    after: Sequence[str] = (),
    **more: Any,
) -> list[str]:
    said = [(messages or {}).get(turn, text) for turn, text in enumerate(SPOKEN, 1)]
    said[9:9] = between or ()
    said += after
    roles: Any = ("user", "assistant")
    spoken = [Message(role=roles[place % 2], content=text) for place, text in enumerate(said)]
    dialogue = Dialogue(**{"id": "d", "messages": spoken, "note": NOTE, **more})
    return [str(problem) for problem in check_dialogue(dialogue) if problem.gate in RULES]


def test_what_people_say_of_the_note_passes() -> None:
    assert refusals() == []


def test_an_exchange_with_somebody_else_is_named_with_what_of_the_note_is_nearest() -> None:
    (stranger,) = refusals(between=STRANGE)
    assert stranger.startswith("connected_to_the_note (turn 10)") and "nothing closer than" in stranger


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        (7, f"{SPOKEN[6]} I had my gallbladder taken out two years ago."),
        (9, f"{SPOKEN[8]} My bone scan was clean."),
        (10, f"Your colonoscopy was fine. {SPOKEN[9]}"),
    ],
)
def test_an_operation_or_a_result_that_nobody_made_is_named(turn: int, text: str) -> None:
    (refused,) = refusals({turn: text})
    assert refused.startswith(f"founded_on_the_note (turn {turn})")


@pytest.mark.parametrize(
    ("question", "answer", "refused"),
    [
        ("Do you smoke?", "Yes, I do.", True),
        ("Do you smoke?", "No, I don't.", False),
        ("Does the ibuprofen help your hip?", "No.", True),
        ("Does the ibuprofen help your hip?", "Yes, it does.", False),
        ("You don't smoke, do you?", "Yes, I do.", False),  # which may be a yes to either
    ],
)
def test_a_yes_or_no_that_the_note_does_not_make_of_the_question_is_named(
    question: str, answer: str, refused: bool
) -> None:
    found = refusals(between=(question, answer))
    assert any(one.startswith("answers_expected (turn 11)") for one in found) is refused


def test_after_the_findings_are_told_an_exchange_may_be_about_nothing_in_the_note() -> None:
    def strangers(**more: Any) -> bool:
        return any(one.startswith("connected_to_the_note") for one in refusals(after=STRANGE, **more))

    assert strangers() and not strangers(sections={"confirmatory_tests": len(SPOKEN)})
    assert strangers(sections={"risk_factors": len(SPOKEN)})


@pytest.mark.parametrize(("reply", "refused"), [("I couldn't say.", False), (STRANGE[1], True)])
def test_nothing_strange_is_told_by_who_does_not_know(reply: str, refused: bool) -> None:
    assert bool(refusals(between=(STRANGE[0], reply))) is refused


@pytest.mark.parametrize(("reply", "refused"), [("I'm not sure.", False), (SPOKEN[10], True)])
def test_who_does_not_know_answers_every_question(reply: str, refused: bool) -> None:
    found = refusals({5: reply, 11: SPOKEN[4]})
    assert any(one.startswith("answers_in_place") for one in found) is refused


def test_answers_that_changed_places_are_named_with_the_question_that_they_fit() -> None:
    refused = refusals({5: SPOKEN[10], 11: SPOKEN[4]})
    assert any(one.startswith("answers_in_place") and "What do you do for a living?" in one for one in refused)


def test_turns_in_the_others_mouth_are_named_from_the_first_to_the_last() -> None:
    swapped = {3: SPOKEN[3], 4: SPOKEN[2], 5: SPOKEN[5], 6: SPOKEN[6], 7: SPOKEN[7], 8: SPOKEN[8], 9: SPOKEN[9]}
    assert any(one.startswith("speaks_for_oneself") for one in refusals(swapped))


def test_what_the_patient_asks_and_the_physician_answers_after_the_findings_is_in_its_place() -> None:
    knowledge = knowledge_of_the_note(KnowledgeView(Note(id="n", text=f"{NOTE} Diagnosis: Osteoarthritis.")))
    planned = fill_plan(Note(id="n", text=NOTE), RoleSetting(), knowledge, "en")[-3:]
    told = [text for section in planned for step in section.steps for text in (step.physician, step.patient)]
    speaks = "speaks_for_oneself"
    assert any(one.startswith(speaks) for one in refusals(after=told))
    recorded = {"physical_examination": len(SPOKEN)}
    assert not any(one.startswith(speaks) for one in refusals(after=told, sections=recorded))
    swapped = {3: SPOKEN[3], 4: SPOKEN[2], 5: SPOKEN[5], 6: SPOKEN[6], 7: SPOKEN[7], 8: SPOKEN[8], 9: SPOKEN[9]}
    assert any(one.startswith(speaks) for one in refusals(swapped, after=told, sections=recorded))


def test_a_question_and_its_answer_in_each_others_mouth_are_named() -> None:
    refused = refusals({8: SPOKEN[8], 9: SPOKEN[7]})
    assert any(one.startswith("turns_in_place (turn 8)") for one in refused)
    asked_back = refusals(
        {9: "Do you mean like my mom and my brothers?", 10: "Yes, mostly your parents, and your siblings."}
    )
    assert not any(one.startswith("turns_in_place") for one in asked_back)


@pytest.mark.parametrize("more", [{"language": "zh"}, {"models": [OFFLINE]}])
def test_other_languages_and_what_is_all_by_rules_are_not_read(more: dict[str, Any]) -> None:
    assert refusals(between=STRANGE, **more) == []
