"""A patient system put to labelled items: one turn each, on the graphs that consultations use."""

from collections.abc import Mapping, Sequence

import anyio

from cases import Case
from llm.errors import AskError
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Presentation, Turn
from nodes.state.patient_side import PatientSideState
from scoring.aie.simulator_set import Played, SimulatorItem

_AT_ONCE = 8  # items before the models at a time


async def play_all(
    items: Sequence[SimulatorItem], cases: Mapping[str, Case], context: Context, patient: str = "saps"
) -> tuple[list[Played], dict[str, str]]:
    """Play every item; what got no answer is told by item, with the reason, and left out."""
    played: list[Played | None] = [None] * len(items)
    failures: dict[str, str] = {}
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def one(place: int, item: SimulatorItem) -> None:
        async with limit:
            try:
                played[place] = await play(item, cases[item.case_id], context, patient)
            except AskError as error:
                failures[item.id] = f"{error.reason}: {error}"

    async with anyio.create_task_group() as group:
        for place, item in enumerate(items):
            group.start_soon(one, place, item)
    return [done for done in played if done], failures


async def play(item: SimulatorItem, case: Case, context: Context, patient: str = "saps") -> Played:
    """Have the patient answer one item: in words, pictures being told by their written findings."""
    before = [*item.dialogue, Turn(speaker="doctor", text=item.doctor)]
    state: PatientSideState = {
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
    in_words = context.model_copy(update={"patient": patient, "send_pictures": False})
    dialogue: list[Turn] = (await PATIENTS[patient].graph.ainvoke(state, context=in_words))["dialogue"]
    doctor, *after = dialogue[len(before) - 1 :]
    # What patient and examiner say to each other is not for the doctor's ears.
    said = [turn for turn in after if turn.addressee in (None, "doctor")]
    reply = said[-1] if said else Turn(speaker="patient", text="")
    return Played(item=item, action=doctor.action or "", reply=reply.text, plain=reply.plain)
