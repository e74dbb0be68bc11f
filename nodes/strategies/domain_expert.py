"""A domain expert: analyses the case from one field, votes on the joint report (MedAgents), or proposes (MDAgents)."""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.vocabulary import normalise
from llm import Role
from nodes.asking import ask_at_stage
from nodes.context import Context
from nodes.node import member
from nodes.offline.chart_signs import reason
from nodes.offline.votes import rule_of
from nodes.state.decisions import Decision, Verdict
from nodes.state.experts import (
    Analysis,
    CaseView,
    Conclusion,
    Expert,
    PanelState,
    Synthesis,
    case_view,
    purpose_of,
)
from nodes.state.stage import Objection, Opinion, opinions_of
from nodes.workflow.general_agent import DiscussionView, Proposal
from nodes.workflow.general_agent import vote as vote_of_general_agent
from nodes.workflow.stages import STAGES, Stage
from prompts import mark


class AnalysisText(Conclusion):
    """What the expert says."""

    analysis: str = Field(description="What the findings mean from the side of this field; before the proposal.")


@dataclass(frozen=True)
class ExpertView(CaseView):
    """What an expert sees before the joint report."""

    expert: Expert
    seat: int
    purpose: str


@dataclass(frozen=True)
class VoterView(CaseView):
    """What an expert sees who votes on the joint report."""

    expert: Expert
    seat: int
    synthesis: Synthesis


@dataclass(frozen=True)
class OpinionView(CaseView):
    """What an expert sees in a group that decides together."""

    expert: Expert
    seat: int
    own: Opinion | None
    others: list[Opinion]
    feedback: str


def _by_rule(view: ExpertView | VoterView) -> Decision:
    return rule_of(view.seat)(view.stage, view.chart, view.neighbours, view.options.names, None)


def _in_order(decision: Decision) -> list[str]:
    listed = [value for value in dict(decision).values() if isinstance(value, list)]
    return list(listed[0])


def analyse_by_rule(view: ExpertView) -> AnalysisText:
    """Offline: each seat weighs the similar cases in its own way."""
    proposal = _in_order(_by_rule(view))
    return AnalysisText(proposal=proposal, analysis=reason("similar_cases", view.chart, rule_of(view.seat).__name__))


def accept_if_half_is_shared(view: VoterView) -> Verdict:
    """Offline: accept what shares at least half with the own view of the similar cases."""
    own = _in_order(_by_rule(view))
    left, right = {normalise(item) for item in own}, {normalise(item) for item in view.synthesis.proposal}
    if left | right and len(left & right) * 2 >= len(left | right):
        return Verdict(accepted=True, reason="")
    return Verdict(accepted=False, reason=reason("had", view.chart, mark("listed", view.chart.language).join(own)))


def propose_by_rule(view: OpinionView) -> Proposal[Any]:
    """Offline: as a general agent of the stage's group, by the number of the seat."""
    return vote_of_general_agent(
        DiscussionView(
            stage=view.stage,
            seat=view.seat,
            chart=view.chart,
            image_class=None,
            options=view.options,
            neighbours=view.neighbours,
            opinions=sorted(filter(None, [view.own, *view.others]), key=lambda opinion: opinion.seat),
            file=[],
        )
    )


def _proposal(decision: type[Decision]) -> type[Proposal[Any]]:
    return Proposal[decision]  # type: ignore[valid-type]


analyst = Role("expert", "", "strategies/analyse", AnalysisText, offline=analyse_by_rule, stages=STAGES)
voter = Role("expert", "", "strategies/vote", Verdict, offline=accept_if_half_is_shared, stages=STAGES)
proposer: Role[Any] = Role("expert", "", "strategies/opinion", Proposal, offline=propose_by_rule, stages=STAGES)


@member()
async def analyse(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """One expert's analysis, alone."""
    case = case_view(state, stage, runtime.context)
    expert, seat, team = state["expert"], state["seat"], state.get("team", 0)
    view = ExpertView(**vars(case), expert=expert, seat=seat, purpose=purpose_of(state))
    where = f"team{team}" if team else ""
    said = await ask_at_stage(analyst, view, state, runtime.context, where, f"analysis{seat}")
    return {
        "analyses": [
            Analysis(team=team, seat=seat, expert=expert.domain, analysis=said.analysis, proposal=said.proposal)
        ]
    }


@member()
async def vote(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """One expert's vote on the joint report, with what would have to be changed."""
    case = case_view(state, stage, runtime.context)
    expert, seat, round_ = state["expert"], state["seat"], state.get("round", 0)
    view = VoterView(**vars(case), expert=expert, seat=seat, synthesis=state["syntheses"][0])
    verdict = await ask_at_stage(voter, view, state, runtime.context, f"round{round_}", f"vote{seat}")
    return {"judgements": [Objection(round=round_, judge=f"expert {seat}: {expert.domain}", verdict=verdict)]}


@member()
async def propose(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """One expert's proposal in a group, in view of the others' last ones and the moderator's remarks."""
    case = case_view(state, stage, runtime.context)
    seat, round_ = state["seat"], state.get("discussion_round", 0)
    last = opinions_of(state, round_ - 1)
    proposal = await ask_at_stage(
        proposer,
        OpinionView(
            **vars(case),
            expert=state["expert"],
            seat=seat,
            own=next((opinion for opinion in last if opinion.seat == seat), None),
            others=[opinion for opinion in last if opinion.seat != seat],
            feedback=state.get("feedback", ""),
        ),
        state,
        runtime.context,
        f"discussion{round_}",
        f"seat{seat}",
        answer=_proposal(stage.decision),
    )
    decision = proposal.decision.model_dump(mode="json")
    return {"opinions": [Opinion(discussion_round=round_, seat=seat, decision=decision, reasoning=proposal.reasoning)]}
