"""The reader of a finished dialogue, who finds what the note contradicts or does not have (entailment).

Gates compare words, the reader compares meaning. Offline, it uses the gates' content rules.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases.dialogues import PHYSICIAN, Dialogue, Objection
from cases.notes import Note
from cases.strict import Strict
from cases.text.sentences import sentences
from cases.vocabulary import Language
from llm import AnswerError, Role, ask
from nodes.context import Context
from nodes.node import node
from nodes.reconstruction import content, particulars
from nodes.reconstruction.parsed import ParsedDialogue

_AT_ONCE = 10  # turns of a question: the answers on a whole dialogue exceed what small models are let write
_BY_RULE: dict[str, Literal["contradicted", "invented"]] = {
    "agrees_with_the_note": "contradicted",
    "side_of_the_note": "contradicted",
    "numbers_of_the_note": "contradicted",
    "address_of_the_note": "contradicted",
    "nothing_invented": "invented",
}


class ReadingState(TypedDict, total=False):
    """A note, and the dialogue written from it."""

    note: Note
    dialogue: Dialogue


class TurnReading(Strict):
    """A turn compared with the note: first what each says, then the verdict."""

    turn: int = Field(description="Number of the turn.")
    says: str = Field(description="What the turn states, in a few words; for a yes or no, what was asked.")
    note: str = Field(description="What the note says of it, in the note's words; empty if it says nothing.")
    kind: Literal["supported", "contradicted", "invented"]


class Reading(Strict):
    """What a dialogue says, turn by turn."""

    # A small model that may list objections alone lists none.

    turns: list[TurnReading] = Field(description="Every turn that states something, in order.")

    @property
    def objections(self) -> list[Objection]:
        """The objections: all invented turns, and contradicted ones for which the reader quotes the note."""
        return [
            Objection(turn=one.turn, kind=one.kind, reason=f"{one.says!r}: {one.note or 'the note says nothing of it'}")
            for one in self.turns
            if one.kind == "invented" or (one.kind == "contradicted" and one.note)
        ]


@dataclass(frozen=True)
class ReadingView:
    """What the reader sees: the note and every turn, but no answer key; and of which turns it is asked."""

    note: str
    turns: list[tuple[str, str, bool]]  # role, words, whether they are only questions
    asked: list[int]  # numbers of turns; those that are only questions have none
    dialogue: Dialogue
    language: Language


def objections_by_rule(view: ReadingView) -> Reading:
    """Offline: return the problems that the gates' content rules find."""
    parsed = ParsedDialogue(view.dialogue)
    rules = {**content.RULES, **particulars.RULES}
    found = [
        TurnReading(turn=turn, says=view.turns[turn - 1][1], note=message, kind=kind)
        for name, kind in _BY_RULE.items()
        for message, turn in rules[name](parsed)
        if turn in view.asked
    ]
    return Reading(turns=found)


def _check_turns(view: ReadingView, reading: Reading) -> str | None:
    first, last = view.asked[0], view.asked[-1]
    invalid = [one.turn for one in reading.turns if not first <= one.turn <= last]
    return f"turn {invalid[0]}: the turns asked about are {first} to {last}" if invalid else None


reader = Role(
    "dialogue_reader",
    "reconstruction",
    "reconstruction/reader",
    Reading,
    objections_by_rule,
    check=_check_turns,
    whole=True,
)


@node(asks=reader)
async def read_dialogue(state: ReadingState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Compare the finished dialogue with its note, turn by turn, and record the objections.

    Turns for which the reader has no readable answer are objected to as unread: the dialogue is kept, but not accepted.
    """
    note, dialogue = state["note"], state["dialogue"]
    turns = [
        ("physician", one.content, all(said.endswith(("?", "？")) for said in sentences(one.content)))
        if one.role == PHYSICIAN
        else ("patient", one.content, False)
        for one in dialogue.spoken
    ]
    numbered = [number for number, (_, _, asks) in enumerate(turns, 1) if not asks]

    async def read(asked: list[int]) -> list[Objection]:
        view = ReadingView(note.text, turns, asked, dialogue, note.language)
        place = f"reading{asked[0]}"
        try:
            answer = await ask(reader, view, runtime.context, language=note.language, place=place)
        except AnswerError as error:
            return [Objection(turn=asked[0], kind="unread", reason=f"turns {asked[0]} to {asked[-1]}: {error}")]
        return [one for one in answer.objections if one.turn in asked]

    parts = [numbered[first : first + _AT_ONCE] for first in range(0, len(numbered), _AT_ONCE)]
    reading = [asyncio.create_task(read(part)) for part in parts]
    try:
        objections = [one for part in await asyncio.gather(*reading) for one in part]
    finally:  # once one part fails the case, the others would be paid for nothing
        for task in reading:
            task.cancel()
    return {"dialogue": dialogue.model_copy(update={"objections": objections})}
