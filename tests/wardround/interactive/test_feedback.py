"""A trainer's feedback on a consultation."""

import asyncio

from cases.text.record_sentences import record_sentences
from llm import ModelSettings
from nodes.state.chart import Turn
from tests.scoring.test_consultation import CASE, RIGHT
from tests.support.fake_server import FakeServer
from wardround.interactive.feedback import feedback_on

DIALOGUE = [Turn(speaker="doctor", text="What brings you here?"), Turn(speaker="patient", text="It hurts.")]


def test_grade_report_and_technique_are_judged_side_by_side() -> None:
    with FakeServer(latency=0.1) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        feedback = asyncio.run(feedback_on(CASE, {"report": RIGHT, "dialogue": DIALOGUE}, settings))
    assert server.max_in_flight == 3
    assert feedback.diagnosis and feedback.technique and feedback.scores.parts


def test_a_person_who_plays_the_patient_has_told_only_what_they_said() -> None:
    """SAPS and Med-PMC release facts to who speaks for the patient, who may keep them."""
    facts = [fact.text for fact in record_sentences(CASE.patient, CASE.examinations, "en")]
    dialogue = [DIALOGUE[0], Turn(speaker="patient", text="Well.", facts=facts)]

    def untold(models: dict[str, str]) -> int:
        state = {"report": RIGHT, "dialogue": dialogue}
        found = asyncio.run(feedback_on(CASE, state, ModelSettings(models=models)))
        return sum(len(one.facts) for one in found.missed) + len(found.withheld)

    assert untold({"default": "offline", "doctor": "human"}) == 0
    assert untold({"default": "offline", "response_generator": "human"}) > 0
