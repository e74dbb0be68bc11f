"""Somebody at a keyboard says the doctor's words to a patient. Asks nobody."""

from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Turn


class AddressState(TypedDict, total=False):
    """What is said, and what was said before."""

    words: Annotated[str, Field(description="What the doctor says, in plain words; a thread keeps the dialogue.")]
    dialogue: list[Turn]


LONGEST_WORDS = 10_000  # every question of a turn is asked of the whole record


@node
async def address(state: AddressState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Put the words into the dialogue, as a turn of the doctor's.

    Raises:
        ValueError: nothing is said, or far more than a person says at a time.
    """
    words = state.get("words", "").strip()
    if not words:
        raise ValueError("the input needs `words`: what the doctor says to the patient")
    if len(words) > LONGEST_WORDS:
        raise ValueError(
            f"words: {len(words):,} characters are more than a doctor says at a time; say at most {LONGEST_WORDS:,}"
        )
    said = Turn(speaker="doctor", text=words)
    return {"dialogue": [*state.get("dialogue", []), said], "dialogue_ended": "", "opened": True}
