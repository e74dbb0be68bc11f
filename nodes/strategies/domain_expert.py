"""A domain expert: analyses the case or weighs the options from one field, and votes on the joint report.

MedAgents' experts analyse or weigh, and vote; those in MDAgents' teams only do the analysis that their leader assigns.
"""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from llm import Role
from nodes.asking import CaseView, ask_at_stage, case_view
from nodes.context import Context
from nodes.node import member
from nodes.offline.agreement import overlap
from nodes.offline.votes import grounds, majority, objection
from nodes.state.decisions import Verdict
from nodes.state.experts import (
    MOST_EXPERTS,
    MOST_WEIGHING,
    Analysis,
    Expert,
    PanelState,
    Proposed,
    Synthesis,
    earlier_reports,
    purpose_of,
)
from nodes.state.stage import Objection
from nodes.strategies.recruiter import OFFLINE_PANEL
from nodes.workflow.stages import STAGES, Stage

_ANALYSTS = OFFLINE_PANEL - 1  # in each team that the recruiter forms by rule, beside the leader
SEATS = MOST_EXPERTS + MOST_WEIGHING  # each may have a model of its own: `expert1`


class AnalysisText(Strict):
    """What the expert says."""

    # The analysis first, since a grammar keeps the order: who proposes first argues for the proposal.
    analysis: str = Field(description="What the findings mean from the view of this field; comes before the proposal.")
    proposal: Proposed


@dataclass(frozen=True)
class ExpertView(CaseView):
    """What an expert sees before the joint report."""

    expert: Expert
    seat: int
    purpose: str  # of the expert's team, if there are teams
    assignment: str  # the task that the team's leader gave this expert
    reports: list[Synthesis]  # of the teams that worked before
    analyses: list[Analysis]  # of the question experts, shown to the option experts


@dataclass(frozen=True)
class VoterView(CaseView):
    """What an expert sees when voting on the joint report."""

    expert: Expert
    seat: int
    synthesis: Synthesis


def analyse_by_rule(view: ExpertView) -> AnalysisText:
    """Offline: each seat weighs the similar cases in its own way, and a later team in ways of its own."""
    evidence = view.evidence(view.seat + _ANALYSTS * len(view.reports))
    decision = majority(evidence)
    return AnalysisText(proposal=decision.listed(), analysis=grounds(evidence, decision))


def accept_if_half_is_shared(view: VoterView) -> Verdict:
    """Offline: accept a report that shares at least half with the expert's own view of the similar cases."""
    evidence, proposal = view.evidence(view.seat), view.synthesis.proposal
    own = majority(evidence)
    if overlap(own.listed(), proposal) >= 0.5:
        return Verdict(accepted=True, reason="")
    return Verdict(accepted=False, reason=objection(evidence, proposal, own))


analyst = Role("expert", "", "strategies/analyse", AnalysisText, offline=analyse_by_rule, seats=SEATS, stages=STAGES)
weigher = Role(
    "expert", "", "strategies/weigh_options", AnalysisText, offline=analyse_by_rule, seats=SEATS, stages=STAGES
)
voter = Role("expert", "", "strategies/vote", Verdict, offline=accept_if_half_is_shared, seats=SEATS, stages=STAGES)


@member(asks=analyst)
async def analyse(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask one expert for an analysis of the question."""
    return await _ask_for_analysis(analyst, state, runtime.context, stage)


@member(asks=weigher)
async def weigh_options(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask one expert for an analysis of the options, in view of the analyses of the question."""
    return await _ask_for_analysis(weigher, state, runtime.context, stage)


async def _ask_for_analysis(role: Role[Any], state: PanelState, context: Context, stage: Stage) -> dict[str, Any]:
    expert, seat, team = state["expert"], state["seat"], state.get("team", 0)
    tasks = state.get("tasks", [])
    view = ExpertView(
        **vars(case_view(state, stage, context)),
        expert=expert,
        seat=seat,
        purpose=purpose_of(state),
        assignment=tasks[seat - 2] if team and 2 <= seat <= len(tasks) + 1 else "",
        reports=earlier_reports(state),
        analyses=[] if team else state.get("analyses", []),
    )
    where = f"team{team}" if team else ""
    answer = await ask_at_stage(role, view, state, context, where, f"analysis{seat}", seat=seat)
    said = Analysis(team=team, seat=seat, expert=expert.domain, analysis=answer.analysis, proposal=answer.proposal)
    return {"analyses": [said]}


@member(asks=voter)
async def vote(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask one expert to vote on the joint report, and what would have to change in it."""
    case = case_view(state, stage, runtime.context)
    expert, seat, round_ = state["expert"], state["seat"], state.get("round", 0)
    view = VoterView(**vars(case), expert=expert, seat=seat, synthesis=state["syntheses"][0])
    where = (f"round{round_}", f"vote{seat}")
    verdict = await ask_at_stage(voter, view, state, runtime.context, *where, seat=seat)
    return {"judgements": [Objection(round=round_, judge=f"{seat}. {expert.domain}", verdict=verdict)]}
