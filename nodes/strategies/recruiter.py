"""The recruiter: names the experts that a case needs (MedAgents, MDAgents), or the teams of them (MDAgents)."""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from cases.vocabulary import label
from llm import Role
from nodes.asking import ask_at_stage
from nodes.context import Context
from nodes.node import node
from nodes.state.experts import MOST_EXPERTS, MOST_TEAMS, CaseView, Expert, PanelState, Team, case_view
from nodes.workflow.stages import STAGES, Stage
from prompts import load_words


class Experts(Strict):
    """The panel."""

    experts: list[Expert] = Field(min_length=1, max_length=MOST_EXPERTS)


class Teams(Strict):
    """The teams."""

    teams: list[Team] = Field(min_length=1, max_length=MOST_TEAMS)


@dataclass(frozen=True)
class RecruiterView(CaseView):
    """What the recruiter sees: the case, and how many experts may be asked."""

    most: int


_OFFLINE_PANEL = 3


def departments_of_similar_cases(view: RecruiterView) -> Experts:
    """Offline: the department that has the case, those of similar cases, and general medicine, up to three."""
    names = [view.chart.department, *(neighbour.case.department for neighbour in view.neighbours)]
    known = list(dict.fromkeys(name for name in [*names, "General Medicine", "Internal Medicine", "Surgery"] if name))
    language = view.chart.language
    return Experts(experts=[Expert(domain=label(name, language), focus="") for name in known[:_OFFLINE_PANEL]])


def assessment_and_review(view: RecruiterView) -> Teams:
    """Offline: the panel twice, to assess and to review."""
    experts = departments_of_similar_cases(view).experts
    purposes = load_words("strategies/words", view.chart.language)["teams"]
    return Teams(teams=[Team(purpose=purpose, experts=experts) for purpose in purposes])


recruiter = Role("recruiter", "", "strategies/recruit", Experts, offline=departments_of_similar_cases, stages=STAGES)
team_recruiter = Role("recruiter", "", "strategies/form_teams", Teams, offline=assessment_and_review, stages=STAGES)


@node
async def recruit(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """The experts of the panel."""
    return {"experts": (await _ask(recruiter, state, runtime.context, stage, "experts")).experts}


@node
async def form_teams(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """The teams of experts."""
    return {"teams": (await _ask(team_recruiter, state, runtime.context, stage, "teams")).teams}


async def _ask(role: Role[Any], state: PanelState, context: Context, stage: Stage, what: str) -> Any:
    view = RecruiterView(**vars(case_view(state, stage, context)), most=MOST_EXPERTS)
    return await ask_at_stage(role, view, state, context, what)
