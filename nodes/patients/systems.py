"""Patient systems by name: what each can do is declared where it is registered, never inferred from its name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from cases.registry import GivenError, Registry
from llm.role import has_words
from nodes.state.chart import Turn


@dataclass(frozen=True)
class PatientSystem:
    """Who answers the doctor.

    Attributes:
        name: the value of the setting ``patient``.
        graph: one reply of the patient's side per invocation; it takes and gives `PatientSideState`.
        examines: whether results of examinations are told in the dialogue; if not, they are done after it.
        opens: whether the patient speaks first; the graph is then invoked once with an empty dialogue.
        greets: whether that opening holds a greeting too, which counts as the doctor's first turn.
        tracks: whether the doctor's actions are tracked, turn by turn; the last that the turns allow is answered too.
        told: whether the doctor is to tell this patient diagnosis, reasons and plan in a consultation.
        doctor: the stage of the doctor's role that this patient is consulted by.
        speaker: the role that speaks for the patient.
        settings: settings of the dialogue that this system obeys and others do not.
    """

    name: str
    graph: CompiledStateGraph[Any, Any, Any, Any]
    examines: bool
    opens: bool = False
    greets: bool = False
    tracks: bool = False
    told: bool = False
    doctor: str = "consultation"
    speaker: str = "patient"
    settings: tuple[str, ...] = ()


PATIENTS: Registry[PatientSystem] = Registry("patient")


class NoReplyError(GivenError):
    """A patient's graph has ended and left no words behind the doctor's."""


def check_reply(name: str, given: Mapping[str, Any], before: Sequence[Turn] = ()) -> None:
    """Refuse what a patient's graph gives if it is no reply: the doctor's words, or silence, would pass for it.

    Raises:
        NoReplyError: it is none; says what was expected.
    """
    turns = given.get("dialogue") or []
    if not all(isinstance(turn, Turn) for turn in turns):
        raise NoReplyError(f"patient {name!r} gave a dialogue of {type(turns[-1]).__name__}; expected wr.Turn")
    if not given.get("dialogue_ended") and (not turns or turns[-1].speaker == "doctor"):
        raise NoReplyError(
            f"patient {name!r} gave no reply; expected {{'dialogue': [*state['dialogue'], wr.Turn(...)]}}"
        )
    if [turn.text for turn in turns[: len(before)]] != [turn.text for turn in before]:
        raise NoReplyError(
            f"patient {name!r} gave a dialogue without what was said before; expected "
            "{'dialogue': [*state['dialogue'], wr.Turn(...)]}"
        )
    for turn in turns[len(before) :]:
        if not (turn.pictures or has_words(turn.text)):
            raise NoReplyError(f"patient {name!r} gave a reply without words ({turn.text!r}) and without a picture")
        if odd := [picture.file for picture in turn.pictures if not Path(picture.file).is_absolute()]:
            raise NoReplyError(f"patient {name!r} handed over {odd[0]!r}; expected the whole path of a picture")
