"""The general agents: doctors of a group who each propose a decision, first alone, then seeing the others' views."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from cases.vocabulary import label, normalise
from llm import Role
from nodes.asking import StageView, ask_at_stage, stage_view
from nodes.context import Context
from nodes.node import member
from nodes.offline import votes
from nodes.offline.agreement import agreement, held, most
from nodes.offline.group_words import reason
from nodes.state.chart import Chart
from nodes.state.decisions import Decision, Judgement, Report
from nodes.state.stage import Opinion, StageState, opinions_of
from nodes.workflow.stages import STAGES, Stage, sub_departments_of

D = TypeVar("D", bound=Decision)
MOST_AGENTS = 9  # in one group


class Proposal(Strict, Generic[D]):
    """A proposed decision and why."""

    reasoning: str = Field(description="Briefly: what speaks for it, and what in the others' views does not convince.")
    decision: D

    def as_opinion(self, discussion_round: int, seat: int) -> Opinion:
        """Return the proposal as what the agent of a seat holds after a round."""
        decision = self.decision.model_dump(mode="json")
        return Opinion(discussion_round=discussion_round, seat=seat, decision=decision, reasoning=self.reasoning)


def proposed(decision: type[Decision]) -> type[Proposal[Any]]:
    """Return the answer type of a proposal for a stage's decision."""
    return Proposal[decision]  # type: ignore[valid-type]


@dataclass(frozen=True)
class DiscussionView(StageView):
    """What a general agent sees: the opinions of the last round, its own included, and the stage's earlier rounds."""

    seat: int
    opinions: list[Opinion]
    specialty: str = ""

    @property
    def objections(self) -> list[Judgement]:
        """The objections to the last decision."""
        return [item for item in self.file[-1].judgements if not item.verdict.accepted] if self.file else []


def weigh_or_give_way(view: DiscussionView) -> Proposal[Any]:
    """Offline: each seat weighs similar cases in its own way, and gives way to a majority or an objection.

    The first seat weighs findings most, the second what the patient tells, the third takes the nearest case, and so on
    (`nodes.offline.votes.EYES`). A finding that the record describes is reported as described.
    """
    stage, chart = view.stage, view.chart
    described = chart.results.get(view.image_class or "")
    if stage.decision is Report and described:
        return Proposal(decision=Report(findings=described, impression=""), reasoning=reason("described", chart))
    if view.objections:
        return Proposal(decision=votes.majority(view.evidence()), reasoning=reason("objections", chart))
    own = next((opinion for opinion in view.opinions if opinion.seat == view.seat), None)
    if own is not None:
        views = [stage.decision.model_validate(opinion.decision) for opinion in view.opinions]
        mine = stage.decision.model_validate(own.decision)
        decision, why = _after_the_talk(view, mine, views)
        told = votes.changed(chart, mine.listed(), decision.listed(), reason(why, chart), stage)
        return Proposal(decision=decision, reasoning=told)
    evidence = view.evidence(view.seat)
    decision = votes.majority(evidence)
    return Proposal(decision=decision, reasoning=votes.grounds(evidence, decision))


def _after_the_talk(view: DiscussionView, own: Decision, proposals: Sequence[Decision]) -> tuple[Decision, str]:
    """Return what most of the group hold, as a whole or item by item, else the nearest case's of all, and why.

    Without either, the own proposal stands.
    """
    for decision in proposals:
        if sum(agreement(decision, other) == 1.0 for other in proposals) * 2 > len(proposals):
            return decision, "most_hold_it"
    stage = view.stage
    if stage.decision is not Report:
        shared = held([decision.listed() for decision in proposals], most)
        if shared and not stage.single:
            return votes.nearest_with(proposals, shared), "most_hold_it"
        if stage.single and view.neighbours:
            ranked = votes.weights(view.evidence())
            holding = (one for name in ranked for one in proposals if normalise(name) in map(normalise, one.listed()))
            if of_the_nearest := next(holding, None):
                return of_the_nearest, "nearest_holds_it"
    return own, "unopposed"


general_agent: Role[Any] = Role(
    "general",
    "",
    "medchain/general",
    Proposal,
    offline=weigh_or_give_way,
    seats=MOST_AGENTS,
    seated="general_agents",
    stages=STAGES,
)


def specialty_of(seat: int, chart: Chart, context: Context, specialists: Sequence[str] = ()) -> str:
    """Return a seat's specialty (MedChain, B.1: those of the department); "" if there is no department yet."""
    if isinstance(context.specialties, list):
        return context.specialties[(seat - 1) % len(context.specialties)]
    if context.specialties == "plain":
        return ""
    if specialists:
        return specialists[(seat - 1) % len(specialists)]
    referred = chart.referral.sub_departments if chart.referral else []
    specialties = list(dict.fromkeys([*referred, *sub_departments_of(chart.department, context)]))
    return label(specialties[(seat - 1) % len(specialties)], chart.language) if specialties else ""


@member(asks=general_agent)
async def discuss(state: StageState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask one general agent for its proposal."""
    context = runtime.context
    case = stage_view(state, stage, context)
    round_, seat = state.get("discussion_round", 0), state["seat"]
    opinions = opinions_of(state, round_ - 1)
    # An agent that spoke before has weighed the similar cases in its opinion, which is in the prompt; only after
    # objections are they shown again.
    weighed = not case.file and any(opinion.seat == seat for opinion in opinions)
    view = DiscussionView(
        **vars(replace(case, neighbours=()) if weighed else case),
        seat=seat,
        opinions=opinions,
        specialty=specialty_of(seat, case.chart, context, state.get("specialists", ())),
    )
    where = (f"discussion{round_}", f"seat{seat}")
    answer = proposed(stage.decision)
    proposal = await ask_at_stage(general_agent, view, state, context, *where, answer=answer, seat=seat)
    return {"opinions": [proposal.as_opinion(round_, seat)]}
