"""Knowledge preparation: what the interview needs beyond the note (CliniChat, section 3.2 and Figure 5)."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import AfterValidator, Field, ValidationInfo

from cases.notes import Note
from cases.strict import Strict
from cases.text.prose import phrase
from cases.text.words import count_words
from cases.vocabulary import GivenClinichatDepartment, GivenDepartment, patterns
from llm import Role, ask
from nodes.context import Context
from nodes.node import node
from nodes.reconstruction.role_setting import NoteState
from prompts import mark

_BRIEF = 100  # words, or Chinese characters (Figure 5)
_LONGEST_NAME = 90  # characters of a disease's name; longer text is prose
_PATTERNS = patterns("nodes.reconstruction", "patterns")
_REASONS = 3


def _check_length(text: str, info: ValidationInfo) -> str:
    """Reject a text of more than ``_BRIEF`` words once; the second answer is kept as it is."""
    if (info.context or {}).get("closed") and (count := count_words(text)) > _BRIEF:
        raise ValueError(f"has {count} words; use fewer than {_BRIEF}")
    return text


Brief = Annotated[str, AfterValidator(_check_length)]


class DiagnosticKnowledge(Strict):
    """What the physician comes to think, and why."""

    most_likely_disease: str = Field(description="One disease; empty only if the note does not let one infer it.")
    diagnosis_basis: Brief = Field(description="What in the note supports it, in under 100 words.")
    basic_information: Brief = Field(
        description="What the disease is, in plain words; say if it is urgent; under 100 words."
    )
    differential_diagnosis: list[str] = Field(description="Other diseases to be considered for this patient.")
    department: GivenClinichatDepartment | None = Field(description="The department that would see this patient first.")
    confirmation_tests: list[str] = Field(description="Laboratory, imaging or special tests that would confirm it.")


class Sign(Strict):
    """A sign or symptom of the disease."""

    name: str
    description: str = Field(description="How it typically is: character, place, course.")


class RiskFactors(Strict):
    """What makes the disease more likely, whether or not the note mentions it."""

    family_history: list[str]
    lifestyle: list[str] = Field(description="Smoking, alcohol, diet, exercise.")
    living_environment: list[str] = Field(description="Housing, hazards at work, chemicals, social environment.")
    exposure: list[str] = Field(description="Sexual risks, infectious contacts, allergens, travel.")
    mental_health: list[str] = Field(description="Mood, events in life, stress, mental disorders.")


class SystemCheck(Strict):
    """An organ system that deserves a question beside the complaint."""

    system: str
    symptoms: list[str]


class DiseaseKnowledge(Strict):
    """What is known of the most likely disease in general."""

    signs_and_symptoms: list[Sign]
    associated_conditions: list[str]
    risk_factors: RiskFactors
    customized_inquiry: list[str] = Field(
        description="Questions only as this patient's group calls for them: women's health, infants, children, "
        "infections, sexually transmitted or urinary diseases, the elderly; otherwise empty."
    )
    review_of_systems: list[SystemCheck]


class ClinicalKnowledge(Strict):
    """Both knowledge systems."""

    diagnostic: DiagnosticKnowledge
    disease: DiseaseKnowledge


class _MedChainDiagnosis(DiagnosticKnowledge):
    """What the physician comes to think, and why."""

    # Filed under MedChain's departments.

    department: GivenDepartment | None = Field(description="The department that would see this patient first.")


class MedChainKnowledge(ClinicalKnowledge):
    """Both knowledge systems."""

    diagnostic: _MedChainDiagnosis


@dataclass(frozen=True)
class KnowledgeView:
    """What the expert sees."""

    note: Note


def knowledge_of_the_note(view: KnowledgeView) -> ClinicalKnowledge:
    """Offline: return the note's own diagnosis; the knowledge of the disease in general is empty."""
    note = view.note
    sections = note.sections
    disease = note.diseases[0] if note.diseases else _assessed_disease(sections.get("assessment", ()))
    findings = [*sections.get("test_results", ()), *sections.get("physical_examination", ())]
    informative = [_PATTERNS["label"].sub("", line) for line in findings if not _PATTERNS["says_little"].search(line)]
    return ClinicalKnowledge(
        diagnostic=DiagnosticKnowledge(
            most_likely_disease=disease,
            diagnosis_basis=mark("space", note.language).join(informative[:_REASONS]) if disease else "",
            basic_information="",
            department=note.department,
            differential_diagnosis=_items(sections.get("differentials", ())) if disease else [],
            confirmation_tests=[item for item in _items(sections.get("plan", ())) if _PATTERNS["test"].search(item)],
        ),
        disease=DiseaseKnowledge(
            signs_and_symptoms=[],
            associated_conditions=[],
            risk_factors=RiskFactors(
                family_history=[], lifestyle=[], living_environment=[], exposure=[], mental_health=[]
            ),
            customized_inquiry=[],
            review_of_systems=[],
        ),
    )


_KNOWLEDGE = {"clinichat": ClinicalKnowledge, "medchain": MedChainKnowledge}
expert = Role("clinical_expert", "reconstruction", "reconstruction/knowledge", ClinicalKnowledge, knowledge_of_the_note)


@node(asks=expert)
async def prepare_knowledge(state: NoteState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Infer the knowledge from the note once, before the interview is written, so that its author need not."""
    note = state["note"]
    role: Role[Any] = expert.at(expert.stage, _KNOWLEDGE[runtime.context.departments])
    found = await ask(role, KnowledgeView(note), runtime.context, language=note.language)
    return {"knowledge": ClinicalKnowledge.model_validate(found.model_dump())}


def _assessed_disease(lines: tuple[str, ...]) -> str:
    """Return the first line of an assessment that is the name of a disease; empty if none."""
    for line in lines:
        name = phrase(re.sub(r"^\s*\d+[.)]\s*", "", line)).split(";")[0].split("；")[0].strip()
        if name and len(name) <= _LONGEST_NAME and not _PATTERNS["no_name"].search(name):
            return name
    return ""


def _items(lines: tuple[str, ...]) -> list[str]:
    parts = [part for line in lines for part in re.split(r"[;；]", re.sub(r"^\s*\d+[.)]\s*", "", line))]
    return [item for part in parts if (item := phrase(part.strip(" .。")))]
