"""SAPS: the state-aware patient tells only what the doctor's action releases from the record (AIE, figure 1)."""

from typing import Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from graphs.state_graph import StateGraph
from nodes.context import Context, context_of
from nodes.offline.doctor_actions import Kind
from nodes.patients.registration import patient
from nodes.patients.saps.memory_bank import hold_record, release
from nodes.patients.saps.response_generator import GeneratorState, respond
from nodes.patients.saps.state_tracker import track_coverage, track_kind, track_specificity
from nodes.patients.systems import PATIENTS
from nodes.state.patient_side import PatientSideOutput, PatientSideState, turn_number


class SapsState(GeneratorState, PatientSideState, total=False):
    """One turn on the patient's side: the tracked action, and what it released from the memory."""

    kind: Kind


def tracker_or_whole_record(state: SapsState, runtime: Runtime[Context]) -> Literal["tracker", "whole record"]:
    """Use the whole record if the tracker is switched off; the greeting is recognised without it."""
    after_greeting = turn_number(state.get("dialogue", [])) > 1 or state.get("opened", False)
    return "whole record" if after_greeting and not context_of(runtime).tracker else "tracker"


def tracked_or_on(state: SapsState) -> Literal["tracked", "still open"]:
    """End the tracking as soon as a step settles the action."""
    return "tracked" if state.get("action") else "still open"


def concluded_or_answer(state: SapsState) -> Literal["concluded", "to be answered"]:
    """End without a reply if the doctor concluded."""
    return "concluded" if state["action"] == "Conclusion" else "to be answered"


@patient(
    "saps",
    examines=True,
    opens=True,
    greets=True,
    tracks=True,
    shows=False,
    speaker="response_generator",
    settings=("result_gate", "tracker", "tracker_context", "extraction", "history_sentences", "doctor_knows"),
)
def build_saps() -> StateGraph[SapsState, Context, SapsState, PatientSideOutput]:
    """Build one reply of the state-aware patient."""
    builder = StateGraph(SapsState, context_schema=Context, output_schema=PatientSideOutput)
    builder.add_node(track_kind)  # the state tracker, step 1
    builder.add_node(track_specificity)  # step 2
    builder.add_node(track_coverage)  # step 3
    builder.add_node(release)  # the memory bank
    builder.add_node(hold_record)  # without the tracker, the whole record
    builder.add_node(respond)  # the response generator

    builder.add_conditional_edges(
        START, tracker_or_whole_record, {"tracker": "track_kind", "whole record": "hold_record"}
    )
    builder.add_conditional_edges(
        "track_kind", tracked_or_on, {"tracked": "release", "still open": "track_specificity"}
    )
    builder.add_conditional_edges(
        "track_specificity", tracked_or_on, {"tracked": "release", "still open": "track_coverage"}
    )
    builder.add_edge("track_coverage", "release")
    builder.add_conditional_edges("release", concluded_or_answer, {"concluded": END, "to be answered": "respond"})
    builder.add_edge("hold_record", "respond")
    builder.add_edge("respond", END)
    return builder


graph = PATIENTS["saps"].graph
