"""Dialogue generation: one author follows the plan, section by section or all at once (CliniChat, Figure 4).

The gates check each section, and the author revises it up to ``section_revisions`` times. The direct role-play used as
a comparison (Figure 10) has neither plan nor knowledge.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field

from cases.notes import Note
from cases.strict import Strict
from cases.vocabulary import Language
from llm import Role, ask
from llm.errors import AnswerError
from llm.faults import in_words
from nodes.context import Context
from nodes.node import node
from nodes.reconstruction.exchanges import Exchange, FreeExchange, SectionDialogue, WholeDialogue, WrittenSection
from nodes.reconstruction.filing import assemble, inferred_by
from nodes.reconstruction.gates import check_dialogue
from nodes.reconstruction.knowledge import ClinicalKnowledge, KnowledgeView, knowledge_of_the_note
from nodes.reconstruction.plan import PlannedSection, PlanState
from nodes.reconstruction.role_setting import RoleSetting, roles_of
from nodes.reconstruction.script import script

Part = TypeVar("Part")
_OF_A_TURN = re.compile(r" in turn \d+$")
_SECTION_AT_ONCE = 6  # maximum sentences of an offline turn without a plan


class WritingState(PlanState, total=False):
    """The author's input and what is written so far."""

    plan: list[PlannedSection]
    sections: list[WrittenSection]
    section: int
    revisions: int
    objections: list[tuple[int, str]]


class DirectDialogue(Strict):
    """A dialogue without sections."""

    # The physician may ask as much at once as he likes: CliniChat's Figure 10 has no such rule.

    exchanges: list[FreeExchange] = Field(min_length=1)


@dataclass(frozen=True)
class WholeView:
    """What the author sees when writing the whole dialogue at once."""

    note: Note
    roles: RoleSetting
    knowledge: ClinicalKnowledge
    plan: list[PlannedSection]
    language: Language


@dataclass(frozen=True)
class SectionView(WholeView):
    """What the author sees when writing one section."""

    section: PlannedSection
    before: list[Exchange]
    draft: list[Exchange]
    objections: list[tuple[int, str]]  # number of the draft's exchange, and what is wrong with it


@dataclass(frozen=True)
class DirectView:
    """What the author of the direct role-play sees."""

    note: Note
    language: Language


def section_of_the_script(view: SectionView) -> SectionDialogue:
    """Offline: return the section's exchanges, made from the note."""
    written = _script(view)
    return SectionDialogue(
        exchanges=[e for part in written if part.section == view.section.name for e in part.exchanges]
    )


def whole_script(view: WholeView) -> WholeDialogue:
    """Offline: return all sections, made from the note; AnswerError if there are none."""
    return WholeDialogue(sections=_nonempty(_script(view)))


def what_the_note_tells(view: DirectView) -> DirectDialogue:
    """Offline: return the exchanges of the short script; AnswerError if there are none."""
    return DirectDialogue(exchanges=[*_nonempty(short_script(view.note, _SECTION_AT_ONCE))])


def short_script(note: Note, at_once: int = 3) -> list[Exchange]:
    """Return the offline interview in fewer and longer turns of at most ``at_once`` sentences."""
    disease = knowledge_of_the_note(KnowledgeView(note)).diagnostic.most_likely_disease
    return [exchange for part in script(note, roles_of(note), disease, at_once) for exchange in part.exchanges]


def _nonempty(parts: list[Part]) -> list[Part]:
    if not parts:
        raise AnswerError("the note says nothing about a patient")
    return parts


def _script(view: WholeView) -> list[WrittenSection]:
    return script(view.note, view.roles, view.knowledge.diagnostic.most_likely_disease)


_NOTHING_SAID = "sections: no section has an exchange; write the interview"
section_author = Role(
    "dialogue_writer", "reconstruction", "reconstruction/section", SectionDialogue, section_of_the_script
)
whole_author = Role(
    "dialogue_writer",
    "reconstruction",
    "reconstruction/whole",
    WholeDialogue,
    whole_script,
    check=lambda view, whole: None if any(part.exchanges for part in whole.sections) else _NOTHING_SAID,
)
direct_author = Role("dialogue_writer", "reconstruction", "reconstruction/direct", DirectDialogue, what_the_note_tells)


@node(asks=section_author)
async def write_section(state: WritingState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Write the next section of the plan, or rewrite the last if gates object to it or it could not be parsed."""
    context, note, plan = runtime.context, state["note"], state["plan"]
    section, revisions, written = plan[state["section"]], state["revisions"], list(state["sections"])
    draft = written.pop().exchanges if state["objections"] else []
    view = SectionView(
        note=note,
        roles=state["roles"],
        knowledge=state["knowledge"],
        plan=plan,
        section=section,
        before=[exchange for part in written for exchange in part.exchanges],
        draft=draft,
        objections=state["objections"],
        language=context.prompt_language(note.language),
    )
    place = f"{section.name}/revision{revisions}" if revisions else section.name
    try:
        answer = await ask(section_author, view, context, language=note.language, place=place)
    except AnswerError:
        if revisions == context.section_revisions:
            raise
        return {"sections": written, "revisions": revisions + 1, "objections": []}
    written.append(WrittenSection(section=section.name, exchanges=answer.exchanges))
    by_rule = context.is_by_rule(section_author)  # would repeat itself
    objections = [] if by_rule else await asyncio.to_thread(_objections, state, written, view.language)
    if objections and revisions < context.section_revisions:
        return {"sections": written, "revisions": revisions + 1, "objections": objections}
    return {"sections": written, "section": state["section"] + 1, "revisions": 0, "objections": []}


@node(asks=whole_author)
async def write_whole(state: WritingState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Write the whole dialogue in one answer, as in the paper."""
    context, note = runtime.context, state["note"]
    language = context.prompt_language(note.language)
    view = WholeView(note, state["roles"], state["knowledge"], state["plan"], language)
    answer = await ask(whole_author, view, context, language=note.language, place="whole")
    return {"sections": answer.sections}


@node(asks=direct_author)
async def write_directly(state: WritingState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Write the whole dialogue from the note alone, as in the comparison of Figure 10."""
    context, note = runtime.context, state["note"]
    view = DirectView(note, context.prompt_language(note.language))
    answer = await ask(direct_author, view, context, language=note.language, place="direct")
    return {"exchanges": answer.exchanges}


def _objections(state: WritingState, written: list[WrittenSection], language: Language) -> list[tuple[int, str]]:
    """Return the gates' objections to the exchanges of the last section. Slow: some gates compute embeddings."""
    dialogue = assemble(state["note"], state["roles"], written, inferred_by(state["knowledge"]), language)
    earlier = 1 + 2 * sum(len(part.exchanges) for part in written[:-1])
    found = {  # the writer sees numbers of exchanges, not of turns
        ((problem.turn - earlier + 1) // 2, in_words(_OF_A_TURN.sub("", problem.message), language))
        for problem in check_dialogue(dialogue)
        if problem.turn is not None and problem.turn > earlier and problem.gate != "roles_alternate"
    }
    return sorted(one for one in found if one[0] <= len(written[-1].exchanges))
