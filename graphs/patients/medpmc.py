"""Med-PMC's patient: state tracker, then patient or technician, and an actor for the persona (Med-PMC, figure 1)."""

from typing import Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from cases.case import PatientRecord
from graphs.patients.saps import SapsState, concluded_or_answer, tracked_or_on, tracker_or_whole_record
from graphs.state_graph import StateGraph
from nodes.context import Context, context_of
from nodes.offline.doctor_actions import Kind
from nodes.patients.medpmc.actor import act
from nodes.patients.medpmc.technician import ask_back, report_results, search_files, take_order
from nodes.patients.registration import patient
from nodes.patients.saps.memory_bank import hold_record, release
from nodes.patients.saps.response_generator import GeneratorState, respond
from nodes.patients.saps.state_tracker import AMBIGUOUS, Action, track_coverage, track_kind, track_specificity
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Picture
from nodes.state.patient_side import HeardState, PatientSideOutput


class PlainPatientOutput(PatientSideOutput, total=False):
    """What the plain patient adds."""

    action: Action | None


class PlainPatientInput(HeardState, total=False):
    """What the plain patient starts from: its own record and the doctor's words, without examinations."""

    patient_record: PatientRecord
    kind: Kind
    action: Action | None


class PlainPatientState(GeneratorState, PlainPatientInput, PlainPatientOutput, total=False):
    """The state of one plain reply."""


class PatientActorState(SapsState, total=False):
    """One turn on the patient's side: the tracked action, what it released, and what the technician found."""

    ordered: list[str]
    unnamed: list[str]
    findings: dict[str, str]
    found_pictures: list[Picture]


def patient_or_on(state: PatientActorState) -> Literal["for the patient", "still open"]:
    """End the tracking if the first step settled the action (first turn, other topic, conclusion)."""
    return "for the patient" if state.get("action") else "still open"


def patient_or_technician(
    state: PatientActorState, runtime: Runtime[Context]
) -> Literal["for the patient", "specific advice", "vague advice"]:
    """Send questions to the patient, specific advice to the technician, vague advice to whom ``asks_back`` names."""
    if state["kind"] == "advice" and not state.get("action"):
        return "specific advice"
    is_vague = state.get("action") == AMBIGUOUS["advice"]
    return "vague advice" if is_vague and context_of(runtime).asks_back == "technician" else "for the patient"


def asked_for_or_not(state: PatientActorState) -> Literal["examinations", "no examination"]:
    """Let the patient answer advice without an examination, such as a treatment."""
    return "examinations" if state["ordered"] else "no examination"


def act_or_not(state: PatientActorState, runtime: Runtime[Context]) -> Literal["said", "plain", "concluded"]:
    """Skip the actor if it is switched off or the dialogue is concluded."""
    if state["dialogue"][-1].speaker == "doctor":
        return "concluded"
    return "said" if context_of(runtime).actor else "plain"


@patient(
    "medpmc",
    examines=True,
    opens=True,
    greets=True,
    tracks=True,
    speaker="response_generator",
    settings=(
        *("patient_profession", "actor", "rewriting", "asks_back", "pictures_in_dialogue", "result_gate"),
        *("tracker", "tracker_context", "extraction", "history_sentences", "doctor_knows"),
    ),
)
def build_medpmc() -> StateGraph[PatientActorState, Context, PatientActorState, PatientSideOutput]:
    """Build one reply of the patient, in the manner of its persona, or of the technician."""
    plain_builder = StateGraph(
        PlainPatientState, context_schema=Context, input_schema=PlainPatientInput, output_schema=PlainPatientOutput
    )
    plain_builder.add_node(track_coverage)  # the state tracker, step 3
    plain_builder.add_node(release)  # what the action releases from the patient's record
    plain_builder.add_node(respond)

    # For a specific question, or advice that names no examination, the record decides the action.
    plain_builder.add_conditional_edges(START, tracked_or_on, {"tracked": "release", "still open": "track_coverage"})
    plain_builder.add_edge("track_coverage", "release")
    plain_builder.add_conditional_edges("release", concluded_or_answer, {"concluded": END, "to be answered": "respond"})
    plain_builder.add_edge("respond", END)

    builder = StateGraph(PatientActorState, context_schema=Context, output_schema=PatientSideOutput)
    builder.add_node(track_kind.at(demands=False))  # the state tracker, step 1
    builder.add_node(track_specificity)  # step 2
    builder.add_node("patient", plain_builder.compile(name="Plain patient"))
    builder.add_node(ask_back)  # the technician: which examination is meant
    builder.add_node(take_order)  # the technician: is an examination asked for, and which
    builder.add_node(search_files)  # is it on record
    builder.add_node(report_results)  # its result
    builder.add_node(hold_record)  # without the tracker, the whole record
    builder.add_node(respond)
    builder.add_node(act)  # the actor

    builder.add_conditional_edges(
        START, tracker_or_whole_record, {"tracker": "track_kind", "whole record": "hold_record"}
    )
    builder.add_conditional_edges(
        "track_kind", patient_or_on, {"for the patient": "patient", "still open": "track_specificity"}
    )
    builder.add_conditional_edges(
        "track_specificity",
        patient_or_technician,
        {"for the patient": "patient", "specific advice": "take_order", "vague advice": "ask_back"},
    )
    builder.add_edge("ask_back", END)
    builder.add_conditional_edges(
        "take_order", asked_for_or_not, {"examinations": "search_files", "no examination": "patient"}
    )
    builder.add_edge("search_files", "report_results")
    builder.add_edge("report_results", END)
    builder.add_edge("hold_record", "respond")
    builder.add_conditional_edges("respond", act_or_not, {"said": "act", "plain": END, "concluded": END})
    builder.add_conditional_edges("patient", act_or_not, {"said": "act", "plain": END, "concluded": END})
    builder.add_edge("act", END)
    return builder


graph = PATIENTS["medpmc"].graph
