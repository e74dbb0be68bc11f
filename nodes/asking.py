"""Helpers to ask a role: they set the language, the place in the course of the case, and the pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from llm import ModelSettings, Role, ask
from llm.role import Answer
from nodes.context import Context
from nodes.offline.votes import Evidence
from nodes.state.chart import Chart
from nodes.state.decisions import Report, Round, SubDepartments
from nodes.state.patient_side import HeardState, turn_number
from nodes.state.stage import Options, StageState
from nodes.workflow.stages import Stage, read_chart, recalled_at
from prompts import load_prompt
from retrieval import Neighbour


@dataclass(frozen=True)
class StageView:
    """What every role in a stage's decision sees; ``file`` has the stage's earlier decisions with their objections."""

    stage: Stage
    chart: Chart
    image_class: str | None
    options: Options
    neighbours: Sequence[Neighbour]
    file: list[Round]

    def evidence(self, seat: int = 0) -> Evidence:
        """Return what a rule without a model decides by, as the doctor of a seat weighs it."""
        return Evidence(self.stage, self.chart, self.neighbours, self.options.names, self.image_class, seat)


def stage_view(state: StageState, stage: Stage, context: Context) -> StageView:
    """Return the case as the stage sees it."""
    chart = read_chart(state, stage.name, context.language)
    return StageView(
        stage=stage,
        chart=chart,
        image_class=state.get("image_class"),
        options=Options(stage.options(chart, context), chart.language),
        neighbours=recalled_at(stage, state, chart),
        file=state.get("rounds", []),
    )


@dataclass(frozen=True)
class CaseView(StageView):
    """What every role in the decision sees, with the task of the stage as text."""

    task: str


def case_view(state: StageState, stage: Stage, context: Context) -> CaseView:
    """Return the case as the stage sees it, with the task."""
    view = stage_view(state, stage, context)
    return CaseView(**vars(view), task=load_prompt("medchain/task", view.chart.language, stage.name).render({})[0])


async def ask_at_stage(
    role: Role[Any],
    view: StageView,
    state: StageState,
    settings: ModelSettings,
    *parts: str,
    answer: type[BaseModel] | None = None,
    seat: int | None = None,
) -> Any:
    """Ask a role at a stage, with the pictures of the report being written.

    Decisions other than reports rest on the reports and are asked for without pictures. ``parts`` distinguish the call
    from the role's other calls in this visit to the stage; ``answer`` is the answer type, if it differs by stage.
    """
    chart, pictures = view.chart, pictures_for(view.stage, view.chart, state.get("image_class"))
    terms = view.options.names if view.stage.decision is SubDepartments else ()
    stage_role = role.at(view.stage.name, answer, terms=terms)
    where = place(state, *parts)
    return await ask(stage_role, view, settings, language=chart.language, place=where, pictures=pictures, seat=seat)


def pictures_for(stage: Stage, chart: Chart, image_class: str | None) -> list[str]:
    """Return the pictures of the report being written; none if the stage decides something else."""
    if stage.decision is not Report:
        return []
    return [picture.file for picture in chart.pictures if picture.item == image_class]


async def ask_in_turn(
    role: Role[Answer], view: Any, state: HeardState, settings: ModelSettings, step: str = ""
) -> Answer:
    """Ask a role on the patient's side about the doctor's last turn.

    ``step`` distinguishes the call from the role's other calls in this turn.
    """
    turn = f"turn{turn_number(state['dialogue'])}"
    language = state["presentation"].language
    return await ask(role, view, settings, language=language, place=f"{turn}/{step}" if step else turn)


def place(state: Mapping[str, Any], *parts: str) -> str:
    """Return where in the course of the case a doctor's call is made: visit, image class, revision, then ``parts``."""
    visit, revision = state.get("backtracks", 0), state.get("revision", 0)
    before = (f"visit{visit}" if visit else "", state.get("image_class", ""), f"revision{revision}" if revision else "")
    return "/".join(part for part in (*before, *parts) if part)
