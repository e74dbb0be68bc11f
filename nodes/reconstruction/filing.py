"""The record clerk: takes the note in, and files the written dialogue as chat messages. No model calls."""

from collections.abc import Sequence
from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases import Case
from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.notes import Note, note_of
from cases.vocabulary import Language
from nodes.context import Context
from nodes.node import node
from nodes.reconstruction.exchanges import FreeExchange, WrittenSection
from nodes.reconstruction.knowledge import ClinicalKnowledge
from nodes.reconstruction.plan import PlanState, farewell_words, opening_words
from nodes.reconstruction.role_setting import RoleSetting
from nodes.workflow.case_lookup import case_given


class NoteInput(TypedDict, total=False):
    """What a reconstruction starts from: a note, or a case (or its id) whose note is written first."""

    case_id: Annotated[str, Field(description="Id of a case in `case_source`, such as `surgery-03`.")]
    case: Annotated[Case, Field(description="A whole case, instead of an id.")]
    note: Annotated[Note, Field(description="A clinical note, instead of a case.")]


class FilingState(PlanState, total=False):
    """What either way of writing has produced."""

    sections: list[WrittenSection]
    exchanges: list[FreeExchange]
    spoken: str  # in a role-play, the physician's last words
    diseases: list[str]  # from the answer key; hidden from the writers


@node
async def take_note(state: NoteInput, runtime: Runtime[Context]) -> dict[str, Any]:
    """Take the given note, or write that of the case.

    Content from the answer key is kept for the file, and hidden from the writers unless ``answer_key`` is ``told``.
    """
    given: Any = state.get("note")
    if given is None:
        given = note_of(await case_given(state, runtime.context.case_source))
    note = given if isinstance(given, Note) else Note.model_validate(given)
    start = {"sections": [], "exchanges": [], "section": 0, "revisions": 0, "objections": []}
    return {"note": note.shown(runtime.context.answer_key == "told"), "diseases": note.diseases, **start}


@node
async def file_dialogue(state: FilingState, runtime: Runtime[Context]) -> dict[str, Any]:
    """File the finished dialogue."""
    context, note, knowledge = runtime.context, state["note"], state.get("knowledge")
    language, inferred = context.prompt_language(note.language), inferred_by(knowledge)
    sections, exchanges, spoken = state.get("sections", []), state.get("exchanges", []), state.get("spoken", "")
    dialogue = assemble(note, state["roles"], sections or [(None, exchanges)], inferred, language, last_words=spoken)
    at_once = context.whole_dialogue and context.reconstruction == "clini_recon"
    found = {
        "diseases": state.get("diseases") or note.diseases,
        "strategy": f"{context.reconstruction}{'_whole' if at_once else ''}",
        "department": note.department or (knowledge.diagnostic.department if knowledge else None),
    }
    return {"dialogue": dialogue.model_copy(update=found)}


def inferred_by(knowledge: ClinicalKnowledge | None) -> str:
    """Return the disease that the physician infers; empty if none."""
    return knowledge.diagnostic.most_likely_disease.strip() if knowledge else ""


def assemble(
    note: Note,
    roles: RoleSetting,
    parts: Sequence[WrittenSection | tuple[None, Sequence[FreeExchange]]],
    inferred: str,
    language: Language,
    last_words: str = "",
) -> Dialogue:
    """Convert exchanges to chat messages, from the patient's greeting to the physician's farewell.

    ``last_words`` replaces the farewell of the plan.
    """
    messages = [Message(role=PATIENT, content=opening_words(roles, language))]
    starts: dict[str, int] = {}
    for part in parts:
        section, exchanges = (part.section, part.exchanges) if isinstance(part, WrittenSection) else part
        if section and exchanges:
            starts.setdefault(section, len(messages))
        for exchange in exchanges:
            messages.append(Message(role=PHYSICIAN, content=exchange.physician))
            messages.append(Message(role=PATIENT, content=exchange.patient))
    messages.append(Message(role=PHYSICIAN, content=last_words or farewell_words(language)))
    return Dialogue(
        id=note.id,
        messages=messages,
        note=note.text,
        language=language,
        department=note.department,
        diseases=note.diseases,
        source=note.source,
        inferred=inferred,
        sections=starts,
    )
