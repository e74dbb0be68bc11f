"""One doctor alone, in one call: the plainest strategy, and MDAgents' for a case of low complexity."""

from typing import Any

from langgraph.runtime import Runtime

from llm import Role
from nodes.asking import ask_at_stage
from nodes.context import Context
from nodes.node import node
from nodes.offline.votes import majority
from nodes.state.decisions import Decision, Round
from nodes.state.experts import CaseView, PanelState, case_view
from nodes.workflow.stages import STAGES, Stage


def follow_most(view: CaseView) -> Decision:
    """Offline: what most similar cases hold."""
    return majority(view.stage, view.chart, view.neighbours, view.options.names, None)


solo_doctor: Role[Any] = Role("solo", "", "strategies/solo", Decision, offline=follow_most, stages=STAGES)


@node
async def answer_alone(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """The decision of one doctor, whom nobody judges."""
    view = case_view(state, stage, runtime.context)
    decision = await ask_at_stage(solo_doctor, view, state, runtime.context, answer=stage.decision)
    return {"decision": decision, "rounds": [Round(decision=decision.model_dump(mode="json"))], "ended": "not_judged"}
