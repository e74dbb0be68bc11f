"""AI Hospital's patient: speaks as its profile describes, to the doctor or to the examiner (section 2.4)."""

from dataclasses import dataclass
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from cases.case import PatientRecord
from cases.strict import Strict
from cases.vocabulary import Language
from llm import Role, Speech
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.offline.record_answers import answer_from_record, tells_diagnosis, wants_examination
from nodes.patients.ai_hospital.profile import Profile
from nodes.state.chart import EarlierTurns, Turn, heard_by, said_by
from nodes.state.patient_side import HeardState, last_words
from prompts import load_words


class AiHospitalPatientState(HeardState, total=False):
    """The patient's view of the state: its own record, its profile and the dialogue."""

    patient_record: PatientRecord
    profile: Profile


class PatientWords(Strict):
    """What the patient says, and to whom."""

    addressee: Literal["doctor", "examiner"] = Field(
        description="`examiner` to have an examination done that the doctor asked for, else `doctor`."
    )
    text: str = Field(min_length=1)
    finished: bool = Field(
        default=False,
        description="True only if you were told the diagnosis, reasons, treatment and what you asked about them.",
    )


class WordsToDoctor(Strict):
    """What the patient, back from the examiner, tells the doctor."""

    text: str = Field(min_length=1, description="What the examiner said.")


@dataclass(frozen=True)
class AiHospitalPatientView:
    """What the patient knows when spoken to."""

    record: PatientRecord
    profile: Profile | None
    dialogue: list[Turn]
    question: str
    outcomes: str
    language: Language


def quote_or_pass_on(view: AiHospitalPatientView) -> PatientWords:
    """Offline: repeat the examiner's words, pass orders on to the examiner, and answer questions from the record.

    A diagnosis is answered with one worry, and the reply to that with a goodbye.
    """
    words = load_words("ai_hospital/words", view.language)["patient"]
    if view.outcomes:
        return PatientWords(addressee="doctor", text=words["told"].format(view.outcomes))
    own = said_by("patient", view.dialogue)
    if own and own[-1] == words["worry"]:
        return PatientWords(addressee="doctor", text=words["goodbye"], finished=True)
    if tells_diagnosis(view.question):
        return PatientWords(addressee="doctor", text=words["worry"])
    if wants_examination(view.question):
        return PatientWords(addressee="examiner", text=words["passed_on"].format(view.question))
    return PatientWords(
        addressee="doctor", text=answer_from_record(view.question, view.record, view.dialogue, view.language)
    )


def in_plain_words(view: AiHospitalPatientView, words: str) -> PatientWords:
    """Read plain words as the patient's: to the examiner if the doctor has just ordered an examination."""
    to_examiner = not view.outcomes and wants_examination(view.question)
    return PatientWords(addressee="examiner" if to_examiner else "doctor", text=words)


spoken = Speech(None, in_plain_words, lambda view: view.question)
patient = Role("patient", "ai_hospital", "ai_hospital/patient", PatientWords, offline=quote_or_pass_on, speech=spoken)


# Its form has no addressee: a model of 1.5 billion parameters named the examiner again, 141 times of 141.
relayed = Speech.of_text(WordsToDoctor, lambda view: view.question)
messenger: Role[Any] = patient.at(patient.stage, WordsToDoctor, speech=relayed)


@node(asks=patient)
async def reply(state: AiHospitalPatientState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Ask for the patient's reply to the doctor's last turn, to the doctor or to the examiner."""
    words = await _speak(patient, state, runtime.context)
    turn = Turn(speaker="patient", addressee=words.addressee, text=words.text)
    ended = "patient_ended" if words.finished and words.addressee == "doctor" else ""
    return {"dialogue": [*state["dialogue"], turn], "dialogue_ended": ended}


@node(asks=messenger)
async def relay(state: AiHospitalPatientState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Let the patient tell the doctor what the examiner said, and hand over the pictures."""
    examined = state["dialogue"][-1]
    words = await _speak(messenger, state, runtime.context, outcomes=examined.text)
    turn = Turn(
        speaker="patient", addressee="doctor", text=words.text, pictures=examined.pictures, facts=examined.facts
    )
    return {"dialogue": [*state["dialogue"], turn]}


async def _speak(role: Role[Any], state: AiHospitalPatientState, context: Context, outcomes: str = "") -> Any:
    dialogue = state["dialogue"]
    view = AiHospitalPatientView(
        record=state["patient_record"],
        profile=state.get("profile"),
        dialogue=EarlierTurns(heard_by("patient", dialogue)[:-1]),
        question=last_words(dialogue),
        outcomes=outcomes,
        language=context.prompt_language(state["presentation"].language),
    )
    return await ask_in_turn(role, view, state, context, "relay" if outcomes else "")
