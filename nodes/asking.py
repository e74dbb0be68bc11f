"""What the questions of one kind of node have in common: language, place in the course of the case, pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from llm import ModelSettings, Role, ask
from llm.role import Answer
from nodes.context import Context
from nodes.state.chart import Chart
from nodes.state.decisions import Report, Round, SubDepartments
from nodes.state.patient_side import HeardState, turn_number
from nodes.state.stage import Options, StageState
from nodes.workflow.stages import Stage, read_chart, recalled_at
from retrieval import Neighbour


@dataclass(frozen=True)
class StageView:
    """What everybody sees who has a part in a stage's decision; ``file`` is what was decided and sent back so far."""

    stage: Stage
    chart: Chart
    image_class: str | None
    options: Options
    neighbours: Sequence[Neighbour]
    file: list[Round]


def stage_view(state: StageState, stage: Stage, context: Context) -> StageView:
    """The case as the stage finds it."""
    chart = read_chart(state, stage.name, context.language)
    return StageView(
        stage=stage,
        chart=chart,
        image_class=state.get("image_class"),
        options=Options(stage.options(chart, context), chart.language),
        neighbours=recalled_at(stage, state, chart),
        file=state.get("rounds", []),
    )


async def ask_at_stage(
    role: Role[Any],
    view: StageView,
    state: StageState,
    settings: ModelSettings,
    *parts: str,
    answer: type[BaseModel] | None = None,
    seat: int | None = None,
) -> Any:
    """Put the question of a stage, with the pictures that belong to the report being written.

    Other decisions than a report rest on the reports, and are asked for without pictures. ``parts`` tell the call from
    others of the role in this visit to the stage; ``answer`` is its type here, if each stage has another.
    """
    chart, pictures = view.chart, pictures_for(view.stage, view.chart, state.get("image_class"))
    terms = view.options.names if view.stage.decision is SubDepartments else ()
    there = role.at(view.stage.name, answer, terms=terms)
    where = place(state, *parts)
    return await ask(there, view, settings, language=chart.language, place=where, pictures=pictures, seat=seat)


def pictures_for(stage: Stage, chart: Chart, image_class: str | None) -> list[str]:
    """The pictures that belong to the report being written; none where something else is decided."""
    if stage.decision is not Report:
        return []
    return [picture.file for picture in chart.pictures if picture.item == image_class]


async def ask_in_turn(
    role: Role[Answer], view: Any, state: HeardState, settings: ModelSettings, step: str = ""
) -> Answer:
    """Put a question on the patient's side, about the doctor's last turn.

    ``step`` tells the call from others of the role in this turn.
    """
    turn = f"turn{turn_number(state['dialogue'])}"
    language = state["presentation"].language
    return await ask(role, view, settings, language=language, place=f"{turn}/{step}" if step else turn)


def place(state: Mapping[str, Any], *parts: str) -> str:
    """Where in the course of the case a call of a doctor belongs: visit, image class, revision, round, seat."""
    visit, revision = state.get("backtracks", 0), state.get("revision", 0)
    before = (f"visit{visit}" if visit else "", state.get("image_class", ""), f"revision{revision}" if revision else "")
    return "/".join(part for part in (*before, *parts) if part)
