"""The patient without states: the speaker sees the whole record (AIE, figure 3a; Med-PMC, section 4.5)."""

from typing import Any

from langgraph.runtime import Runtime

from nodes.context import Context
from nodes.node import node
from nodes.offline.own_words import said_of
from nodes.patients.saps.memory_bank import requirement_of, silence_for
from nodes.patients.saps.state_tracker import TrackerState, facts_on_record
from nodes.state.patient_side import HeardState, turn_number


def is_untracked(state: HeardState, context: Context) -> bool:
    """Whether the tracker is off for this turn; the greeting is recognised without it."""
    after_greeting = turn_number(state.get("dialogue", [])) > 1 or state.get("opened", False)
    return after_greeting and not context.tracker


@node
async def hold_record(state: TrackerState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Release the whole record for the turn, with no requirement but to keep to it."""
    language, everything = state["presentation"].language, facts_on_record(state)
    return {
        "action": None,
        "released": [fact.text for fact in everything],
        "own_words": said_of(everything, state["patient_record"], language),
        "silence": await silence_for(state["dialogue"][-1].text, everything, language, runtime.context),
        "requirement": requirement_of(None, runtime.context.prompt_language(language)),
    }
