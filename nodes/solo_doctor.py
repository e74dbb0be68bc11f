"""One doctor alone, in one call: the plainest strategy, and MDAgents' for a case of low complexity."""

from typing import Any

from langgraph.runtime import Runtime

from models import Role, ask
from nodes.context import Context
from nodes.decisions import Decision, Round
from nodes.general_agent import place
from nodes.node import node
from nodes.panel import STAGES, CaseView, PanelState, case_view
from nodes.stages import Stage
from nodes.votes import majority


def follow_most(view: CaseView) -> Decision:
    """Offline: what most similar cases hold."""
    return majority(view.stage, view.chart, view.neighbours, view.options.names, None)


SOLO_DOCTORS: dict[str, Role[Any]] = {
    stage.name: Role("solo", stage.name, "strategies/solo", stage.decision, offline=follow_most) for stage in STAGES
}


@node
async def answer_alone(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """The decision of one doctor, whom nobody judges."""
    view = case_view(state, stage, runtime.context)
    language = view.chart.presentation.language
    decision = await ask(SOLO_DOCTORS[stage.name], view, runtime.context, language=language, place=place(state))
    return {"decision": decision, "rounds": [Round(decision=decision.model_dump(mode="json"))], "ended": "not_judged"}
