"""Admission: opens the chart of a case. Makes no model call."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases import Case
from cases.case import ExaminationRecord, PatientRecord
from cases.impersonal import impersonal
from cases.pictures import with_sound_pictures
from cases.sexes import SexBoundError, with_sex
from cases.validation import InputError
from nodes.context import Context
from nodes.node import node
from nodes.patients.medpmc.personas import drawn
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Presentation, Reference, Turn
from nodes.state.decisions import Diagnosis, Referral, Triage
from nodes.strategies.registry import check_built_for
from nodes.workflow.case_lookup import case_given
from nodes.workflow.examiner import release
from retrieval import kin_of

# What a doctor learns only by asking the patient, or by reading the record.
HISTORIES = {"present_illness", "past_history", "personal_history", "family_history"}


class AdmissionState(TypedDict, total=False):
    """What a run starts from: a case, or the id of one."""

    case_id: Annotated[
        str, Field(description="Id of a case in `case_source`, such as `surgery-03` of the built-in ones.")
    ]
    case: Annotated[Case, Field(description="A whole case, instead of an id.")]


class AdmitState(AdmissionState, total=False):
    """What `admit` reads: the input, and the folder of the pictures, which an earlier turn with a patient has left."""

    picture_folder: str


class RecordsState(TypedDict, total=False):
    """Both records of the patient, without the answer key."""

    presentation: Presentation
    patient_record: PatientRecord
    examination_record: ExaminationRecord
    picture_folder: str


@node
async def admit(
    state: AdmitState, runtime: Runtime[Context], consultation: bool = False, strategy: str = ""
) -> dict[str, Any]:
    """Open the chart: the doctors get the presentation, the patient and the examiner their own records.

    A consultation always has a dialogue and no reference, whatever ``interactive`` and ``sequential`` say.

    Raises:
        InputError: the memory grows in an order in which the case has no position.
    """
    context = runtime.context
    if strategy and "strategy" in context.model_fields_set:
        check_built_for(strategy, context.strategy)
    if context.grow == "in_order" and context.position is None:  # no remembered case would be an earlier one
        raise InputError(
            "grow = 'in_order' needs `position`, the number of the case in its order, which a run sets; set it too, or "
            "grow = 'as_finished'"
        )
    given = await case_given(state, context.case_source)
    if not given.folder:
        given = given.model_copy(update={"folder": state.get("picture_folder", "")})
    case = await _as_told(given, context)
    record = case.patient
    histories = {} if context.interactive or consultation else record.model_dump(include=HISTORIES)
    update: dict[str, Any] = {
        "case_id": case.id,
        "patient_record": record,
        "examination_record": case.examinations,
        "picture_folder": case.folder,
        "presentation": Presentation(
            language=case.language,
            age_years=record.age_years,
            sex=record.sex,
            occupation=record.occupation,
            chief_complaint=record.chief_complaint,
            **histories,
        ),
        "backtracks": 0,
    }
    if consultation and context.personalized and record == given.patient and (opening := filled_in(case, context)):
        update["dialogue"] = opening
    if strategy:
        update["built_for"] = strategy
    if context.retrieval:
        update["kin"] = kin_of(given)  # of the case as recorded: it may be told in other words
    if context.results_in_dialogue:
        update["told_results"] = _results_in_words(case, context)
    if context.patient_profession == "drawn":
        update["profession"] = drawn(case.id, context.seed).profession
    if context.pictures_in_dialogue == "report":
        update["reference_reports"] = dict(case.key.imaging_reports)
    if not context.sequential and not consultation:
        update["reference"] = reference_of(case, context)
    return update


async def _as_told(case: Case, context: Context) -> Case:
    """Return the case with pictures that can be sent, in the sex that is played, and impersonal if so set."""
    if case.examinations.images and context.send_pictures:
        case = await asyncio.to_thread(with_sound_pictures, case)
    case = in_played_sex(case, context)
    return case if context.personalized else impersonal(case)


def _results_in_words(case: Case, context: Context) -> dict[str, str]:
    """Return the results but for those that only pictures show, which the doctors have to read."""
    results, _ = release(case.examinations, list(case.examinations.results), case.folder, context.send_pictures)
    pictured = {image.item for image in case.examinations.images}
    return {item: text for item, text in results.items() if item not in pictured}


def filled_in(case: Case, context: Context) -> list[Turn]:
    """Return greeting and first reply as the case's source has them, for a patient system that greets; else nothing.

    Nothing either if another language is spoken, a persona speaks, or no turn would be left.
    """
    system, opening = PATIENTS[context.patient], case.opening
    persona = context.actor and "actor" in system.settings
    if opening is None or not system.greets or persona or context.max_turns <= 1:
        return []
    if context.language not in (None, case.language):
        return []
    greeting = Turn(speaker="doctor", text=opening.doctor, action="Initialization")
    return [greeting, Turn(speaker="patient", text=opening.patient, facts=[case.patient.chief_complaint])]


def in_played_sex(case: Case, context: Context) -> Case:
    """Return the case with the patient's sex as recorded, as set, or as drawn if the case allows both.

    Raises:
        SexBoundError: the case does not allow the sex that is set.
    """
    if context.patient_sex in ("female", "male"):
        return with_sex(case, context.patient_sex)
    if context.patient_sex == "drawn" and (sex := drawn(case.id, context.seed).sex) is not None:
        with suppress(SexBoundError):
            return with_sex(case, sex)
    return case


def as_played(case: Case, context: Context) -> Case:
    """Return the case as its doctors met it, to score them by; unchanged if it could not be played so."""
    with suppress(SexBoundError):
        return in_played_sex(case, context)
    return case


@node
async def disclose(state: RecordsState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Disclose both records to the doctor: every history and every result at once."""
    presentation, examinations = state["presentation"], state["examination_record"]
    histories = state["patient_record"].model_dump(include=HISTORIES)
    results, pictures = release(
        examinations, list(examinations.results), state.get("picture_folder", ""), runtime.context.send_pictures
    )
    return {"presentation": presentation.model_copy(update=histories), "results": results, "pictures": pictures}


def reference_of(case: Case, context: Context) -> Reference:
    """Return what each stage should find, for the ablation without sequence (MedChain, section 5.4)."""
    key = case.key
    items = key.examination_items or list(case.examinations.results)
    results, pictures = release(case.examinations, items, case.folder, context.send_pictures)
    pictured = {picture.item for picture in pictures}
    triage = Triage(urgency=key.urgency or "routine", department=key.department) if key.department else None
    return Reference(
        triage=triage,
        referral=Referral(urgency=triage.urgency, department=triage.department, sub_departments=key.sub_departments)
        if triage
        else None,
        results=results,
        pictures=pictures,
        reports={item: case.examinations.results[item] for item in pictured & case.examinations.results.keys()}
        | key.imaging_reports,
        diagnosis=Diagnosis(names=key.diagnosis, basis=key.diagnosis_basis) if key.diagnosis else None,
    )
