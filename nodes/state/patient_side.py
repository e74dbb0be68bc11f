"""What stands behind the door on the patient's side: the state that every patient system works on.

A patient system is one node of the dialogue (a person, or a subgraph of ``graphs/patients``): it gets the dialogue up
to the doctor's last turn, and gives it back with what is said in reply. Each person on this side takes a narrower view.
"""

from typing import Annotated

from typing_extensions import TypedDict

from cases.case import ExaminationRecord, PatientRecord
from llm import Trace, merge_traces
from nodes.patients.ai_hospital.profile import Profile
from nodes.patients.medpmc.personas import Profession
from nodes.state.chart import Ended, Presentation, Speaker, Turn


class PatientSideOutput(TypedDict, total=False):
    """What a patient system adds: the dialogue with its turns, its end if the patient ends it, and what it keeps."""

    dialogue: list[Turn]
    dialogue_ended: Ended
    profile: Profile
    trace: Annotated[Trace, merge_traces]


class Records(TypedDict, total=False):
    """What of a case the patient's side alone is given."""

    patient_record: PatientRecord
    examination_record: ExaminationRecord
    picture_folder: str
    told_results: dict[str, str]  # only where the patient tells them
    reference_reports: dict[str, str]  # only where a run hands them over in place of pictures
    profession: Profession  # of the persona, only where it is drawn


class PatientSideState(Records, PatientSideOutput, total=False):
    """All that a patient system works on; a key added here reaches it, a key added to the output is kept as well."""

    presentation: Presentation
    opened: bool  # the doctor's first words here are a turn like any other, and no greeting


class HeardState(TypedDict, total=False):
    """What a first step sees that only sorts the doctor's words: the dialogue, and no record."""

    presentation: Presentation
    dialogue: list[Turn]
    opened: bool


def turn_number(dialogue: list[Turn]) -> int:
    """Which of the doctor's turns is being answered; the first is 1."""
    return sum(turn.speaker == "doctor" for turn in dialogue)


def last_words(dialogue: list[Turn], speaker: Speaker) -> str:
    """What somebody said last; empty if nothing yet."""
    return next((turn.text for turn in reversed(dialogue) if turn.speaker == speaker), "")
