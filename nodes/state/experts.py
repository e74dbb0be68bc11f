"""What passes between the experts of MedAgents and MDAgents: fields, analyses, reports; and the counters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from cases.strict import Strict
from nodes.context import Context
from nodes.state.chart import Chart
from nodes.state.decisions import NonEmpty
from nodes.state.stage import Options, StageState
from nodes.state.union import union_by
from nodes.workflow.stages import Stage, read_chart, recalled_at
from prompts import load_prompt
from retrieval import Neighbour

MOST_EXPERTS = 5
MOST_TEAMS = 3
Complexity = Literal["low", "moderate", "high"]


class Expert(Strict):
    """A specialist of the panel."""

    domain: NonEmpty = Field(description="The field of medicine.")
    focus: str = Field(description="What this expert should attend to.")


class Team(Strict):
    """Specialists who write one report together."""

    purpose: NonEmpty = Field(description="What the team is to find out.")
    experts: list[Expert] = Field(min_length=1, max_length=MOST_EXPERTS)


class Conclusion(Strict):
    """What a text amounts to."""

    proposal: list[NonEmpty] = Field(description="The answer as a list, in the terms of the question.")


class Analysis(Conclusion):
    """One expert's analysis."""

    team: int = Field(description="The first is 1; 0 without teams.")
    seat: int
    expert: str
    analysis: str


class Synthesis(Conclusion):
    """The joint report of a panel or a team."""

    team: int
    report: str


class PanelState(StageState, total=False):
    """The state of a decision by experts."""

    experts: list[Expert]
    expert: Expert
    teams: list[Team]
    team: int
    analyses: Annotated[list[Analysis], union_by("team", "seat")]
    syntheses: Annotated[list[Synthesis], union_by("team", latest=True)]
    complexity: Complexity
    feedback: str


@dataclass(frozen=True)
class CaseView:
    """What everybody sees who has a part in the decision."""

    stage: Stage
    task: str
    chart: Chart
    options: Options
    neighbours: Sequence[Neighbour]


def case_view(state: PanelState, stage: Stage, context: Context) -> CaseView:
    """The case as the stage finds it."""
    chart = read_chart(state, stage.name, context.language)
    return CaseView(
        stage=stage,
        task=load_prompt("medchain/task", chart.language, stage.name).render({})[0],
        chart=chart,
        options=Options(stage.options(chart, context), chart.language),
        neighbours=recalled_at(stage, state, chart),
    )


def purpose_of(state: PanelState) -> str:
    """What the team at work is to find out; empty without teams."""
    team = state.get("team", 0)
    return state["teams"][team - 1].purpose if team else ""
