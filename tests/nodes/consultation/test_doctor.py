from dataclasses import fields
from typing import Any

import pytest

from nodes.consultation.doctor import InterviewView, in_plain_words
from nodes.state.chart import Turn
from nodes.workflow.stages import read_chart
from tests.graphs.scripting import findings

SAID = [Turn(speaker="doctor", text="What brings you here?"), Turn(speaker="patient", text="I cough.")]


@pytest.mark.parametrize(("dialogue", "ends"), [([], False), (SAID, True)])
def test_plain_words_that_take_leave_end_a_dialogue_that_has_begun_and_no_other(
    dialogue: list[Turn], ends: bool
) -> None:
    chart = read_chart(findings(dialogue=dialogue), "treatment", None)
    rest: dict[str, Any] = {field.name: None for field in fields(InterviewView) if field.name != "chart"}
    view = InterviewView(chart=chart, **rest)
    assert in_plain_words(view, "Goodbye, and all the best.").finished is ends
    assert not in_plain_words(view, "How long have you had the cough?").finished
