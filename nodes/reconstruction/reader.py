"""The reader of a finished dialogue: what it says that its note denies, or knows nothing of (an entailment).

Gates know words; who reads knows what is meant. Offline the gates' own rules of content answer.
"""

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases.dialogues import PHYSICIAN, Dialogue, Objection
from cases.notes import Note
from cases.strict import Strict
from cases.vocabulary import Language
from llm import Role, ask
from nodes.context import Context
from nodes.node import node
from nodes.reconstruction import content

_BY_RULE = {
    "agrees_with_the_note": "contradicted",
    "side_of_the_note": "contradicted",
    "numbers_of_the_note": "contradicted",
    "person_of_the_note": "contradicted",
    "nothing_invented": "invented",
}


class ReadingState(TypedDict, total=False):
    """The note, and the dialogue that was written of it."""

    note: Note
    dialogue: Dialogue


class Reading(Strict):
    """What a dialogue says against its note or beyond it."""

    objections: list[Objection] = Field(description="Empty if the note bears out all that is said.")


@dataclass(frozen=True)
class ReadingView:
    """What the reader sees: the note and every turn; no answer key."""

    note: str
    turns: list[tuple[str, str]]
    dialogue: Dialogue
    language: Language


def objections_by_rule(view: ReadingView) -> Reading:
    """Offline: what the gates' rules of content find."""
    told = content.Told(view.dialogue)
    found = [
        Objection(turn=turn, kind=kind, reason=message)
        for name, kind in _BY_RULE.items()
        for message, turn in content.RULES[name](told)
        if turn is not None
    ]
    return Reading(objections=found)


def _in_the_dialogue(view: ReadingView, reading: Reading) -> str | None:
    beyond = [one.turn for one in reading.objections if not 1 <= one.turn <= len(view.turns)]
    return f"turn {beyond[0]}: there are turns 1 to {len(view.turns)}" if beyond else None


reader = Role(
    "dialogue_reader",
    "reconstruction",
    "reconstruction/reader",
    Reading,
    objections_by_rule,
    check=_in_the_dialogue,
    whole=True,
)


@node
async def read_dialogue(state: ReadingState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Hold the finished dialogue against its note, turn by turn; what is objected to stands beside it."""
    note, dialogue = state["note"], state["dialogue"]
    turns = [("physician" if turn.role == PHYSICIAN else "patient", turn.content) for turn in dialogue.spoken]
    view = ReadingView(note.text, turns, dialogue, note.language)
    reading = await ask(reader, view, runtime.context, language=note.language, place="reading")
    return {"dialogue": dialogue.model_copy(update={"objections": reading.objections})}
