"""AI Hospital's patient: speaks to the doctor or the examiner, whose results it relays (AI Hospital, figure 2)."""

from typing import Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from graphs.state_graph import StateGraph
from nodes.context import Context, context_of
from nodes.patients.ai_hospital.examiner import DeskState, parse_request, report_outcomes
from nodes.patients.ai_hospital.patient import relay, reply
from nodes.patients.ai_hospital.profile import introduce
from nodes.patients.registration import patient
from nodes.patients.systems import PATIENTS
from nodes.state.patient_side import PatientSideOutput, PatientSideState


class AiHospitalState(PatientSideState, DeskState, total=False):
    """The state of one reply."""


def spoken_to(state: AiHospitalState) -> Literal["to the doctor", "to the examiner"]:
    """Route by the addressee that the patient names."""
    return "to the examiner" if state["dialogue"][-1].addressee == "examiner" else "to the doctor"


def opened(state: AiHospitalState) -> Literal["not yet", "spoken to"]:
    """Start with the patient's profile and first words if nothing has been said yet."""
    return "spoken to" if state.get("dialogue") else "not yet"


def told_by(state: AiHospitalState, runtime: Runtime[Context]) -> Literal["by the patient", "by the examiner"]:
    """Let the patient tell the doctor what the examiner said, unless the doctor heard it."""
    return "by the patient" if context_of(runtime).results_told_by == "patient" else "by the examiner"


@patient("ai_hospital", examines=True, opens=True, told=True, settings=("doctor_knows", "results_told_by"))
def build_ai_hospital() -> StateGraph[AiHospitalState, Context, PatientSideState, PatientSideOutput]:
    """Build one reply of AI Hospital's patient, or its opening of the dialogue."""
    builder = StateGraph(
        AiHospitalState, context_schema=Context, input_schema=PatientSideState, output_schema=PatientSideOutput
    )
    builder.add_node(introduce)  # the author of the patient's profile
    builder.add_node(reply)  # the patient
    builder.add_node(parse_request)  # the examiner, first step: which examinations are named
    builder.add_node(report_outcomes)  # the examiner, second step: their results
    builder.add_node(relay)  # the patient again

    builder.add_conditional_edges(START, opened, {"not yet": "introduce", "spoken to": "reply"})
    builder.add_edge("introduce", END)
    builder.add_conditional_edges("reply", spoken_to, {"to the examiner": "parse_request", "to the doctor": END})
    builder.add_edge("parse_request", "report_outcomes")
    builder.add_conditional_edges("report_outcomes", told_by, {"by the patient": "relay", "by the examiner": END})
    builder.add_edge("relay", END)
    return builder


graph = PATIENTS["ai_hospital"].graph
