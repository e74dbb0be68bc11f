"""The moderator of MDAgents: rates the complexity of a case, and helps a group that disagrees."""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import NonEmpty, Strict
from llm import Role
from nodes.asking import CaseView, ask_at_stage, case_view
from nodes.context import Context
from nodes.node import at_least_one, node
from nodes.offline.agreement import agreement
from nodes.offline.chart_signs import named_in_findings
from nodes.offline.group_words import reason
from nodes.offline.votes import NEAREST, weights
from nodes.state.decisions import Report, Round
from nodes.state.experts import Complexity, PanelState
from nodes.state.stage import Opinion, opinions_of
from nodes.workflow.stages import STAGES, Stage
from prompts import load_words, mark


class ComplexityCheck(Strict):
    """How complex the question is."""

    reason: str = Field(description="The reason; comes before the complexity.")
    complexity: Complexity


class Remarks(Strict):
    """What the moderator tells the group."""

    remarks: NonEmpty


@dataclass(frozen=True)
class ModeratorView(CaseView):
    """What the moderator sees of a group: its last proposals."""

    opinions: list[Opinion]


def by_similar_cases(view: CaseView) -> ComplexityCheck:
    """Offline: low if a result names the disease or half of the similar cases agree, high if no two agree.

    A report says what is described, whatever similar cases had.
    """
    words = load_words("strategies/words", view.chart.language)["complexity"]
    if view.stage.decision is Report:
        return ComplexityCheck(reason=reason("described", view.chart), complexity="low")
    shares = list(weights(view.evidence()).values())
    if named_in_findings(view.chart) or any(share >= 0.5 for share in shares):
        return ComplexityCheck(reason=words["low"], complexity="low")
    if view.neighbours and shares and shares[0] > 1 / min(len(view.neighbours), NEAREST):
        return ComplexityCheck(reason=words["moderate"], complexity="moderate")
    return ComplexityCheck(reason=words["high"], complexity="high")


def name_the_differences(view: ModeratorView) -> Remarks:
    """Offline: list the proposals."""
    decisions = [view.stage.decision.model_validate(opinion.decision) for opinion in view.opinions]
    language = view.chart.language
    proposals = (decision.labelled(language) for decision in decisions)
    return Remarks(remarks=" | ".join(map(mark("series", language).join, proposals)))


complexity_check = Role(
    "moderator", "", "strategies/complexity", ComplexityCheck, offline=by_similar_cases, stages=STAGES
)
moderator = Role("moderator", "", "strategies/feedback", Remarks, offline=name_the_differences, stages=STAGES)


@node(asks=complexity_check)
async def check_complexity(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Rate the complexity as low, moderate or high; the record of the stage shows it."""
    view = case_view(state, stage, runtime.context)
    check = await ask_at_stage(complexity_check, view, state, runtime.context, "complexity")
    return {"complexity": check.complexity, "strategy": f"mdagents:{check.complexity}"}


@node
async def compare(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Record the proposals of a round; end if all agree or the rounds are used up. Makes no model call."""
    round_ = state.get("discussion_round", 0)
    last = opinions_of(state, round_)
    at_least_one(last, state)
    decisions = [stage.decision.model_validate(opinion.decision) for opinion in last]
    agreed = all(agreement(decisions[0], decision) == 1.0 for decision in decisions)
    ended = "agreed" if agreed else "exhausted" if round_ >= runtime.context.max_rounds else ""
    entry = Round(decision={f"expert {opinion.seat}": opinion.decision for opinion in last})
    return {"minutes": [*state.get("minutes", []), entry], "discussion_round": round_ + 1, "ended": ended}


@node(asks=moderator)
async def remark(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask the moderator for remarks to a group that disagrees."""
    case = case_view(state, stage, runtime.context)
    round_ = state["discussion_round"] - 1
    view = ModeratorView(**vars(case), opinions=opinions_of(state, round_))
    answer = await ask_at_stage(moderator, view, state, runtime.context, f"discussion{round_}")
    return {"feedback": answer.remarks, "turn": 0}
