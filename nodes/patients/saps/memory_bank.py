"""The memory bank of SAPS: releases only the facts that the doctor's action allows (AIE, section 4.2.3).

Long-term memory is the patient record and the examination record, sentence by sentence; working memory is the
requirement of each action; short-term memory is the dialogue.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from cases.text.record_sentences import RecordSentence
from cases.vocabulary import Language
from llm import ModelSettings, Role
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import file_found, node
from nodes.offline.doctor_actions import Kind
from nodes.offline.orders import open_results
from nodes.offline.own_words import said_of
from nodes.offline.record_answers import Silence, denial
from nodes.offline.relevance import released_for
from nodes.patients.saps.response_generator import response_generator
from nodes.patients.saps.state_tracker import EFFECTIVE, INEFFECTIVE, Action, TrackerState, facts_on_record
from nodes.state.patient_side import turn_number
from prompts import load_prompt

_TREATMENT_SECTIONS = ("present_illness", "past_history")  # where the record tells of treatments so far


class Release(Strict):
    """Which sentences of the long-term memory answer the doctor."""

    numbers: list[int] = Field(description="Their numbers in the list; empty if none answers.")


@dataclass(frozen=True)
class LongTermView:
    """What the memory bank sees: the doctor's words, and the facts that the action may release."""

    words: str
    kind: Kind
    facts: list[RecordSentence]
    language: Language


def release_by_rule(view: LongTermView) -> Release:
    """Offline: release the sentences that answer the doctor's words."""
    found = set(released_for(view.facts, view.words, view.kind, view.language))
    return Release(numbers=[number for number, fact in enumerate(view.facts, start=1) if fact in found])


memory_bank = Role("memory_bank", "saps", "saps/memory_bank", Release, offline=release_by_rule)


def open_to(action: Action, facts: Sequence[RecordSentence]) -> list[RecordSentence]:
    """Return the facts that an action may release; for most actions none."""
    if action == "Initialization":
        return [fact for fact in facts if fact.section == "chief_complaint"]
    if action not in EFFECTIVE.values():
        return []
    is_advice = action == "Effective Advice"
    return [fact for fact in facts if fact.is_result or not is_advice or fact.section in _TREATMENT_SECTIONS]


async def silence_for(
    words: str, facts: Sequence[RecordSentence], language: Language, settings: ModelSettings
) -> Silence:
    """Return what an offline generator may say if nothing is released; ``untold`` if a model speaks.

    It is decided here, because the generator does not see the record, and in a thread, because it computes embeddings.
    """
    if not settings.is_by_rule(response_generator):
        return "untold"
    return await asyncio.to_thread(denial, words, language, facts)


def requirement_of(action: Action | None, language: Language) -> str:
    """Return what an action requires of the reply; without one (None), only to keep to the record."""
    return load_prompt("saps/requirements", language).render({"action": action or ""})[1]


@node(asks=memory_bank)
async def release(state: TrackerState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Release the facts that the action allows, and file them with the action in the trace.

    An effective action for which no fact is chosen becomes ineffective; whether the patient may deny it is decided
    here, where the record is known. A result that the model chooses although no rule finds it named is released and
    filed as unnamed, or never released with ``result_gate = "strict"``.
    """
    context, dialogue = runtime.context, state["dialogue"]
    language, action = state["presentation"].language, state["action"]
    everything = facts_on_record(state)
    facts = open_to(action, everything)
    named_results = open_results(facts, dialogue[-1].text, language)
    if context.result_gate == "strict":
        facts = [fact for fact in facts if not fact.is_result or fact in named_results]
    if action in EFFECTIVE.values():
        facts = await _chosen(facts, state, context)
        action = action if facts else INEFFECTIVE[state["kind"]]
    released, is_denied = [fact.text for fact in facts], action == INEFFECTIVE["inquiry"]
    requirement = requirement_of(action, context.prompt_language(language))
    content = {
        "action": action,
        "released": released,
        "unnamed": [fact.text for fact in facts if fact.is_result and fact not in named_results],
        "requirement": requirement,
    }
    place = ("released_memory", f"turn{turn_number(dialogue)}")
    update: dict[str, Any] = {
        "dialogue": [*dialogue[:-1], dialogue[-1].model_copy(update={"action": action})],
        "action": action,
        "released": released,
        "own_words": said_of(facts, state["patient_record"], language),
        "silence": await silence_for(dialogue[-1].text, everything, language, context) if is_denied else "untold",
        "requirement": requirement,
        "trace": file_found(context, "released_memory", "saps", place, content),
    }
    return {**update, "dialogue_ended": "concluded"} if action == "Conclusion" else update


@node
async def hold_record(state: TrackerState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Without the tracker, release the whole record for the turn, with no requirement but to keep to it.

    So the speaker sees all of it (AIE, figure 3a; Med-PMC, section 4.5).
    """
    language, everything = state["presentation"].language, facts_on_record(state)
    return {
        "action": None,
        "released": [fact.text for fact in everything],
        "own_words": said_of(everything, state["patient_record"], language),
        "silence": await silence_for(state["dialogue"][-1].text, everything, language, runtime.context),
        "requirement": requirement_of(None, runtime.context.prompt_language(language)),
    }


async def _chosen(facts: Sequence[RecordSentence], state: TrackerState, context: Context) -> list[RecordSentence]:
    """Return the facts that answer the doctor, in their order; of the histories, no more than ``history_sentences``."""
    words, language = state["dialogue"][-1].text, state["presentation"].language
    view = LongTermView(words=words, kind=state["kind"], facts=[*facts], language=language)
    answer = await ask_in_turn(memory_bank, view, state, context)
    chosen = [facts[number - 1] for number in dict.fromkeys(answer.numbers) if 1 <= number <= len(facts)]
    history = [fact for fact in chosen if not fact.is_result][: context.history_sentences or None]
    return [fact for fact in facts if fact in history or (fact.is_result and fact in chosen)]
