"""Med-PMC's patient and actor, judged in own dialogues."""

from typing import Any

import pytest

import graphs.roles  # noqa: F401 - registers the patients
from cases import load_cases
from llm import ModelSettings
from nodes.context import Context
from nodes.state.chart import Turn
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.patient_suite import patient_suite as suite
from scoring.medpmc.patient_suite import standard_patient_suite
from tests.support.fake_server import ChatRequest, FakeServer

CASE = load_cases("builtin")[0]
PATIENT = {"description": 2, "completeness": 1.5, "cooperation": 2, "understanding": 1, "communication": 2}
PERSONA = {"semantic_consistency": 4.5, "character_features": 3}


def dialogue(plain: str) -> ConsultationAnswers:
    said = Turn(speaker="patient", text="Well, doc, it hurts.", plain=plain)
    return ConsultationAnswers(
        dialogue=[Turn(speaker="doctor", text="What is it?"), said, Turn(speaker="doctor", text="Goodbye.")]
    )


def judged(request: ChatRequest) -> dict[str, Any]:
    return PERSONA if request.name == "PersonaScores" else PATIENT


def by_judge(server: FakeServer) -> list[ChatRequest]:
    return sorted(server.requests, key=lambda request: request.name)  # the judges are asked side by side


async def test_the_patient_is_judged_by_what_was_meant_and_the_actor_by_both_side_by_side() -> None:
    with FakeServer(answer=judged, latency=0.1) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        found = await suite.score(CASE, dialogue("It hurts, no fever."), settings)
    assert [found.values[name] for name in ("D", "I", "C", "U", "CM", "Total")] == [2, 1.5, 2, 1, 2, 8.5]
    assert (found.values["Semantic consistency"], found.values["Character feature"]) == (4.5, 3)
    assert server.max_in_flight == 2
    patient, persona = by_judge(server)
    assert "It hurts, no fever." in patient.text and "Well, doc" not in patient.text
    assert "It hurts, no fever." in persona.text and "Well, doc, it hurts." in persona.text


async def test_the_standard_patient_alone_is_judged_without_a_question_about_a_persona() -> None:
    with FakeServer(answer=judged) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        found = await standard_patient_suite.score(CASE, dialogue(""), settings)
        whole = await suite.score(CASE, dialogue(""), settings)
    assert found.values == {name: whole.values[name] for name in found.values} and found.values["Total"] == 8.5
    assert [request.name for request in by_judge(server)] == ["PatientScores", "PatientScores", "PersonaScores"]


async def test_without_the_actor_plain_words_have_no_consistency_to_score() -> None:
    found = await suite.score(CASE, dialogue(""), ModelSettings())
    assert found.values["Character feature"] == 0 and found.values["Semantic consistency"] is None
    assert "no actor spoke" in found.unscored["Semantic consistency"]


async def test_without_the_actor_no_persona_is_looked_for_in_the_results_that_a_technician_tells() -> None:
    told = Turn(speaker="examiner", addressee="doctor", text="Blood Test: haemoglobin 70 g/L.")
    hello, said, goodbye = dialogue("").dialogue
    examined = [hello, said, Turn(speaker="doctor", text="A blood count, please."), told, goodbye]
    with FakeServer(answer=judged) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        await suite.score(CASE, ConsultationAnswers(dialogue=examined), settings)
    patient, persona = by_judge(server)
    assert "haemoglobin 70" in patient.text and "haemoglobin 70" not in persona.text and said.text in persona.text


@pytest.mark.parametrize(("fails", "left"), [("PatientScores", "Character feature"), ("PersonaScores", "Total")])
async def test_a_judge_that_fails_leaves_its_own_columns_unscored(fails: str, left: str) -> None:
    def answer(request: ChatRequest) -> dict[str, Any]:
        return {} if request.name == fails else judged(request)

    with FakeServer(answer=answer) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"}, repairs=0)
        found = await suite.score(CASE, dialogue("It hurts."), settings)
    assert found.values[left] is not None
    lost = {name for name, reason in found.unscored.items() if reason.startswith("judge failed")}
    assert lost == {name for name, value in found.values.items() if value is None} and left not in lost


@pytest.mark.parametrize("tracker", [True, False])
async def test_a_patient_without_states_who_tells_what_a_picture_shows_is_judged_by_a_record_that_has_it(
    tracker: bool,
) -> None:
    case = next(case for case in load_cases("builtin") if case.examinations.images)
    image = case.examinations.images[0]
    with FakeServer(answer=judged) as server:
        settings = Context(models={"default": f"openai:any@{server.base_url}"}, patient="medpmc", tracker=tracker)
        await suite.score(case, dialogue("It hurts."), settings)
    patient, _ = by_judge(server)
    assert (case.report_of(image.item, image.file) in patient.text) is not tracker
    assert (image.file.rpartition("/")[2] in patient.text) is tracker


async def test_a_silent_patient_is_unscored_with_the_reason() -> None:
    silent = ConsultationAnswers(dialogue=[Turn(speaker="doctor", text="Goodbye.")])
    found = await suite.score(CASE, silent, ModelSettings())
    assert set(found.unscored) == set(suite.published) and "said nothing" in found.unscored["Total"]
