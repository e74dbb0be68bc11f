"""The patient's side of the dialogue: the state that every patient system works on.

A patient system is one node of the dialogue, usually a subgraph of ``graphs/patients``. It gets the dialogue up to the
doctor's last turn and returns it with the reply. Each agent on this side takes a narrower view of the state.
"""

from typing import Annotated

from typing_extensions import TypedDict

from cases.case import ExaminationRecord, PatientRecord
from llm import Trace, merge_traces
from nodes.patients.ai_hospital.profile import Profile
from nodes.patients.medpmc.personas import Profession
from nodes.state.chart import Ended, Presentation, Turn


class PatientSideOutput(TypedDict, total=False):
    """What a patient system adds: its turns in the dialogue, whether it ends the dialogue, and what it keeps."""

    dialogue: list[Turn]
    dialogue_ended: Ended
    profile: Profile
    trace: Annotated[Trace, merge_traces]


class Records(TypedDict, total=False):
    """The parts of a case that only the patient's side is given."""

    patient_record: PatientRecord
    examination_record: ExaminationRecord
    picture_folder: str
    told_results: dict[str, str]  # only if the patient tells them
    reference_reports: dict[str, str]  # only if they are handed over instead of pictures
    profession: Profession  # of the persona, only if it is drawn


class PatientSideState(Records, PatientSideOutput, total=False):
    """All that a patient system works on. A key added here reaches it; a key added to the output is also kept."""

    presentation: Presentation
    opened: bool  # the doctor's first turn is an ordinary one, not a greeting


class HeardState(TypedDict, total=False):
    """What a step sees that only classifies the doctor's words: the dialogue, without the records."""

    presentation: Presentation
    dialogue: list[Turn]
    opened: bool


def turn_number(dialogue: list[Turn]) -> int:
    """Return the number of the doctor's turn that is being answered; the first is 1."""
    return sum(turn.speaker == "doctor" for turn in dialogue)


def last_words(dialogue: list[Turn]) -> str:
    """Return what the doctor said last; empty if nothing yet."""
    return next((turn.text for turn in reversed(dialogue) if turn.speaker == "doctor"), "")
