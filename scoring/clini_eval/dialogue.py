"""The input of Clini-Eval from our own runs: consultations as dialogues with notes, or reconstructed dialogues."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any, Self

from cases import Case
from cases.case import AnswerKey
from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.notes import note_of
from cases.strict import Strict
from nodes.state.chart import Turn, heard_by


class ReconstructionAnswers(Strict):
    """The dialogue reconstructed from a case's note; None if it was not finished."""

    reconstructed: Dialogue | None = None

    @property
    def diagnosis(self) -> list[str]:
        """Empty: a dialogue does not diagnose."""
        return []

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Self:
        """Extract the dialogue, with its models, from a final (or interrupted) state of a reconstruction."""
        dialogue, models = state.get("dialogue"), models_of(state)
        return cls(reconstructed=dialogue and dialogue.model_copy(update={"models": models or dialogue.models}))


def models_of(state: Mapping[str, Any]) -> list[str]:
    """Return the models that answered so far, by the state's trace; empty without one."""
    trace = state.get("trace")
    return sorted({model for models in trace.models.values() for model in models}) if trace else []


def dialogue_of_consultation(case: Case, state: Mapping[str, Any]) -> Dialogue:
    """Return what the doctor said and heard, with the case's note; department and diagnosis are not in the note.

    The state may be incomplete, but needs ``dialogue``. Its records, which may differ from the case's by the run's
    settings, take precedence.
    """
    turns: list[Turn] = heard_by("doctor", state.get("dialogue", []))
    messages = [
        Message(role=PHYSICIAN if is_doctor else PATIENT, content="\n".join(turn.text for turn in said))
        for is_doctor, said in groupby(turns, lambda turn: turn.speaker == "doctor")  # the examiner beside the patient
    ]
    records = {
        "patient": state.get("patient_record") or case.patient,
        "examinations": state.get("examination_record") or case.examinations,
    }
    return Dialogue(
        id=case.id,
        messages=messages,
        note=note_of(case.model_copy(update={**records, "key": AnswerKey()})).text,
        language=case.language,
        department=case.key.department,
        diseases=list(case.key.diagnosis),
        strategy="consultation",
        models=models_of(state),
    )
