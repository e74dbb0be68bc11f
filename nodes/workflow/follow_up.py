"""The follow-up: closes the chart with a record of the whole course, which the memory may keep. Makes no model call."""

from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict
from cases.vocabulary import AUXILIARY_ITEMS, DEPARTMENTS, PHYSICAL_ITEMS, TREATMENT_ITEMS
from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Findings, Turn, said_by
from nodes.state.decisions import StageRecord, Treatment
from nodes.strategies.registry import check_built_for
from nodes.workflow.admission import HISTORIES
from nodes.workflow.case_retrieval import add_to_memory
from retrieval import RememberedCase


class FollowUp(Strict):
    """The record of the whole course, in a form that can be remembered (MedChain, B.1)."""

    course: RememberedCase = Field(description="The twelve features, as the workflow found or decided them.")
    dialogue: list[Turn]
    urgency: str
    diagnosis_basis: str
    treatment_plan: str
    ended: dict[str, str] = Field(description="How each stage ended, by stage.")


class ClosingState(Findings, total=False):
    """The findings of the whole course, with the record of decisions."""

    treatment: Treatment
    decisions: list[StageRecord]


@node
async def follow_up(state: ClosingState, runtime: Runtime[Context], strategy: str = "group") -> dict[str, Any]:
    """Compile the follow-up record; if the memory grows, remember the course as an unverified pseudo-case."""
    check_built_for(strategy, state.get("built_for", strategy))
    context = runtime.context
    presentation, referral = state["presentation"], state["referral"]
    results = state.get("results", {})
    history = said_by("patient", state.get("dialogue", [])) or [
        getattr(presentation, section) for section in sorted(HISTORIES) if getattr(presentation, section)
    ]
    course = RememberedCase(
        id=state["case_id"],
        parent_id=state["kin"].parent_of(state["case_id"]) if "kin" in state else None,
        language=presentation.language,
        verified=False,
        order=context.position,
        age_years=presentation.age_years,
        sex=presentation.sex,
        chief_complaint=presentation.chief_complaint,
        symptoms=state.get("symptoms", presentation.chief_complaint),
        history=" ".join(history),
        physical_examination={item: text for item, text in results.items() if item in PHYSICAL_ITEMS.names},
        auxiliary_examination={item: text for item, text in results.items() if item in AUXILIARY_ITEMS.names},
        imaging_report=state.get("reports", {}),
        diagnosis=state["diagnosis"].names,
        treatment_items=[item for item in state["treatment"].items if item in TREATMENT_ITEMS.names],
        department=referral.department if referral.department in DEPARTMENTS.names else None,
        sub_departments=referral.sub_departments,
    )
    if context.grow != "off":
        await add_to_memory(course, context)
    record = FollowUp(
        course=course,
        dialogue=state.get("dialogue", []),
        urgency=referral.urgency,
        diagnosis_basis=state["diagnosis"].basis,
        treatment_plan=state["treatment"].plan,
        ended={record.stage: record.ended for record in state.get("decisions", [])},
    )
    return {"follow_up": record}
