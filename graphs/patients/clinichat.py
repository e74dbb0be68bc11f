"""CliniChat's patient: knows the whole clinical note and reacts to each step of the diagnosis (CliniChat, F)."""

from langgraph.graph import END, START

from graphs.state_graph import StateGraph
from nodes.context import Context
from nodes.patients.clinichat import converse
from nodes.patients.registration import patient
from nodes.patients.systems import PATIENTS
from nodes.state.patient_side import PatientSideOutput, PatientSideState


@patient(
    "clinichat", examines=True, told=True, doctor="clinichat", settings=("doctor_knows", "greeting", "patient_context")
)
def build_clinichat() -> StateGraph[PatientSideState, Context, PatientSideState, PatientSideOutput]:
    """Build one reply of the patient."""
    builder = StateGraph(PatientSideState, context_schema=Context, output_schema=PatientSideOutput)
    builder.add_node(converse)
    builder.add_edge(START, "converse")
    builder.add_edge("converse", END)
    return builder


graph = PATIENTS["clinichat"].graph
