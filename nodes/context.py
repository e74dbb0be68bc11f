"""How to run the clinical workflow: the context of its graphs, drawn as a form by Studio."""

from typing import Literal

from langgraph.runtime import Runtime
from pydantic import Field, model_validator

from models import ModelSettings


class Context(ModelSettings):
    """Models by role, and the switches of the workflow (MedChain, section 4 and the ablations of section 5.4)."""

    general_agents: int = Field(3, ge=1, le=9, description="Doctors who discuss; 1 is a single agent.")
    discussion_rounds: int = Field(2, ge=1, le=5, description="How often they speak: alone, then seeing each other.")
    feedback: Literal["downstream", "same_stage", "off"] = Field(
        "downstream", description="Who judges a decision: physicians of all later stages, one of its own, nobody."
    )
    max_feedback_rounds: int = Field(4, ge=0, le=20, description="Revisions at most after objections.")
    interactive: bool = Field(True, description="Ask the patient; if off, the patient's record is read instead.")
    max_turns: int = Field(10, ge=1, le=50, description="Questions at most in the dialogue with the patient.")
    orders: Literal["group", "dialogue"] = Field(
        "group", description="Examinations as the group orders them, or as extracted from the dialogue."
    )
    sequential: bool = Field(
        True, description="Stages build on each other; if off, each gets the reference of earlier ones."
    )
    personalized: bool = Field(True, description="Age, sex, occupation and histories are known.")
    max_backtracks: int = Field(0, ge=0, le=5, description="How often a later stage may ask for a missing examination.")
    send_pictures: bool = Field(True, description="Pictures go to the models; if off, their written findings do.")
    sub_departments: dict[str, list[str]] | None = Field(
        None, description="Second-level departments to choose from, by department; our own list if not set."
    )
    retrieval: bool = Field(True, description="Recall similar cases (MedCase-RAG).")
    neighbours: int = Field(3, ge=1, le=10, description="How many.")
    memory: str = Field("builtin", description="`builtin`, the directory of a built memory, or a Chroma server's URL.")
    embedding: str = Field("all-MiniLM-L6-v2", description="Sentence-transformers model, by name or path.")
    grow: Literal["off", "in_order", "as_finished"] = Field(
        "off", description="Remember finished cases as pseudo-cases: not, in the order of the run, or as they finish."
    )
    run: str = Field("", description="Name of the run; a run sees its own pseudo-cases only.")
    position: int | None = Field(None, ge=0, description="The case's place in its run; `in_order` sees earlier ones.")
    case_source: str = Field("builtin", description="Where `case_id` is looked up: `builtin` or a case file.")

    @model_validator(mode="after")
    def _fits_together(self) -> "Context":
        if self.orders == "dialogue" and not self.interactive:
            raise ValueError(
                "orders = 'dialogue' needs interactive = true: without a dialogue there is nothing to extract"
            )
        return self


def context_of(runtime: Runtime[Context]) -> Context:
    """The run's context; the defaults where a graph was invoked without one."""
    return runtime.context or Context()
