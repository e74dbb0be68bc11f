"""The recruiter: names the experts for a case: for the question or the options, as a group, or in teams."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import Field, create_model

from cases.strict import Strict, at_most
from cases.vocabulary import label
from llm import Role, side_by_side
from nodes.asking import CaseView, ask_at_stage, case_view
from nodes.context import Context
from nodes.node import at_least_one, node
from nodes.offline.departments import admits, sent_to
from nodes.state.experts import MOST_EXPERTS, MOST_TEAMS, MOST_WEIGHING, Expert, Member, Panel, PanelState, Team
from nodes.state.stage import Options, StageState
from nodes.workflow.stages import STAGES, Stage
from prompts import load_words, mark


class Experts(Strict):
    """The panel."""

    experts: Annotated[Panel, *at_most(MOST_EXPERTS)] = Field(min_length=1)


class Group(Strict):
    """Experts who discuss, and who of them reports to whom."""

    experts: Annotated[list[Member], *at_most(MOST_EXPERTS)] = Field(min_length=1)


class Teams(Strict):
    """The teams, in the order in which they work."""

    teams: Annotated[list[Team], *at_most(MOST_TEAMS)] = Field(min_length=1)


@dataclass(frozen=True)
class RecruiterView(CaseView):
    """What the recruiter sees: the case, the most experts allowed, and the options, if experts are to weigh them."""

    most: int
    candidates: Options = field(default_factory=lambda: Options((), "en"))


OFFLINE_PANEL = 3


def departments_of_similar_cases(view: RecruiterView) -> Experts:
    """Offline: the department in charge, those of similar cases, and general ones, up to three.

    Those of similar cases are such as the complaint, age and sex could bring the patient to. For the options: the
    departments that come next, up to two.
    """
    similar = (neighbour.case.department for neighbour in view.neighbours)
    names = [view.chart.department, *(name for name in similar if name not in sent_to() and admits(name, view.chart))]
    known = list(dict.fromkeys(name for name in [*names, "General Medicine", "Internal Medicine", "Surgery"] if name))
    first, further = known[:OFFLINE_PANEL], known[OFFLINE_PANEL:]
    chosen = (further or first)[: view.most] if view.candidates else first
    return Experts(experts=[Expert(domain=label(name, view.chart.language), focus="") for name in chosen[: view.most]])


def all_independent(view: RecruiterView) -> Group:
    """Offline: the panel, without superiors."""
    panel = departments_of_similar_cases(view).experts
    return Group(experts=[Member(**expert.model_dump(), reports_to=None) for expert in panel])


def assessment_and_review(view: RecruiterView) -> Teams:
    """Offline: the panel twice, as a team that assesses and one that reviews."""
    experts = departments_of_similar_cases(view).experts
    purposes = load_words("strategies/words", view.chart.language)["teams"]
    return Teams(teams=[Team(purpose=purpose, experts=experts) for purpose in purposes])


def in_order(members: Sequence[Member]) -> list[Member]:
    """Make a member independent if its superior is not in the group, or if the chain of superiors is a circle."""
    superiors = {seat: member.reports_to for seat, member in enumerate(members, start=1)}
    for seat in superiors:
        visited, superior = {seat}, superiors[seat]
        while superior is not None:
            if superior not in superiors or superior in visited:
                superiors[seat] = None
                break
            visited.add(superior)
            superior = superiors[superior]
    return [member.model_copy(update={"reports_to": superiors[seat]}) for seat, member in enumerate(members, start=1)]


@cache
def _panel_of(most: int) -> type[Experts]:
    """Return the answer type of a panel of so many experts."""
    panel: Any = Annotated[Panel, *at_most(most)]
    return create_model("Experts", __base__=Experts, __doc__=Experts.__doc__, experts=(panel, Field(min_length=1)))


recruiter = Role("recruiter", "", "strategies/recruit", Experts, offline=departments_of_similar_cases, stages=STAGES)
group_recruiter = Role("recruiter", "", "strategies/form_group", Group, offline=all_independent, stages=STAGES)
team_recruiter = Role("recruiter", "", "strategies/form_teams", Teams, offline=assessment_and_review, stages=STAGES)


@node(asks=recruiter)
async def recruit(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Recruit the experts for the question and, side by side, those for the options of a closed list."""
    context = runtime.context
    view = RecruiterView(**vars(case_view(state, stage, context)), most=MOST_EXPERTS)
    asking = [_ask_for_panel(view, state, context, "experts")]
    if view.options:
        asking.append(_panel_for(view.options, state, context, stage))
    panels = [answer.experts for answer in await side_by_side(asking)]
    return dict(zip(("experts", "weighing"), panels, strict=False))


@node(asks=lambda context, stage: [recruiter] if context.specialties == "recruited" else [])
async def recruit_group(state: StageState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Recruit the specialists of a stage's own group for the stage's decision (MedChain, 4.1.1)."""
    context = runtime.context
    view = RecruiterView(**vars(case_view(state, stage, context)), most=context.general_agents)
    named = await _ask_for_panel(view, state, context, "experts")
    colon = mark("label", view.chart.language)
    return {"specialists": [colon.join(filter(None, (expert.domain, expert.focus))) for expert in named.experts]}


@node(asks=recruiter)
async def recruit_for_options(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Recruit the experts for what the analyses propose; those for the options of a closed list are there already."""
    analyses = state.get("analyses", [])
    at_least_one(analyses, state)
    if "weighing" in state:
        return {}
    language = case_view(state, stage, runtime.context).chart.language
    proposed = list(dict.fromkeys(item for analysis in analyses for item in analysis.proposal))
    panel = await _panel_for(Options(proposed, language), state, runtime.context, stage)
    return {"weighing": panel.experts}


@node(asks=group_recruiter)
async def form_group(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Recruit the experts of a group, with who reports to whom."""
    view = RecruiterView(**vars(case_view(state, stage, runtime.context)), most=MOST_EXPERTS)
    group = await ask_at_stage(group_recruiter, view, state, runtime.context, "group")
    return {"members": in_order(group.experts)}


@node(asks=team_recruiter)
async def form_teams(state: PanelState, runtime: Runtime[Context], stage: Stage) -> dict[str, Any]:
    """Recruit the teams of experts."""
    view = RecruiterView(**vars(case_view(state, stage, runtime.context)), most=MOST_EXPERTS)
    return {"teams": (await ask_at_stage(team_recruiter, view, state, runtime.context, "teams")).teams}


async def _panel_for(options: Options, state: PanelState, context: Context, stage: Stage) -> Experts:
    """Recruit the experts who weigh these options."""
    view = RecruiterView(**vars(case_view(state, stage, context)), most=MOST_WEIGHING, candidates=options)
    return await _ask_for_panel(view, state, context, "weighing")


async def _ask_for_panel(view: RecruiterView, state: StageState, context: Context, what: str) -> Experts:
    panel: Experts = await ask_at_stage(recruiter, view, state, context, what, answer=_panel_of(view.most))
    return panel
