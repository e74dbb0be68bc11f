"""The state-aware patient put to labelled items: one turn each, on the graph that consultations use."""

from collections.abc import Mapping, Sequence

import anyio

from cases import Case
from evaluation.simulator_set import Played, SimulatorItem
from graphs.patients.saps import SapsState
from graphs.patients.saps import graph as saps
from models.errors import AskError
from nodes.chart import Presentation, Turn
from nodes.context import Context

_AT_ONCE = 8  # items before the models at a time


async def play_all(
    items: Sequence[SimulatorItem], cases: Mapping[str, Case], context: Context
) -> tuple[list[Played], dict[str, str]]:
    """Play every item; what got no answer is told by item, with the reason, and left out."""
    played: list[Played | None] = [None] * len(items)
    failures: dict[str, str] = {}
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def one(place: int, item: SimulatorItem) -> None:
        async with limit:
            try:
                played[place] = await play(item, cases[item.case_id], context)
            except AskError as error:
                failures[item.id] = f"{error.reason}: {error}"

    async with anyio.create_task_group() as group:
        for place, item in enumerate(items):
            group.start_soon(one, place, item)
    return [done for done in played if done], failures


async def play(item: SimulatorItem, case: Case, context: Context) -> Played:
    """Have the patient answer one item."""
    before = [*item.dialogue, Turn(speaker="doctor", text=item.doctor)]
    state: SapsState = {
        "presentation": Presentation(
            language=case.language,
            age_years=case.patient.age_years,
            sex=case.patient.sex,
            occupation=case.patient.occupation,
            chief_complaint=case.patient.chief_complaint,
        ),
        "patient_record": case.patient,
        "examination_record": case.examinations,
        "dialogue": before,
    }
    dialogue: list[Turn] = (await saps.ainvoke(state, context=context))["dialogue"]
    doctor, *reply = dialogue[len(before) - 1 :]
    return Played(item=item, action=doctor.action or "", reply=reply[0].text if reply else "")
