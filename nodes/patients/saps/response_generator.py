"""The response generator of SAPS: speaks for the patient, from the released memory alone (AIE, section 4.2.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from cases.vocabulary import Language
from llm import Role, ask
from nodes.context import Context
from nodes.node import node
from nodes.patients.saps.state_tracker import Action
from nodes.state.chart import Presentation, Turn
from nodes.state.patient_side import turn_number


class GeneratorState(TypedDict, total=False):
    """The generator's view of the state: neither of the records is in it."""

    presentation: Presentation
    dialogue: list[Turn]
    action: Action
    released: list[str]
    requirement: str


class SimulatedReply(BaseModel):
    """What the patient says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(min_length=1)


@dataclass(frozen=True)
class ReleasedView:
    """What the generator sees: the action, the memory it opened, what it requires, and the dialogue."""

    words: str
    dialogue: list[Turn]
    action: Action
    released: list[str]
    requirement: str
    language: Language


_PHRASES: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "Ineffective Inquiry": "No, I do not know of anything like that.",
        "Ambiguous Inquiry": "Could you be more specific? What exactly would you like to know?",
        "Ineffective Advice": "I have not got a result for that, but I will follow your advice.",
        "Ambiguous Advice": "Could you be more specific? Which examination or treatment exactly do you mean?",
        "Demand": "I am sorry, we are talking online; that cannot be done here.",
        "Other Topic": "Sorry, my concern is my illness. May we get back to that?",
    },
    "zh": {
        "Ineffective Inquiry": "没有，这个我不清楚。",
        "Ambiguous Inquiry": "您能问得更具体一点吗？想知道哪一方面？",
        "Ineffective Advice": "这个还没有结果，我会听从您的建议去做。",
        "Ambiguous Advice": "您能说得更具体一点吗？要做哪一项检查或治疗？",
        "Demand": "抱歉，我们是线上交流，没有办法在这里做。",
        "Other Topic": "抱歉，我更担心我的病，我们回到看病上来好吗？",
    },
}


def quote_what_is_released(view: ReleasedView) -> SimulatedReply:
    """Offline: the released sentences as they stand, or the phrase that the action requires."""
    joint = " " if view.language == "en" else ""
    return SimulatedReply(text=joint.join(view.released) or _PHRASES[view.language][view.action])


response_generator = Role(
    "response_generator", "saps", "saps/response_generator", SimulatedReply, offline=quote_what_is_released
)


@node
async def respond(state: GeneratorState, runtime: Runtime[Context]) -> dict[str, Any]:
    """The patient's reply to the doctor's last turn."""
    dialogue, language = state["dialogue"], state["presentation"].language
    reply = await ask(
        response_generator,
        ReleasedView(
            words=dialogue[-1].text,
            dialogue=dialogue[:-1],
            action=state["action"],
            released=state["released"],
            requirement=state["requirement"],
            language=language,
        ),
        runtime.context,
        language=language,
        place=f"turn{turn_number(dialogue)}",
    )
    return {"dialogue": [*dialogue, Turn(speaker="patient", text=reply.text, facts=state["released"])]}
