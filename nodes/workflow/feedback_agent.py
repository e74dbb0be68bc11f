"""The feedback agents: physicians of the later stages, who judge whether they can work with a decision."""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime

from llm import Role
from nodes.asking import StageView, ask_at_stage, stage_view
from nodes.context import Context
from nodes.node import member
from nodes.offline import votes
from nodes.offline.agreement import agreement
from nodes.offline.chart_signs import named_in_findings
from nodes.state.decisions import Decision, Diagnosis, Report, Verdict
from nodes.state.stage import Objection, StageState
from nodes.workflow.stages import STAGES, Stage, judges_after


@dataclass(frozen=True)
class JudgeView(StageView):
    """What a feedback agent sees: the decision, the reply to the last objections, and the stage's earlier rounds."""

    judge: str
    decision: Decision
    reply: str


def accept_unless_neighbours_disagree(view: JudgeView) -> Verdict:
    """Offline: object if the decision shares less than half with what most similar cases had.

    Accept what no similar case is at hand for, a diagnosis that a result names outright, and any report, since similar
    cases have other pictures. Each physician names of the nearest case what it had in the own part of the course.
    """
    decision, evidence, accepted = view.decision, view.evidence(), Verdict(accepted=True, reason="")
    if isinstance(decision, Report) or not view.neighbours or not (shares := votes.weights(evidence)):
        return accepted
    if isinstance(decision, Diagnosis) and set(decision.names) & set(named_in_findings(view.chart)):
        return accepted
    expected = votes.strongest(evidence, shares)
    if agreement(decision, expected) >= 0.5:
        return accepted
    reason = votes.objection(evidence, sorted(decision.choices()), expected, view.judge)
    return Verdict(accepted=False, reason=reason)


feedback_agent = Role(
    "feedback", "", "medchain/feedback", Verdict, offline=accept_unless_neighbours_disagree, stages=STAGES
)


def judges_of(stage: Stage, context: Context) -> tuple[str, ...]:
    """Return who judges a stage's decision under the run's ``feedback`` setting."""
    if context.feedback == "off":
        return ()
    return judges_after(stage) if context.feedback == "downstream" else (stage.part,)


@member(asks=feedback_agent)
async def judge(state: StageState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask one physician whether the decision can be built on."""
    physician, round_ = state["judge"], state.get("round", 0)
    case, reply = stage_view(state, stage, runtime.context), state.get("reply", "")
    view = JudgeView(**vars(case), judge=physician, decision=state["decision"], reply=reply)
    verdict = await ask_at_stage(feedback_agent, view, state, runtime.context, f"round{round_}", physician)
    return {"judgements": [Objection(round=round_, judge=physician, verdict=verdict)]}
