from typing import Any

import pytest

from cases import PatientRecord
from llm import ModelSettings
from llm.trace import collecting_calls
from nodes.asking import ask_at_stage, ask_in_turn, place
from nodes.patients.medchain import PatientView, patient
from nodes.state.chart import Picture, Presentation, Turn
from nodes.state.stage import Options, StageState
from nodes.workflow.feedback_agent import JudgeView, feedback_agent
from nodes.workflow.stages import STAGES, read_chart

AT_THE_DOOR = Presentation(language="zh", chief_complaint="咳嗽三天")


@pytest.mark.parametrize(
    ("state", "where"),
    [
        ({}, "round0/seat1"),
        ({"backtracks": 0, "image_class": "CT"}, "CT/round0/seat1"),
        ({"backtracks": 2, "image_class": "CT"}, "visit2/CT/round0/seat1"),
    ],
)
def test_a_place_names_visit_and_image_class_only_where_there_are_any(state: dict[str, Any], where: str) -> None:
    assert place(state, "round0", "", "seat1") == where


@pytest.mark.parametrize(("stage", "shown"), [("examination", ["ct.png", "ct-2.png"]), ("diagnosis", [])])
async def test_a_stage_is_asked_in_the_language_of_the_case_and_with_the_pictures_of_its_report_alone(
    stage: str, shown: list[str]
) -> None:
    state = StageState(
        presentation=AT_THE_DOOR,
        results={"CT": "右下肺斑片影"},
        pictures=[
            Picture(item="CT", file="/files/ct.png"),
            Picture(item="MRI", file="/files/mri.png"),
            Picture(item="CT", file="/files/ct-2.png"),
        ],
        image_class="CT",
    )
    here = STAGES[stage]
    decision = {
        "examination": {"findings": "右下肺斑片影", "impression": "肺炎"},
        "diagnosis": {"names": ["肺炎"], "basis": "斑片影"},
    }[stage]
    view = JudgeView(
        stage=here,
        judge="diagnosis",
        chart=read_chart(state, stage, None),
        image_class="CT",
        options=Options((), "zh"),
        neighbours=[],
        file=[],
        decision=here.decision.model_validate(decision),
        reply="",
    )
    with collecting_calls() as calls:
        verdict = await ask_at_stage(feedback_agent, view, state, ModelSettings(), "round1", "diagnosis")
    assert verdict.accepted
    assert (calls[0].id, calls[0].prompt) == (f"{stage}/feedback/CT/round1/diagnosis", "zh/medchain/feedback")
    assert [message["image"] for message in calls[0].messages or [] if "image" in message] == shown


@pytest.mark.parametrize(("step", "where"), [("", "turn2"), ("kind", "turn2/kind")])
async def test_a_question_on_the_patients_side_bears_the_number_of_the_doctors_turn(step: str, where: str) -> None:
    dialogue = [
        Turn(speaker="patient", text="我咳嗽。"),
        Turn(speaker="doctor", text="多久了？"),
        Turn(speaker="patient", text="三天。"),
        Turn(speaker="doctor", text="发烧吗？"),
    ]
    record = PatientRecord(chief_complaint="咳嗽三天", present_illness="咳嗽三天，无发热。")
    view = PatientView(record=record, dialogue=dialogue[:-1], question=dialogue[-1].text, language="zh")
    with collecting_calls() as calls:
        await ask_in_turn(patient, view, {"presentation": AT_THE_DOOR, "dialogue": dialogue}, ModelSettings(), step)
    assert (calls[0].id, calls[0].prompt) == (f"history_taking/patient/{where}", "zh/medchain/patient")
