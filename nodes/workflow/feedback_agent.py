"""The feedback agents: physicians of the later stages, who must work with this stage's decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime

from llm import Role
from nodes.asking import ask_at_stage
from nodes.context import Context
from nodes.node import member
from nodes.offline import votes
from nodes.offline.chart_signs import named_in_findings, reason
from nodes.state.chart import Chart
from nodes.state.decisions import Decision, Diagnosis, Report, Round, Verdict
from nodes.state.stage import Objection, Options, StageState
from nodes.workflow.stages import STAGES, Stage, judges_after, read_chart, recalled_at
from prompts import mark
from retrieval import Neighbour


@dataclass(frozen=True)
class JudgeView:
    """What a feedback agent sees: the decision, and what was decided, objected to and replied before."""

    stage: Stage
    judge: str
    chart: Chart
    image_class: str | None
    options: Options
    neighbours: Sequence[Neighbour]
    file: list[Round]
    decision: Decision
    reply: str


def accept_unless_neighbours_disagree(view: JudgeView) -> Verdict:
    """Offline: object when the decision shares less than half with what most similar cases had.

    A diagnosis that a result names outright stands, and so does any report: similar cases show other pictures.
    """
    stage, decision = view.stage, view.decision
    if isinstance(decision, Report) or not any(
        stage.precedent(neighbour.case, view.image_class) for neighbour in view.neighbours
    ):
        return Verdict(accepted=True, reason="")
    if isinstance(decision, Diagnosis) and set(decision.names) & set(named_in_findings(view.chart)):
        return Verdict(accepted=True, reason="")
    expected = votes.majority(stage, view.chart, view.neighbours, view.options.names, view.image_class)
    if votes.agreement(decision, expected) >= 0.5:
        return Verdict(accepted=True, reason="")
    held = mark("listed", view.chart.language).join(sorted(expected.choices()))
    return Verdict(accepted=False, reason=reason("had", view.chart, held or "none"))


feedback_agent = Role(
    "feedback", "", "medchain/feedback", Verdict, offline=accept_unless_neighbours_disagree, stages=STAGES
)


def judges_of(stage: Stage, context: Context) -> tuple[str, ...]:
    """Who judges a stage's decision under the run's ``feedback`` setting."""
    if context.feedback == "off":
        return ()
    return judges_after(stage) if context.feedback == "downstream" else (stage.part,)


@member()
async def judge(state: StageState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """One physician says whether the decision can be built on."""
    context = runtime.context
    chart = read_chart(state, stage.name, context.language)
    physician, round_ = state["judge"], state.get("round", 0)
    verdict = await ask_at_stage(
        feedback_agent,
        JudgeView(
            stage=stage,
            judge=physician,
            chart=chart,
            image_class=state.get("image_class"),
            options=Options(stage.options(chart, context), chart.language),
            neighbours=recalled_at(stage, state, chart),
            file=state.get("rounds", []),
            decision=state["decision"],
            reply=state.get("reply", ""),
        ),
        state,
        context,
        f"round{round_}",
        physician,
    )
    return {"judgements": [Objection(round=round_, judge=physician, verdict=verdict)]}
