"""Dispute resolution: interns consult, exchange facts, and discuss under a director (AI Hospital, figure 3).

The discussion (Algorithm 1), with its loop between director and interns, is ``graphs/discussion.py``.
"""

from typing import Any, Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Send

from graphs.consultation import build_consultation
from graphs.contexts import DisputeResolutionContext
from graphs.discussion import build_discussion
from graphs.inquiry import graph as inquiry
from graphs.interview import patients_side
from graphs.state_graph import Graph, StateGraph
from graphs.subgraphs import seated, send
from nodes.collaboration.exchange_of_facts import agree_on_facts, merge_facts
from nodes.collaboration.intern import as_doctor
from nodes.collaboration.subject import REPORT
from nodes.context import Context, context_of
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Turn
from nodes.state.collaboration import Confirmation, Consultation, Statement
from nodes.state.graph_states import ClinicalInput, DisputeResolutionState
from nodes.state.patient_side import PatientSideState
from nodes.workflow.admission import admit


def open_first(state: DisputeResolutionState, runtime: Runtime[Context]) -> list[Send] | Literal["patient opens"]:
    """Let a patient who speaks first say the opening once, as every intern hears the same one."""
    opens = PATIENTS[context_of(runtime).patient].opens and not state.get("dialogue")
    return "patient opens" if opens else each_intern(state, runtime)


def each_intern(state: DisputeResolutionState, runtime: Runtime[Context]) -> list[Send]:
    """Send the case to every intern; all consult the patient separately and in parallel."""
    return [send("consult", state, seat=seat + 1) for seat in range(context_of(runtime).interns)]


def exchange_or_alone(
    state: DisputeResolutionState, runtime: Runtime[Context]
) -> Literal["several doctors", "one doctor"]:
    """Skip the exchange of facts if there is only one doctor."""
    return "several doctors" if context_of(runtime).interns > 1 else "one doctor"


def each_conflict(state: DisputeResolutionState) -> list[Send] | Literal["no conflict"]:
    """Ask the patient or the examiner about all conflicts in parallel; if there is none, keep the merged facts.

    Each question follows the patient's first words, if any, which show a model the manner of speaking.
    """
    sent = []
    for number, conflict in enumerate(state["conflicts"], start=1):
        dialogue = [*state.get("dialogue", []), Turn(speaker="doctor", text=conflict.question)]
        sent.append(send("confirm", state, number=number, conflict=conflict, asked=conflict.ask, dialogue=dialogue))
    return sent or "no conflict"


def consulted(sent: Any, result: dict[str, Any]) -> dict[str, Any]:
    """Return the update from one intern's consultation: the consultation, and the first report on it."""
    seat = sent["seat"]
    consultation = Consultation(
        seat=seat,
        dialogue=result["dialogue"],
        results=result.get("results", {}),
        pictures=result.get("pictures", []),
        ended=result.get("dialogue_ended", ""),
    )
    report = result["report"].model_dump(mode="json")
    statement = Statement(round=0, seat=seat, report=report)
    return {"consultations": [consultation], "statements": [statement], "trace": result["trace"]}


def confirmed(sent: Any, result: dict[str, Any]) -> dict[str, Any]:
    """Return the update from one conflict: the reply to its question."""
    last = result["dialogue"][-1]
    reply = "" if last.speaker == "doctor" else last.text
    confirmation = Confirmation(number=sent["number"], conflict=sent["conflict"], reply=reply)
    return {"confirmations": [confirmation], **({"trace": result["trace"]} if "trace" in result else {})}


consult = seated(
    build_consultation(admitted=True).compile(name="Consultation"),
    lambda context, sent: as_doctor(context, sent["seat"]),
    consulted,
    may_drop=True,
)
confirm = seated(
    inquiry, lambda context, sent: context.model_copy(update={"scope": f"conflict{sent['number']}"}), confirmed
)

builder = StateGraph(DisputeResolutionState, context_schema=DisputeResolutionContext, input_schema=ClinicalInput)
builder.add_node(admit.at(consultation=True))
builder.add_node("opening", patients_side, input_schema=PatientSideState)  # the patient's first words
builder.add_node("consult", consult)  # one intern; fans out
builder.add_node(merge_facts)  # the director
builder.add_node("confirm", confirm)  # the patient or the examiner; fans out
builder.add_node(agree_on_facts)  # the director
builder.add_node("discuss", build_discussion(REPORT).compile(name="Discussion"))  # interns and director

builder.add_edge(START, "admit")
builder.add_conditional_edges("admit", open_first, {"patient opens": "opening", "each intern": "consult"})
builder.add_conditional_edges("opening", each_intern, {"each intern": "consult"})
builder.add_conditional_edges("consult", exchange_or_alone, {"several doctors": "merge_facts", "one doctor": "discuss"})
builder.add_conditional_edges("merge_facts", each_conflict, {"each conflict": "confirm", "no conflict": "discuss"})
builder.add_edge("confirm", "agree_on_facts")
builder.add_edge("agree_on_facts", "discuss")
builder.add_edge("discuss", END)

graph: Graph = builder.compile(name="Dispute resolution")
