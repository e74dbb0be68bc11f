"""The summarizing agent: the senior doctor who weighs the group's opinions and decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from llm import AnswerError, Role
from nodes.asking import StageView, ask_at_stage, stage_view
from nodes.context import Context
from nodes.node import file_dropped_seat, node
from nodes.offline.agreement import held, most
from nodes.offline.votes import nearest_with
from nodes.state.decisions import Decision, Report
from nodes.state.stage import Opinion, StageState, opinions_of
from nodes.workflow.stages import STAGES, Stage

D = TypeVar("D", bound=Decision)


@dataclass(frozen=True)
class SummaryView(StageView):
    """What the summarizing agent sees: what the group sees, and the last opinion of each general agent."""

    opinions: list[Opinion]
    generalist: bool = False


class Revised(Strict, Generic[D]):
    """A decision after objections, with what is replied to them."""

    reply: str = Field(description="On each objection: what you change, or the finding on which the decision stands.")
    decision: D


def most_held(view: StageView, opinions: Sequence[Opinion]) -> Decision:
    """Offline: the choices that more than half of the group propose, else the first seat's proposal.

    Fields that are no choices (urgency, basis, plan) are taken from the proposal nearest to that majority.
    """
    proposals = [view.stage.decision.model_validate(opinion.decision) for opinion in opinions]
    chosen = held([proposal.listed() for proposal in proposals], most)
    if view.options:
        chosen = [choice for choice in chosen if choice in view.options.names]
    if view.stage.decision is Report or not chosen:
        return proposals[0]
    return nearest_with(proposals, chosen)


def decide_or_revise(view: SummaryView) -> Decision | Revised[Any]:
    """Offline: what most of the group propose; objections get no reply."""
    decision = most_held(view, view.opinions)
    return Revised(reply="", decision=decision) if view.file else decision


def revised(decision: type[Decision]) -> type[Revised[Any]]:
    """Return the answer type of a stage's decision after objections."""
    return Revised[decision]  # type: ignore[valid-type]


summarizing_agent: Role[Any] = Role(
    "summarizing", "", "medchain/summarizing", Decision, offline=decide_or_revise, stages=STAGES
)


@node(asks=summarizing_agent)
async def decide(state: StageState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Make the group's decision; a single agent's proposal is taken as it is, without a further call.

    If the senior doctor's answer cannot be read, the first seat's proposal is taken, or after objections the last
    decision.
    """
    context, rounds = runtime.context, state.get("rounds", [])
    last = opinions_of(state, state["discussion_round"] - 1)
    first = stage.decision.model_validate(last[0].decision)
    if context.general_agents == 1:
        return {"decision": first, "reply": last[0].reasoning if rounds else ""}
    generalist = context.decider == "generalist"
    view = SummaryView(**vars(stage_view(state, stage, context)), opinions=last, generalist=generalist)
    where, type_ = f"round{state.get('round', 0)}", revised(stage.decision) if rounds else stage.decision
    try:
        answer = await ask_at_stage(summarizing_agent, view, state, context, where, answer=type_)
    except AnswerError as error:
        if context.on_unreadable == "fail_case":
            raise
        fallback = state["decision"] if rounds else first
        return {"decision": fallback, "reply": "", "trace": file_dropped_seat(error, context)}
    return {"decision": answer.decision, "reply": answer.reply} if rounds else {"decision": answer}
