"""The decision maker: decides on the ground of the experts' reports (MedAgents, MDAgents) or proposals (MDAgents)."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime

from cases.vocabulary import normalise
from llm import Role
from nodes.asking import ask_at_stage
from nodes.context import Context
from nodes.node import node
from nodes.offline.votes import decision_of
from nodes.state.decisions import Decision, Round
from nodes.state.experts import CaseView, PanelState, Synthesis, case_view
from nodes.state.stage import Opinion, opinions_of
from nodes.workflow.stages import STAGES, Stage
from nodes.workflow.summarizing_agent import SummaryView, most_held


@dataclass(frozen=True)
class DecisionMakerView(CaseView):
    """What the decision maker sees: reports, or the last proposals of a group."""

    syntheses: list[Synthesis]
    opinions: list[Opinion]


def follow_the_reports(view: DecisionMakerView) -> Decision:
    """Offline: what most reports propose, or else the first of them; what most of a group propose."""
    if view.opinions:
        return most_held(SummaryView(view.stage, view.chart, None, view.options, view.opinions))
    proposals = [synthesis.proposal for synthesis in view.syntheses]
    held = Counter(key for proposal in proposals for key in {normalise(item) for item in proposal})
    spelling = {normalise(item): item for proposal in reversed(proposals) for item in proposal}
    chosen = [spelling[key] for key in spelling if held[key] * 2 > len(proposals)] or proposals[0]
    return decision_of(view.stage, chosen, view.chart, view.options.names)


decision_maker: Role[Any] = Role(
    "decider", "", "strategies/decide", Decision, offline=follow_the_reports, stages=STAGES
)


@node
async def decide_by_reports(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """The decision; where nobody has voted or compared before, nobody judges it."""
    case = case_view(state, stage, runtime.context)
    decision = await ask_at_stage(
        decision_maker,
        DecisionMakerView(
            **vars(case),
            syntheses=state.get("syntheses", []),
            opinions=opinions_of(state, state.get("discussion_round", 0) - 1),
        ),
        state,
        runtime.context,
        answer=stage.decision,
    )
    rounds = state.get("rounds") or [Round(decision=decision.model_dump(mode="json"))]
    return {"decision": decision, "rounds": rounds, "ended": state.get("ended") or "not_judged"}
