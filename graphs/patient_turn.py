"""One turn with a patient system: the user's words and the reply; a thread keeps the dialogue for the next turn."""

from functools import partial
from typing import Any

from langgraph.graph import END, START

from graphs.asked_roles import keys_asked
from graphs.contexts import patient_context
from graphs.state_graph import Graph, StateGraph
from nodes.patients.address import AddressState, address
from nodes.patients.systems import PATIENTS
from nodes.state.graph_states import ClinicalInput, PatientTurnState
from nodes.state.patient_side import PatientSideState
from nodes.workflow.admission import admit


class PatientTurnInput(ClinicalInput, AddressState, total=False):
    """A case or its id, needed once per thread, and what is said."""


def build_patient_turn(patient: str) -> StateGraph[Any, Any, Any, Any]:
    """Build the graph of one turn with a patient system, from a case and the words of the user as the doctor."""
    builder = StateGraph(PatientTurnState, context_schema=patient_context(patient), input_schema=PatientTurnInput)
    builder.add_node(admit.at(consultation=True))
    builder.add_node(address)
    builder.add_node("patient", PATIENTS[patient].graph, input_schema=PatientSideState)

    builder.add_edge(START, "admit")
    builder.add_edge("admit", "address")
    builder.add_edge("address", "patient")
    builder.add_edge("patient", END)
    return builder


@PATIENTS.cached
def patient_turn_of(patient: str) -> Graph:
    """Return the compiled graph of one patient system; cached."""
    graph = build_patient_turn(patient).compile(name=f"Patient {patient}")
    patient_context(patient).asks = partial(keys_asked, graph)
    return graph
