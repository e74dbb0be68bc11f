"""The records of a collaboration: its outcome, and how it was reached. Makes no model call."""

from typing import Any

from langgraph.runtime import Runtime

from nodes.collaboration.subject import Subject
from nodes.context import Context
from nodes.node import node
from nodes.state.collaboration import Collaboration, ConferenceState, last_statements
from nodes.state.decisions import Judgement, Round, Verdict


@node
async def adopt(state: ConferenceState, runtime: Runtime[Context], subject: Subject) -> dict[str, Any]:
    """Adopt the report of a single doctor, without a further call."""
    [only] = last_statements(state)
    return {"report": subject.answer.model_validate(only.report), "ended": "no_discussion"}


@node
async def file_collaboration(state: ConferenceState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Record how the collaboration ended, with all statements of every round."""
    record = {
        "interns": len(last_statements(state)),
        "ended": state["ended"],
        "rounds": state.get("round", 0),
        "facts": state.get("facts"),
        "confirmations": state.get("confirmations", []),
        "discussion": state.get("discussion", []),
    }
    return {"collaboration": Collaboration.model_validate(record)}


_ENDED = {"agreed": "agreed", "rounds_used_up": "exhausted", "no_discussion": "not_judged"}


@node
async def hand_on(state: ConferenceState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Return the decision to the clinical workflow, with the rounds that led to it."""
    collaboration, decision = state["collaboration"], state["report"]
    minutes = []
    for round_ in collaboration.discussion:
        verdict = Verdict(accepted=round_.agreed, reason="; ".join(item.point for item in round_.disputes))
        reports = {f"intern{statement.seat}": statement.report for statement in round_.statements}
        minutes.append(Round(decision=reports, judgements=[Judgement(judge="director", verdict=verdict)]))
    return {"decision": decision, "minutes": minutes, "ended": _ENDED[collaboration.ended]}
