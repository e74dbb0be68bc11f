"""Med-PMC's judge of consultations, on runs of ours."""

from typing import Any

import pytest

import graphs.roles  # noqa: F401 - registers the patients
from cases import load_cases
from llm import ModelSettings
from nodes.consultation.final_report import FinalReport
from nodes.context import Context
from nodes.state.chart import Picture, Turn
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.judged_suite import judged_suite as suite
from tests.support.fake_server import ChatRequest, FakeServer

CASES = [case for case in load_cases("builtin") if case.split == "test"]
PICTURED = next(case for case in CASES if case.examinations.images)
PLAIN = next(case for case in CASES if not case.examinations.images)
GIVEN = {"inquiry": 4.5, "examination": 2, "multimodal_analysis": 3, "diagnosis": 5, "treatment": 1}


def answers(case: Any) -> ConsultationAnswers:
    pictures = [Picture(item=image.item, file=f"{case.folder}/{image.file}") for image in case.examinations.images]
    said = [
        Turn(speaker="doctor", text="A picture, please."),
        Turn(speaker="patient", text="Here.", pictures=pictures),
    ]
    parts = dict.fromkeys(("symptoms", "examinations", "basis", "treatment"), "Rest.")
    return ConsultationAnswers(dialogue=said, report=FinalReport(diagnosis=["Cold"], **parts))


@pytest.mark.parametrize(
    ("case", "how", "mma"), [(PICTURED, {}, 3), (PICTURED, {"pictures_in_dialogue": "none"}, None), (PLAIN, {}, None)]
)
async def test_the_five_aspects_are_the_judges_and_no_reading_is_scored_where_no_picture_may_be_seen(
    case: Any, how: dict[str, Any], mma: float | None
) -> None:
    with FakeServer(answer=lambda request: GIVEN) as server:
        settings = Context(models={"default": f"openai:any@{server.base_url}"}, patient="medpmc", **how)
        found = await suite.score(case, answers(case), settings)
    assert list(found.values.values()) == [4.5, 2, mma, 5, 1]
    assert set(found.unscored) == (set() if mma else {"MMA"})


async def test_the_judge_reads_what_the_patient_meant_and_not_the_personas_manner() -> None:
    """As published (section 4.1), so that an actor does not change what a doctor's work is worth."""
    said = [
        Turn(speaker="doctor", text="Where does it hurt?"),
        Turn(speaker="patient", text="Well, doc, my old knee plays up.", plain="My knee hurts."),
    ]
    with FakeServer(answer=lambda request: GIVEN) as server:
        settings = Context(models={"default": f"openai:any@{server.base_url}"}, patient="medpmc")
        await suite.score(PLAIN, answers(PLAIN).model_copy(update={"dialogue": said}), settings)
        [asked] = server.requests
    assert "My knee hurts." in asked.text and "plays up" not in asked.text


async def test_a_judge_that_leaves_out_the_reading_of_a_picture_is_asked_again() -> None:
    given = iter([{**GIVEN, "multimodal_analysis": None}, GIVEN])
    with FakeServer(answer=lambda request: next(given)) as server:
        settings = Context(models={"default": f"openai:any@{server.base_url}"}, patient="medpmc")
        found = await suite.score(PICTURED, answers(PICTURED), settings)
    assert found.values["MMA"] == 3 and len(server.requests) == 2


async def test_a_judge_that_fails_leaves_all_five_unscored_with_the_reason() -> None:
    def beyond(request: ChatRequest) -> dict[str, Any]:
        return {**GIVEN, "inquiry": 7}

    with FakeServer(answer=beyond) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"}, repairs=0)
        found = await suite.score(PICTURED, answers(PICTURED), settings)
    assert set(found.values.values()) == {None}
    assert all(reason.startswith("judge failed") for reason in found.unscored.values())
