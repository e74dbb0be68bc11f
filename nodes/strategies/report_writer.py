"""The report writer: merges the experts' analyses into one report, revises it after objections, counts the votes.

In MDAgents the leader of a team writes it, after assigning a task to each other member.
"""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import NonEmpty, Strict
from llm import Role
from nodes.asking import CaseView, ask_at_stage, case_view
from nodes.context import Context
from nodes.node import at_least_one, node
from nodes.offline.agreement import held, most, most_often, several, some
from nodes.state.decisions import Judgement, Round
from nodes.state.experts import (
    MOST_EXPERTS,
    Analysis,
    Expert,
    PanelState,
    Proposed,
    Synthesis,
    earlier_reports,
    purpose_of,
)
from nodes.state.stage import judgements_of, last_objections
from nodes.workflow.stages import STAGES, Stage
from prompts import mark

VOTES = 3  # MedAgents: at most three votes on a report


class Assignments(Strict):
    """What a leader gives the others of the team to find out, in their order; who gets none follows the purpose."""

    tasks: list[NonEmpty] = Field(min_length=1, max_length=MOST_EXPERTS)


class ReportText(Strict):
    """What the report says."""

    report: NonEmpty = Field(
        description="Essential knowledge, what is common, what differs; comes before the proposal."
    )
    proposal: Proposed


@dataclass(frozen=True)
class WriterView(CaseView):
    """What the writer sees: the analyses, and after a vote the last report with its objections."""

    purpose: str
    reports: list[Synthesis]
    analyses: list[Analysis]
    synthesis: Synthesis | None
    objections: list[Judgement]


@dataclass(frozen=True)
class LeaderView(CaseView):
    """What a leader sees: the team's other members, its purpose, and the reports of earlier teams."""

    expert: Expert
    purpose: str
    others: list[Expert]
    reports: list[Synthesis]


def most_proposed(view: WriterView) -> ReportText:
    """Offline: what most analyses propose, else all that any of them does; after objections, what at least two do.

    Where one answer has to be given, it is what most of them propose, or else what is proposed most often.
    """
    proposals = [analysis.proposal for analysis in view.analyses]
    agreed, language = held(proposals, most), view.chart.language
    if view.stage.single:
        proposal = agreed or most_often(proposals)
    else:
        proposal = (held(proposals, several) if view.objections else agreed) or held(proposals, some)
    colon, comma = mark("label", language), mark("listed", language)
    named = (comma.join(view.stage.labelled(item.proposal, language)) for item in view.analyses)
    report = "\n".join(f"{item.expert}{colon}{names}" for item, names in zip(view.analyses, named, strict=True))
    return ReportText(report=report, proposal=proposal)


def each_by_focus(view: LeaderView) -> Assignments:
    """Offline: give each member the focus that the recruiter named, or the purpose of the team."""
    return Assignments(tasks=[expert.focus or view.purpose for expert in view.others])


leader = Role("leader", "", "strategies/assign", Assignments, offline=each_by_focus, stages=STAGES)
report_writer = Role("writer", "", "strategies/synthesise", ReportText, offline=most_proposed, stages=STAGES)


@node(asks=leader)
async def assign(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Start the next team: its leader gives each other member a task; a team of one needs none."""
    team = state.get("team", 0) + 1
    at_work: PanelState = {**state, "team": team}
    first, *others = state["teams"][team - 1].experts
    if not others:
        return {"team": team, "tasks": []}
    case = case_view(state, stage, runtime.context)
    reports = earlier_reports(at_work)
    view = LeaderView(**vars(case), expert=first, purpose=purpose_of(at_work), others=others, reports=reports)
    answer = await ask_at_stage(leader, view, state, runtime.context, f"team{team}")
    return {"team": team, "tasks": answer.tasks}


@node(asks=report_writer)
async def synthesise(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Ask for the joint report of the panel, or of one team; a panel whose report stays as it was has ended."""
    team = state.get("team", 0)
    analyses = [analysis for analysis in state.get("analyses", []) if analysis.team == team]
    at_least_one(analyses, state)
    last = next((item for item in state.get("syntheses", []) if item.team == team), None)
    view = WriterView(
        **vars(case_view(state, stage, runtime.context)),
        purpose=purpose_of(state),
        reports=earlier_reports(state),
        analyses=analyses,
        synthesis=last,
        objections=last_objections(state),
    )
    where = f"team{team}" if team else f"round{state.get('round', 0)}"
    written = await ask_at_stage(report_writer, view, state, runtime.context, where)
    synthesis = Synthesis(team=team, report=written.report, proposal=written.proposal)
    # The votes on a report that nobody changed are known.
    return {"syntheses": [synthesis], **({"ended": "exhausted"} if synthesis == last else {})}


@node
async def count_votes(state: PanelState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Record the report with its votes; end if all accept it or the votes are used up. Makes no model call."""
    round_ = state.get("round", 0)
    judgements = judgements_of(state, round_)
    at_least_one(judgements, state)
    entry = Round(decision=state["syntheses"][0].model_dump(mode="json"), judgements=judgements)
    agreed = all(item.verdict.accepted for item in judgements)
    ended = "agreed" if agreed else "exhausted" if round_ + 1 >= VOTES else ""
    return {"minutes": [*state.get("minutes", []), entry], "round": round_ + 1, "ended": ended}
