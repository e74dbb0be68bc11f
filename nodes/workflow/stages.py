"""The seven decisions of the workflow as data: what is decided, who judges it, what it adds to the findings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from cases.vocabulary import AUXILIARY_ITEMS, DEPARTMENTS, PHYSICAL_ITEMS, SECOND_LEVEL, TREATMENT_ITEMS
from nodes.state.chart import Chart, Findings, Progress, merge_reports
from nodes.state.decisions import (
    AuxiliaryOrders,
    Decision,
    Diagnosis,
    PhysicalOrders,
    Referral,
    Report,
    SubDepartments,
    Treatment,
    Triage,
)
from retrieval import RememberedCase


class TriageOutput(Progress, total=False):
    """What referral, level 1, adds."""

    triage: Triage


class ReferralOutput(Progress, total=False):
    """What referral, level 2, adds."""

    referral: Referral


class PhysicalOutput(Progress, total=False):
    """What the physical orders add."""

    physical_orders: list[str]


class AuxiliaryOutput(Progress, total=False):
    """What the auxiliary orders add."""

    auxiliary_orders: list[str]


class ReportOutput(Progress, total=False):
    """What a report on one image class adds."""

    reports: Annotated[dict[str, str], merge_reports]


class DiagnosisOutput(Progress, total=False):
    """What the diagnosis adds."""

    diagnosis: Diagnosis


class TreatmentOutput(Progress, total=False):
    """What the treatment adds."""

    treatment: Treatment


class Settings(Protocol):
    """What of a run's context decides what may be chosen."""

    @property
    def sub_departments(self) -> Mapping[str, Sequence[str]] | None:
        """Second-level departments by department; our own list if None."""


@dataclass(frozen=True)
class Stage:
    """One decision of the clinical course.

    Attributes:
        name: as the model map, the prompts and the records call it.
        decision: its type.
        judges: the physicians of the subsequent stages, who must work with it (MedChain, B.2).
        outcome: what the decision adds to the findings.
        precedent: what a remembered case says on it, for the offline vote; the image class is given where there is one.
        output: the keys of the state that it writes.
        options: what may be chosen, in canonical names; empty where the answer is free.
    """

    name: str
    decision: type[Decision]
    judges: tuple[str, ...]
    outcome: Callable[[Any, Findings, str | None], dict[str, Any]]
    precedent: Callable[[RememberedCase, str | None], Sequence[str]]
    output: type
    options: Callable[[Chart, Settings], Sequence[str]] = lambda chart, context: ()


def _referral(decision: SubDepartments, findings: Findings, image_class: str | None) -> dict[str, Any]:
    reference = findings.get("reference")
    triage = reference.triage if reference and reference.triage else findings["triage"]
    return {
        "referral": Referral(
            urgency=findings["triage"].urgency,
            department=triage.department,
            sub_departments=decision.sub_departments,
        )
    }


def sub_departments_of(department: str | None, context: Settings) -> Sequence[str]:
    """The second-level departments to choose from: the run's own list, or ours."""
    own = context.sub_departments or {}
    if department and department in own:
        return own[department]
    return SECOND_LEVEL[department].names if department in SECOND_LEVEL else ()


LEVEL1 = Stage(
    name="referral.level1",
    decision=Triage,
    judges=("history_taking", "examination", "diagnosis", "treatment"),
    output=TriageOutput,
    outcome=lambda decision, findings, image_class: {"triage": decision},
    precedent=lambda case, image_class: [case.department] if case.department else [],
    options=lambda chart, context: DEPARTMENTS.names,
)
LEVEL2 = Stage(
    name="referral.level2",
    decision=SubDepartments,
    judges=("history_taking", "examination", "diagnosis", "treatment"),
    output=ReferralOutput,
    outcome=_referral,
    precedent=lambda case, image_class: case.sub_departments,
    options=lambda chart, context: sub_departments_of(chart.department, context),
)
PHYSICAL = Stage(
    name="history_taking.physical",
    decision=PhysicalOrders,
    judges=("examination", "diagnosis", "treatment"),
    output=PhysicalOutput,
    outcome=lambda decision, findings, image_class: {"physical_orders": decision.items},
    precedent=lambda case, image_class: list(case.physical_examination),
    options=lambda chart, context: PHYSICAL_ITEMS.names,
)
AUXILIARY = Stage(
    name="history_taking.auxiliary",
    decision=AuxiliaryOrders,
    judges=("examination", "diagnosis", "treatment"),
    output=AuxiliaryOutput,
    outcome=lambda decision, findings, image_class: {"auxiliary_orders": decision.items},
    precedent=lambda case, image_class: list(case.auxiliary_examination),
    options=lambda chart, context: AUXILIARY_ITEMS.names,
)
EXAMINATION = Stage(
    name="examination",
    decision=Report,
    judges=("diagnosis", "treatment"),
    output=ReportOutput,
    outcome=lambda decision, findings, image_class: {"reports": {image_class: str(decision)}},
    precedent=lambda case, image_class: (
        [case.imaging_report[image_class]] if image_class in case.imaging_report else []
    ),
)
DIAGNOSIS = Stage(
    name="diagnosis",
    decision=Diagnosis,
    judges=("treatment",),
    output=DiagnosisOutput,
    outcome=lambda decision, findings, image_class: {"diagnosis": decision},
    precedent=lambda case, image_class: case.diagnosis,
)
TREATMENT = Stage(
    name="treatment",
    decision=Treatment,
    judges=("follow_up",),
    output=TreatmentOutput,
    outcome=lambda decision, findings, image_class: {"treatment": decision},
    precedent=lambda case, image_class: case.treatment_items,
    options=lambda chart, context: TREATMENT_ITEMS.names,
)

STAGES = {stage.name: stage for stage in (LEVEL1, LEVEL2, PHYSICAL, AUXILIARY, EXAMINATION, DIAGNOSIS, TREATMENT)}
