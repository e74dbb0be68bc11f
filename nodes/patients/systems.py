"""The registry of patient systems: capabilities are declared at registration, never inferred from a name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from langgraph.graph.state import CompiledStateGraph
from pydantic import ValidationError

from cases.registry import GivenError, Registry
from cases.validation import in_a_line
from llm.role import has_words
from nodes.state.chart import Ended, Turn


@dataclass(frozen=True)
class PatientSystem:
    """A patient system, which answers the doctor: its ``graph`` gives one reply of the patient's side per invocation.

    What else is declared of it, `nodes.patients.registration.patient` explains.
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
    shows: bool = True


PATIENTS: Registry[PatientSystem] = Registry("patient")


class NoReplyError(GivenError):
    """A patient's graph ended without a valid reply to the doctor."""


def check_reply(name: str, given: Mapping[str, Any], before: Sequence[Turn] = ()) -> None:
    """Check that the output of a patient's graph continues the dialogue ``before`` with a reply of words or pictures.

    Raises:
        NoReplyError: it is not a reply; says what was expected.
    """
    turns, whole = given.get("dialogue") or [], "expected {'dialogue': [*state['dialogue'], wr.Turn(...)]}"
    if not isinstance(turns, list | tuple):
        raise NoReplyError(f"patient {name!r} returned {type(turns).__name__} as its dialogue; {whole}")
    if odd := [type(turn).__name__ for turn in turns if not isinstance(turn, Turn)]:
        raise NoReplyError(f"patient {name!r} returned a dialogue of {odd[0]}; expected wr.Turn")
    if (ended := given.get("dialogue_ended") or "") not in get_args(Ended):
        known = ", ".join(map(repr, get_args(Ended)))
        raise NoReplyError(f"patient {name!r} returned dialogue_ended = {ended!r}; expected one of {known}")
    if not ended and (not turns or turns[-1].speaker == "doctor"):
        raise NoReplyError(f"patient {name!r} returned no reply; {whole}")
    if [turn.text for turn in turns[: len(before)]] != [turn.text for turn in before]:
        raise NoReplyError(f"patient {name!r} returned a dialogue without the earlier turns; {whole}")
    for turn in turns[len(before) :]:
        _check_turn(name, turn, opens=not before)


def _check_turn(name: str, turn: Turn, *, opens: bool) -> None:
    try:  # again: `model_copy` and `model_construct` check nothing
        read = Turn.model_validate(dict(turn))
    except ValidationError as error:
        raise NoReplyError(f"patient {name!r} returned an invalid wr.Turn: {in_a_line(error)}") from error
    if [*turn.pictures] != read.pictures:
        raise NoReplyError(f"patient {name!r} put pictures into a copied wr.Turn; expected wr.Turn(...)")
    if turn.speaker == "doctor" and not opens:
        raise NoReplyError(f"patient {name!r} spoke for the doctor ({turn.text!r}); expected a turn of its own side")
    if not (turn.pictures or has_words(turn.text)):
        raise NoReplyError(f"patient {name!r} returned a reply without words ({turn.text!r}) and without a picture")
    if relative := [picture.file for picture in turn.pictures if not Path(picture.file).is_absolute()]:
        raise NoReplyError(f"patient {name!r} handed over {relative[0]!r}; expected the absolute path of a picture")
