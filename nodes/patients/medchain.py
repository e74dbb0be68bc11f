"""The patient: answers from the patient record, which is all the patient knows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.case import PatientRecord
from cases.strict import Strict
from cases.text.sentences import sentences
from cases.vocabulary import AUXILIARY_ITEMS, PHYSICAL_ITEMS, Language
from llm import Role, Speech
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Told, Turn
from nodes.state.patient_side import HeardState
from prompts import load_words, mark


class PatientState(HeardState, total=False):
    """The patient's view of the state: the own record and what has been said."""

    patient_record: PatientRecord
    told_results: dict[str, str]


class PatientReply(Strict):
    """What the patient says."""

    text: str = Field(min_length=1)


@dataclass(frozen=True)
class PatientView:
    """What the patient knows when asked."""

    record: PatientRecord
    dialogue: list[Turn]
    question: str
    language: Language
    results: Mapping[str, str] = field(default_factory=dict)


# Which section of the record a question is about, most specific first.
TOPICS: tuple[tuple[str, str], ...] = (
    ("family_history", r"famil|relative|parents?\b|run in|家里|家族|家人|父母|遗传"),
    (
        "past_history",
        r"before|earlier|past|previous|illnesses|operation|surger|medicin|medication|drugs?\b|allerg|以前|既往|手术|用药|吃药|什么药|过敏",
    ),
    (
        "personal_history",
        r"habit|smok|alcohol|drink|work\b|occupation|\bjob|live\b|living|travel|period|menstru|pregnan|习惯|抽烟|吸烟|喝酒|饮酒|工作|职业|居住|月经|怀孕|旅",
    ),
)


def quote_the_record(view: PatientView) -> PatientReply:
    """Offline: the sentences of the record that answer the question, as far as they have not been said yet."""
    words = load_words("medchain/words", view.language)["patient"]
    examined = [*PHYSICAL_ITEMS.mentioned_in(view.question), *AUXILIARY_ITEMS.mentioned_in(view.question)]
    if found := [view.results[item] for item in examined if item in view.results]:
        return PatientReply(text=mark("space", view.language).join(found))
    asked = (section for section, pattern in TOPICS if re.search(pattern, view.question, re.IGNORECASE))
    section = next(asked, "present_illness")
    recorded = sentences(getattr(view.record, section))
    if not recorded:
        return PatientReply(text=words["nothing"])
    said = {sentence for turn in view.dialogue if turn.speaker == "patient" for sentence in sentences(turn.text)}
    fresh = [sentence for sentence in recorded if sentence not in said]
    if section == "present_illness":
        fresh = fresh[:3]  # a long story is told bit by bit
    spaced = (f"{sentence} " if sentence[-1].isascii() else sentence for sentence in fresh)
    return PatientReply(text="".join(spaced).strip() or words["all_said"])


patient = Role(
    "patient",
    "history_taking",
    "medchain/patient",
    PatientReply,
    offline=quote_the_record,
    speech=Speech.of_text(PatientReply, lambda view: view.question),
)


@node
async def answer(state: PatientState, runtime: Runtime[Context]) -> dict[str, Any]:
    """The patient's reply to the doctor's last turn."""
    dialogue = state["dialogue"]
    language = state["presentation"].language
    reply = await ask_in_turn(
        patient,
        PatientView(
            record=state["patient_record"],
            dialogue=Told(dialogue[:-1]),
            question=dialogue[-1].text,
            language=language,
            results=state.get("told_results", {}),
        ),
        state,
        runtime.context,
    )
    return {"dialogue": [*dialogue, Turn(speaker="patient", text=reply.text)]}
