"""A trainer's feedback on a consultation."""

import asyncio

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
