"""The senior physician: derives from a clinical note what an ideal interview would gather (CliniChat, figure 7)."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases.dialogues import PHYSICIAN, Dialogue
from cases.strict import Strict
from llm import Role, ask
from nodes.node import node
from scoring.clini_eval.points import LEAVES, MAINS
from scoring.clini_eval.rules import findings_of

Section = Literal[
    "general_information",
    "chief_complaint",
    "present_illness",
    "past_history",
    "personal_history",
    "social_history",
    "family_history",
    "psychological_history",
    "review_of_systems",
    "customized_inquiry",
]


class CliniEvalInput(TypedDict, total=False):
    """What is judged."""

    dialogue: Annotated[Dialogue, Field(description="A dialogue with its clinical note.")]


class PlannedPoint(Strict):
    """One thing that the history taking should find out."""

    section: Section
    ask: str = Field(description="What is to be asked.")
    known: str = Field(default="", description="What the note says about it; empty if nothing.")


class Demonstration(Strict):
    """The interview as it should be: what it comes to, and what it asks."""

    most_likely_disease: str
    basis: str = Field(description="What the diagnosis rests on; at most 100 words.")
    differential: list[str] = Field(description="Other diseases to be considered.")
    confirmatory_tests: list[str] = Field(description="The tests that would confirm the diagnosis.")
    findings: list[str] = Field(description="The physical findings and test results in the note.")
    plan: list[PlannedPoint] = Field(description="The history to be taken, in order, fitted to this patient.")


class NothingToScoreError(ValueError):
    """A dialogue has no clinical note, or no physician speaks in it."""


@dataclass(frozen=True)
class NoteView:
    """What the senior physician sees: the note, and the diagnosis if known."""

    dialogue: Dialogue
    note: str
    diagnosis: list[str]


def read_the_note(view: NoteView) -> Demonstration:
    """Offline: the known diagnosis, the note's findings, and a point for each subject that rules can detect."""
    language = view.dialogue.language
    return Demonstration(
        most_likely_disease="; ".join(view.diagnosis),
        basis="",
        differential=[],
        confirmatory_tests=[],
        findings=findings_of(view.note, language),
        plan=[
            PlannedPoint(section=_section(leaf.key, leaf.group), ask=leaf.criterion(language))
            for leaf in MAINS["Medical History"]
            if LEAVES[leaf.key].asked
        ],
    )


def _section(key: str, group: str) -> Section:
    if group:
        return "present_illness" if group == "History of Present Illness" else "past_history"
    return next((section for section in get_args(Section) if section == key), "review_of_systems")


senior_physician = Role(
    "senior_physician", "clini_eval", "clini_eval/demonstration", Demonstration, offline=read_the_note, whole=True
)


@node(asks=senior_physician)
async def demonstrate(state: CliniEvalInput, runtime: Runtime[Any]) -> dict[str, Any]:
    """Ask the senior physician what an ideal interview on the note gathers and concludes.

    The diseases named with the dialogue are given as the diagnosis; without them the physician infers it from the note,
    as in the paper.

    Raises:
        NothingToScoreError: there is no note, or no physician.
        AskError: no valid answer.
    """
    if "dialogue" not in state:
        raise NothingToScoreError("the input needs `dialogue`, with its note")
    dialogue = Dialogue.model_validate(state["dialogue"])  # from Studio it is JSON
    if problem := why_not(dialogue):
        raise NothingToScoreError(f"dialogue {dialogue.id}: {problem}")
    view = NoteView(dialogue=dialogue, note=dialogue.note, diagnosis=dialogue.diseases)
    demonstration = await ask(senior_physician, view, runtime.context, language=dialogue.language, place=dialogue.id)
    return {"dialogue": dialogue, "demonstration": demonstration}


def why_not(dialogue: Dialogue) -> str:
    """Return what a dialogue lacks to be scored; empty if nothing."""
    if not dialogue.note.strip():
        return "has no clinical note, with which Clini-Eval compares"
    if not any(message.role == PHYSICIAN and message.content.strip() for message in dialogue.messages):
        return "has no turn of the physician (role 'assistant')"
    return ""
