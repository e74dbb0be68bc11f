"""The records of a collaboration: takes what one doctor holds alone, and files how it was come to. Asks nobody."""

from typing import Any

from langgraph.runtime import Runtime

from nodes.collaboration.topic import Subject
from nodes.context import Context
from nodes.node import node
from nodes.state.collaboration import Collaboration, ConferenceState, last_statements
from nodes.state.decisions import Judgement, Round, Verdict


@node
async def adopt(state: ConferenceState, runtime: Runtime[Context], subject: Subject) -> dict[str, Any]:
    """One doctor: the report stands as it is, without a further call."""
    [only] = last_statements(state)
    return {"report": subject.answer.model_validate(only.report), "ended": "no_discussion"}


@node
async def file_collaboration(state: ConferenceState, runtime: Runtime[Context]) -> dict[str, Any]:
    """The record of the collaboration: how it ended, and every turn of every round."""
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
    """Leave the decision to the clinical workflow, with how it was come to."""
    collaboration, decision = state["collaboration"], state["report"]
    minutes = [
        Round(
            decision={f"intern{statement.seat}": statement.report for statement in each.statements},
            judgements=[
                Judgement(
                    judge="director",
                    verdict=Verdict(accepted=each.agreed, reason="; ".join(item.point for item in each.disputes)),
                )
            ],
        )
        for each in collaboration.discussion
    ]
    alone = Round(decision=decision.model_dump(mode="json"))
    return {"decision": decision, "minutes": minutes or [alone], "ended": _ENDED[collaboration.ended]}
