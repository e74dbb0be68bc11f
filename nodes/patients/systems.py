"""Patient systems by name: what each can do is declared where it is registered, never inferred from its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from cases.registry import Registry, RegistryError
from llm.tracing import UNTRACED
from nodes.state.chart import Turn

Build = Callable[[], StateGraph[Any, Any, Any, Any]]


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


class NoReplyError(ValueError):
    """A patient's graph has ended and left no words behind the doctor's."""


def check_reply(name: str, given: Mapping[str, Any]) -> None:
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


def patient(
    name: str,
    *,
    examines: bool,
    opens: bool = False,
    greets: bool = False,
    tracks: bool = False,
    told: bool = False,
    doctor: str = "consultation",
    speaker: str = "patient",
    settings: tuple[str, ...] = (),
) -> Callable[[Build], Build]:
    """Register a patient system; the arguments are those of `PatientSystem`.

    The decorated function builds the graph of one reply. It is called once, at registration.

    Raises:
        RegistryError: the name is taken, or the function gives no `StateGraph`.
    """

    def register(build: Build) -> Build:
        builder = build()
        if not isinstance(builder, StateGraph):
            raise RegistryError(f"patient {name!r}: its function gives {type(builder).__name__}, not a StateGraph")
        graph = builder.compile(name=f"{name} patient").with_config(callbacks=UNTRACED)
        PATIENTS.add(name, PatientSystem(name, graph, examines, opens, greets, tracks, told, doctor, speaker, settings))
        return build

    return register
