"""A member of MDAgents' group: proposes a decision, and talks one to one with other members if they disagree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import NonEmpty, Strict
from llm import Role
from nodes.asking import CaseView, ask_at_stage, case_view
from nodes.context import Context
from nodes.node import member, node
from nodes.offline.agreement import agreement
from nodes.state.experts import MOST_EXPERTS, Member, PanelState, Said
from nodes.state.stage import Opinion, opinions_of
from nodes.workflow.general_agent import DiscussionView, Proposal, proposed, weigh_or_give_way
from nodes.workflow.stages import STAGES, Stage


class Message(Strict):
    """What is said to one colleague."""

    to: int = Field(description="Number of the colleague.")
    text: NonEmpty


class Messages(Strict):
    """What is said in one turn; nothing if there is nothing to ask or to tell."""

    messages: list[Message] = Field(max_length=MOST_EXPERTS)


@dataclass(frozen=True)
class MemberView(CaseView):
    """What a member sees: the last proposals, the moderator's remarks, and its own messages in both directions."""

    seat: int
    expert: Member
    members: list[Member]
    within_reach: list[int]  # the numbers of the colleagues to whom the member may speak
    own: Opinion | None
    others: list[Opinion]
    talk: list[Said]
    feedback: str


def within_reach(members: Sequence[Member], seat: int) -> list[int]:
    """Return whom a member may speak to: its superior, peers and subordinates; anybody, if it has no superior."""
    superiors = {number: member.reports_to for number, member in enumerate(members, start=1)}
    own = superiors[seat]
    return [
        number
        for number, superior in superiors.items()
        if number != seat and (own is None or number == own or superior in (seat, own))
    ]


def propose_by_rule(view: MemberView) -> Proposal[Any]:
    """Offline: propose like a general agent of the stage's group with the same seat."""
    return weigh_or_give_way(
        DiscussionView(
            stage=view.stage,
            seat=view.seat,
            chart=view.chart,
            image_class=view.image_class,
            options=view.options,
            neighbours=view.neighbours,
            opinions=sorted(filter(None, [view.own, *view.others]), key=lambda opinion: opinion.seat),
            file=[],
        )
    )


def tell_who_differs(view: MemberView) -> Messages:
    """Offline: tell the own opinion, once, to the first colleague within reach whose proposal differs."""
    if view.own is None or any(message.seat == view.seat for message in view.talk):
        return Messages(messages=[])
    own = view.stage.decision.model_validate(view.own.decision)
    for other in view.others:
        theirs = view.stage.decision.model_validate(other.decision)
        if other.seat in view.within_reach and agreement(own, theirs) < 1.0:
            return Messages(messages=[Message(to=other.seat, text=view.own.told(view.chart.language))])
    return Messages(messages=[])


proposer: Role[Any] = Role(
    "expert", "", "strategies/opinion", Proposal, offline=propose_by_rule, seats=MOST_EXPERTS, stages=STAGES
)
talker = Role("expert", "", "strategies/talk", Messages, offline=tell_who_differs, seats=MOST_EXPERTS, stages=STAGES)


@member(asks=proposer)
async def propose(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask one member for a proposal, in view of the last ones, the talk and the moderator's remarks."""
    view, round_, seat = _view(state, runtime.context, stage), state.get("discussion_round", 0), state["seat"]
    where = (f"discussion{round_}", f"seat{seat}")
    answer = proposed(stage.decision)
    proposal = await ask_at_stage(proposer, view, state, runtime.context, *where, answer=answer, seat=seat)
    return {"opinions": [proposal.as_opinion(round_, seat)]}


@member(asks=talker)
async def talk(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask one member what to say to which colleagues in this turn."""
    view, round_, seat = _view(state, runtime.context, stage), state["discussion_round"], state["seat"]
    turn = state["turn"]
    where = (f"discussion{round_}", f"turn{turn}", f"seat{seat}")
    answer = await ask_at_stage(talker, view, state, runtime.context, *where, seat=seat)
    sent = [message for message in answer.messages if message.to in view.within_reach]  # other messages are dropped
    return {"messages": [Said(discussion_round=round_, turn=turn, seat=seat, **vars(message)) for message in sent]}


@node
async def close_turn(state: PanelState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Count a turn of the talk. Makes no model call."""
    return {"turn": state["turn"] + 1}


def _view(state: PanelState, context: Context, stage: Stage) -> MemberView:
    seat, round_, members = state["seat"], state.get("discussion_round", 0), state["members"]
    last = opinions_of(state, round_ - 1)
    return MemberView(
        **vars(case_view(state, stage, context)),
        seat=seat,
        expert=members[seat - 1],
        members=members,
        within_reach=within_reach(members, seat),
        own=next((opinion for opinion in last if opinion.seat == seat), None),
        others=[opinion for opinion in last if opinion.seat != seat],
        talk=[
            message
            for message in state.get("messages", [])
            if message.discussion_round == round_ and seat in (message.seat, message.to)
        ],
        feedback=state.get("feedback", ""),
    )
