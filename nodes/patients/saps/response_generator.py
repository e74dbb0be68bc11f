"""The response generator of SAPS: speaks for the patient from the released memory alone (AIE, section 4.2.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from cases.text.record_sentences import RecordSentence
from cases.vocabulary import Language
from llm import Role, Speech
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.offline.hearing import heard_tests
from nodes.offline.record_answers import Silence, facts_for, told_now
from nodes.patients.saps.state_tracker import EFFECTIVE, INEFFECTIVE, Action
from nodes.state.chart import EarlierTurns, Turn
from nodes.state.patient_side import HeardState
from prompts import load_words, mark


class GeneratorState(HeardState, total=False):
    """The generator's state, which has neither of the records."""

    action: Action | None
    released: list[str]
    own_words: list[tuple[str, str]]
    silence: Silence
    requirement: str


class SimulatedReply(Strict):
    """What the patient says."""

    text: str = Field(min_length=1)


@dataclass(frozen=True)
class ReleasedView:
    """What the generator sees: the action (None if untracked), its released facts and requirement, and the dialogue.

    Attributes:
        own_words: the section of each released sentence, and how the patient would say it.
        silence: what to say if nothing is released; a denial only if the record, which is not seen here, has nothing.
    """

    words: str
    dialogue: list[Turn]
    action: Action | None
    released: list[str]
    requirement: str
    own_words: list[tuple[str, str]]
    language: Language
    silence: Silence


def quote_what_is_released(view: ReleasedView) -> SimulatedReply:
    """Offline: say what is released and not yet said, in the patient's words, or else the phrase of the action.

    Without an action everything is released, so select what answers the doctor.
    """
    own_words: Sequence[tuple[str, str]] = view.own_words
    if view.action is None:
        facts = [
            RecordSentence(section, text) for (section, _), text in zip(view.own_words, view.released, strict=True)
        ]
        answering = facts_for(view.words, facts, view.language)
        own_words = [text for text, fact in zip(own_words, facts, strict=True) if fact in answering]
    own_words = [(section, said) for section, said in own_words if said]
    phrases = load_words("consultation/words", view.language)["patient"]
    if not own_words:
        # All that is released may be left unsaid: that nothing was recorded ("social history not provided").
        silent: dict[Action | None, Action] = {EFFECTIVE[kind]: INEFFECTIVE[kind] for kind in EFFECTIVE}
        action = silent.get(view.action, view.action) or "Ineffective Inquiry"
        text = load_words("saps/words", view.language)[action.lower().replace(" ", "_")]
        if action == "Ineffective Inquiry" and view.silence != "nothing":
            text = phrases[view.silence]
        if action == "Ineffective Advice" and not heard_tests(view.words):
            text = phrases["followed"]  # no result is missing
        return SimulatedReply(text=text)
    reply = told_now(view.words, own_words, view.dialogue, view.language)
    return SimulatedReply(text=mark("space", view.language).join(reply) or phrases["all_said"])


spoken = Speech.of_text(SimulatedReply, lambda view: view.words)
response_generator = Role(
    "response_generator", "saps", "saps/response_generator", SimulatedReply, quote_what_is_released, speech=spoken
)


@node(asks=response_generator)
async def respond(state: GeneratorState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Reply to the doctor's last turn."""
    dialogue = state["dialogue"]
    view = ReleasedView(
        words=dialogue[-1].text,
        dialogue=EarlierTurns(dialogue[:-1]),
        action=state["action"],
        released=state["released"],
        requirement=state["requirement"],
        own_words=state["own_words"],
        language=state["presentation"].language,
        silence=state["silence"],
    )
    reply = await ask_in_turn(response_generator, view, state, runtime.context)
    return {"dialogue": [*dialogue, Turn(speaker="patient", text=reply.text, facts=state["released"])]}
