"""MedChain's patient: answers from the patient record; examinations are done after the dialogue (MedChain, A.2.2)."""

from langgraph.graph import END, START

from graphs.state_graph import StateGraph
from nodes.context import Context
from nodes.patients.medchain import answer
from nodes.patients.registration import patient
from nodes.patients.systems import PATIENTS
from nodes.state.patient_side import PatientSideOutput, PatientSideState


@patient("medchain", examines=False, settings=("results_in_dialogue",))
def build_medchain() -> StateGraph[PatientSideState, Context, PatientSideState, PatientSideOutput]:
    """Build one reply of the patient."""
    builder = StateGraph(PatientSideState, context_schema=Context, output_schema=PatientSideOutput)
    builder.add_node(answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder


graph = PATIENTS["medchain"].graph
