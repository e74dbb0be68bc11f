"""Decision makers: decide by the experts' reports (MedAgents, MDAgents) or proposals (MDAgents), or alone.

After objections by the physicians of later stages, they also reply to each objection.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from langgraph.runtime import Runtime

from llm import Role
from nodes.asking import CaseView, ask_at_stage, case_view
from nodes.context import Context
from nodes.node import node
from nodes.offline.agreement import held, most
from nodes.offline.votes import decision_of, majority
from nodes.state.decisions import Decision
from nodes.state.experts import PanelState, Synthesis
from nodes.state.stage import Opinion, opinions_of
from nodes.workflow.stages import STAGES, Stage
from nodes.workflow.summarizing_agent import Revised, most_held, revised

V = TypeVar("V", bound=CaseView)


@dataclass(frozen=True)
class DecisionMakerView(CaseView):
    """What the decision maker sees: reports, or the last proposals of a group."""

    syntheses: list[Synthesis]
    opinions: list[Opinion]


def follow_most(view: CaseView) -> Decision:
    """Offline: decide as most similar cases do."""
    return majority(view.evidence())


def follow_the_reports(view: DecisionMakerView) -> Decision:
    """Offline: what most reports propose, else what the first one does; in a group, what most members propose."""
    if view.opinions:
        return most_held(view, view.opinions)
    proposals = [synthesis.proposal for synthesis in view.syntheses]
    return decision_of(view.evidence(), held(proposals, most) or proposals[0])


def _revisable(rule: Callable[[V], Decision]) -> Callable[[V], Decision | Revised[Any]]:
    """Offline: apply the rule; after objections, decide as most similar cases do, without a reply."""
    return lambda view: Revised(reply="", decision=follow_most(view)) if view.file else rule(view)


decision_maker: Role[Any] = Role(
    "decider", "", "strategies/decide", Decision, offline=_revisable(follow_the_reports), stages=STAGES
)
solo_doctor: Role[Any] = Role("solo", "", "strategies/solo", Decision, offline=_revisable(follow_most), stages=STAGES)


@node(asks=decision_maker)
async def decide_by_reports(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Decide by the reports or proposals; without an earlier vote or comparison, the decision counts as not judged."""
    view = DecisionMakerView(
        **vars(case_view(state, stage, runtime.context)),
        syntheses=state.get("syntheses", []),
        opinions=opinions_of(state, state.get("discussion_round", 0) - 1),
    )
    return await _decide(decision_maker, view, state, runtime.context)


@node(asks=solo_doctor)
async def answer_alone(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Let one doctor decide in one call: the simplest strategy, and MDAgents' for cases of low complexity."""
    return await _decide(solo_doctor, case_view(state, stage, runtime.context), state, runtime.context)


async def _decide(role: Role[Any], view: CaseView, state: PanelState, context: Context) -> dict[str, Any]:
    decision = view.stage.decision
    answer = await ask_at_stage(role, view, state, context, answer=revised(decision) if view.file else decision)
    return {"decision": answer.decision, "reply": answer.reply} if view.file else {"decision": answer}
