"""MedChain's patient: answers from the patient record, which is all that it knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.case import PatientRecord
from cases.strict import Strict
from cases.vocabulary import EXAMINATION_ITEMS, Language, label
from llm import Role, Speech
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.offline.hearing import items_asked_about
from nodes.offline.record_answers import answer_from_record
from nodes.state.chart import EarlierTurns, Turn
from nodes.state.patient_side import HeardState
from prompts import mark


class PatientState(HeardState, total=False):
    """The patient's view of the state: its own record and the dialogue."""

    patient_record: PatientRecord
    told_results: dict[str, str]


class PatientReply(Strict):
    """What the patient says."""

    text: str = Field(min_length=1)


@dataclass(frozen=True)
class PatientView:
    """What the patient knows when asked."""

    record: PatientRecord
    dialogue: list[Turn]
    question: str
    language: Language
    results: Mapping[str, str] = field(default_factory=dict)


def quote_the_record(view: PatientView) -> PatientReply:
    """Offline: give the results that the patient was told and is asked for, else quote the record."""
    examined = items_asked_about(view.question) if view.results else set()
    if found := [result for item, result in view.results.items() if EXAMINATION_ITEMS.canonical(item) in examined]:
        return PatientReply(text=mark("space", view.language).join(found))
    return PatientReply(text=answer_from_record(view.question, view.record, view.dialogue, view.language))


spoken = Speech.of_text(PatientReply, lambda view: view.question)
patient = Role("patient", "history_taking", "medchain/patient", PatientReply, offline=quote_the_record, speech=spoken)


@node(asks=patient)
async def answer(state: PatientState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Ask for the patient's reply to the doctor's last turn."""
    dialogue, language = state["dialogue"], state["presentation"].language
    shown = runtime.context.prompt_language(language)
    view = PatientView(
        record=state["patient_record"],
        dialogue=EarlierTurns(dialogue[:-1]),
        question=dialogue[-1].text,
        language=language,
        results={label(item, shown): text for item, text in state.get("told_results", {}).items()},
    )
    reply = await ask_in_turn(patient, view, state, runtime.context)
    return {"dialogue": [*dialogue, Turn(speaker="patient", text=reply.text)]}
