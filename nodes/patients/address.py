"""The user plays the doctor: puts the user's words into the dialogue. Makes no model call."""

from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases.validation import InputError
from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Turn


class AddressState(TypedDict, total=False):
    """What is said, and what was said before."""

    words: Annotated[str, Field(description="The doctor's words to the patient; a thread keeps the dialogue.")]
    dialogue: list[Turn]


LONGEST_WORDS = 10_000  # the whole record is searched for every question in a turn


@node
async def address(state: AddressState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Append the words to the dialogue as the doctor's turn.

    Raises:
        InputError: there are no words, or more than `LONGEST_WORDS` characters.
    """
    words = state.get("words", "").strip()
    if not words:
        raise InputError("the input needs `words`: what the doctor says to the patient")
    if len(words) > LONGEST_WORDS:
        raise InputError(f"words: {len(words):,} characters are too many at a time; send at most {LONGEST_WORDS:,}")
    turn = Turn(speaker="doctor", text=words)
    # Said once: an input without words would say them again, as a thread keeps them.
    return {"words": "", "dialogue": [*state.get("dialogue", []), turn], "dialogue_ended": "", "opened": True}
