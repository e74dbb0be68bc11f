"""The stages of the workflow, in order: one table that determines everything that differs between stages.

It determines the order of the graph, who judges a stage (the physicians of all later parts), what later stages see, the
columns of the score, and error propagation. A new stage needs one entry here, an answer type
(``nodes/state/decisions.py``) and prompts (``prompts/*/medchain/stages/NAME.md``).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from typing_extensions import TypedDict, get_type_hints

from cases.registry import RegistryError, check_function
from cases.validation import nearest
from cases.vocabulary import (
    AUXILIARY_ITEMS,
    DEPARTMENTS,
    PHYSICAL_ITEMS,
    SECOND_LEVEL,
    TREATMENT_ITEMS,
    Language,
    label,
    labels,
)
from nodes.offline.basis import basis_of
from nodes.offline.chart_signs import named_in_findings, shown_in_findings, urgency
from nodes.offline.diagnoses import proved_by_tests
from nodes.offline.group_words import determined, is_undetermined, reason, undetermined
from nodes.offline.treatments import untreated_without_a_diagnosis
from nodes.state.chart import Chart, Findings, Progress, heard_by, merge_decided, merge_reports
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
from nodes.state.stage import Recalled
from prompts import check_stage_texts, stage_title, whole_languages
from retrieval import RememberedCase
from retrieval.features import FEATURES

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)?")
_IN_CHART = ("triage", "referral", "orders", "results", "pictures", "reports", "diagnosis")  # see `read_chart`


class DecidedOutput(Progress, total=False):
    """What a stage adds whose decision has no field of its own in the findings."""

    decided: Annotated[dict[str, dict[str, Any]], merge_decided]


def _adding(**keys: Any) -> type:
    """Return the state keys that a stage writes: these, and those that every node may add to."""
    return TypedDict("StageOutput", {**get_type_hints(Progress, include_extras=True), **keys}, total=False)  # type: ignore[operator,no-any-return]


class ChoiceSettings(Protocol):
    """The settings that determine the allowed choices."""

    @property
    def sub_departments(self) -> Mapping[str, Sequence[str]] | None:
        """Second-level departments by department; our own list if None."""


# The arguments that the functions of a stage take.
_TAKES = {
    "without_model": "chosen, chart, options",
    "outcome": "stage, decision, findings",
    "precedent": "case, image_class",
    "options": "chart, context",
}


def file_under_its_name(stage: "Stage", decision: Any, findings: Findings) -> dict[str, Any]:
    """File the decision under ``decided``, where decisions without a field of their own are; the chart shows these."""
    return {"decided": {stage.name: decision.model_dump(mode="json")}}


@dataclass(frozen=True)
class Stage:
    """One decision of the clinical course.

    Attributes:
        name: its name in the model map, the prompts and the records: ``part``, or ``part.decision``.
        decision: the type of the decision.
        without_model: returns the fields of an offline decision, given the choices that similar cases support (maybe
            none), the chart, and the allowed choices.
        outcome: returns what the decision adds to the findings.
        output: the state keys that it writes.
        shows: what later stages see of it in the chart; if empty, they see it under its name in ``decided``.
        precedent: returns what a remembered case has decided here, for the offline vote; given the image class, if any.
        recalls: the features of a remembered case that are shown to those who decide and judge.
        options: returns the allowed choices, by canonical name; empty if the answer is free.
        single: whether the answer is one item or one text, so that several answers have no union.
        column: the published score that measures it, with its title; several decisions may share one.
        breaks: whether an error here also makes later stages fail (error propagation).

    Raises:
        RegistryError: the name is invalid, the decision is no `Decision`, a function takes other arguments, or
            ``shows``, ``recalls`` or the decision's ``compared`` has an unknown name.
    """

    name: str
    decision: type[Decision]
    without_model: Callable[[Sequence[str], Chart, Sequence[str]], dict[str, Any]]
    outcome: Callable[["Stage", Any, Findings], dict[str, Any]] = file_under_its_name
    output: type = DecidedOutput
    shows: tuple[str, ...] = ()
    precedent: Callable[[RememberedCase, str | None], Sequence[str]] = lambda case, image_class: ()
    recalls: tuple[str, ...] = ("symptoms", "diagnosis")
    options: Callable[[Chart, ChoiceSettings], Sequence[str]] = lambda chart, context: ()
    single: bool = False
    column: tuple[str, str] | None = None
    breaks: bool = True

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise RegistryError(
                f"stage {self.name!r}: expected a name such as 'history_taking' or 'history_taking.physical'"
            )
        if not (isinstance(self.decision, type) and issubclass(self.decision, Decision)):
            raise RegistryError(f"stage {self.name!r}: decision = {self.decision!r}; expected a subclass of Decision")
        for function, arguments in _TAKES.items():
            check_function(f"{function} of stage", self.name, getattr(self, function), arguments)
        compared = (f"{self.decision.__name__}.compared", self.decision.compared, self.decision.model_fields)
        for field, names, known in (("recalls", self.recalls, FEATURES), ("shows", self.shows, _IN_CHART), compared):
            for name in names:
                if name not in known:
                    raise RegistryError(f"stage {self.name!r}: {field}: unknown {name!r}: {nearest(name, known)}")

    def labelled(self, choices: Sequence[str], language: Language) -> list[str]:
        """Return choices as they are called in a language; `Surgery` is a department, or else an operation."""
        return [label(name, language) for name in choices] if self.decision is Triage else labels(choices, language)

    @property
    def part(self) -> str:
        """The part of the clinical course that it belongs to: a node of the workflow."""
        return self.name.partition(".")[0]


def _referral(stage: Stage, decision: SubDepartments, findings: Findings) -> dict[str, Any]:
    """Combine both levels as the doctors chose them; level 2 is from the department that its chart showed."""
    triage, chosen = findings["triage"], decision.sub_departments
    return {"referral": Referral(urgency=triage.urgency, department=triage.department, sub_departments=chosen)}


def _offline_diagnosis(chosen: Sequence[str], chart: Chart, options: Sequence[str]) -> dict[str, Any]:
    similar = determined(chosen, chart.language)
    names = named_in_findings(chart) or similar or proved_by_tests(chart) or shown_in_findings(chart)
    return {"names": names or [undetermined(chart)], "basis": basis_of(names, chart)}


def _offline_treatment(chosen: Sequence[str], chart: Chart, options: Sequence[str]) -> dict[str, Any]:
    if chart.diagnosis and is_undetermined(chart.diagnosis.names[0], chart.language):
        without_reason = untreated_without_a_diagnosis(chart)
        chosen = [item for item in chosen if item not in without_reason]
    return {"items": list(chosen) or ["Medication"], "plan": ""}


def sub_departments_of(department: str | None, context: ChoiceSettings) -> Sequence[str]:
    """Return the second-level departments to choose from: the run's own list, or the built-in one."""
    own = context.sub_departments or {}
    if department and department in own:
        return own[department]
    return SECOND_LEVEL[department].names if department in SECOND_LEVEL else ()


LEVEL1 = Stage(
    name="referral.level1",
    decision=Triage,
    without_model=lambda chosen, chart, options: {
        "urgency": urgency(chart),
        "department": next(iter(chosen), "General Medicine"),
    },
    outcome=lambda stage, decision, findings: {"triage": decision},
    output=_adding(triage=Triage),
    shows=("triage",),
    precedent=lambda case, image_class: [case.department] if case.department else [],
    recalls=("chief_complaint", "department"),
    options=lambda chart, context: DEPARTMENTS.names,
    single=True,
    column=("referral_level1", "Referral, level 1"),
)
LEVEL2 = Stage(
    name="referral.level2",
    decision=SubDepartments,
    without_model=lambda chosen, chart, options: {
        "sub_departments": list(chosen) or list(options[:1]) or ["General Outpatient Clinic"]
    },
    outcome=_referral,
    output=_adding(referral=Referral),
    shows=("referral",),
    precedent=lambda case, image_class: case.sub_departments,
    recalls=("chief_complaint", "sub_departments"),
    options=lambda chart, context: sub_departments_of(chart.department, context),
    column=("referral_level2", "Referral, level 2"),
    breaks=False,
)
PHYSICAL = Stage(
    name="history_taking.physical",
    decision=PhysicalOrders,
    without_model=lambda chosen, chart, options: {"items": list(chosen) or ["General Examination"]},
    outcome=lambda stage, decision, findings: {"physical_orders": decision.items},
    output=_adding(physical_orders=list[str]),
    shows=("orders", "results", "pictures"),
    precedent=lambda case, image_class: list(case.physical_examination),
    recalls=("chief_complaint", "physical_items"),
    options=lambda chart, context: PHYSICAL_ITEMS.names,
    column=("history_taking", "History-taking"),
)
AUXILIARY = Stage(
    name="history_taking.auxiliary",
    decision=AuxiliaryOrders,
    without_model=lambda chosen, chart, options: {"items": list(chosen) or ["Blood Test"]},
    outcome=lambda stage, decision, findings: {"auxiliary_orders": decision.items},
    output=_adding(auxiliary_orders=list[str]),
    shows=("results", "pictures"),
    precedent=lambda case, image_class: list(case.auxiliary_examination),
    recalls=("chief_complaint", "diagnosis", "auxiliary_items"),
    options=lambda chart, context: AUXILIARY_ITEMS.names,
    column=("history_taking", "History-taking"),
)
EXAMINATION = Stage(
    name="examination",
    decision=Report,
    without_model=lambda chosen, chart, options: {
        "findings": next(iter(chosen), reason("no_description", chart)),
        "impression": "",
    },
    outcome=lambda stage, decision, findings: {"reports": {findings["image_class"]: str(decision)}},  # type: ignore[typeddict-item]
    output=_adding(reports=Annotated[dict[str, str], merge_reports]),
    shows=("reports",),
    recalls=("imaging_report",),
    single=True,
    column=("examination", "Examination"),
)
DIAGNOSIS = Stage(
    name="diagnosis",
    decision=Diagnosis,
    without_model=_offline_diagnosis,
    outcome=lambda stage, decision, findings: {"diagnosis": decision},
    output=_adding(diagnosis=Diagnosis),
    shows=("diagnosis",),
    precedent=lambda case, image_class: case.diagnosis,
    single=True,
    column=("diagnosis", "Diagnosis"),
)
TREATMENT = Stage(
    name="treatment",
    decision=Treatment,
    without_model=_offline_treatment,
    outcome=lambda stage, decision, findings: {"treatment": decision},
    output=_adding(treatment=Treatment),
    precedent=lambda case, image_class: case.treatment_items,
    recalls=("diagnosis", "treatment_items"),
    options=lambda chart, context: TREATMENT_ITEMS.names,
    column=("treatment", "Treatment"),
)

_IN_ORDER = (LEVEL1, LEVEL2, PHYSICAL, AUXILIARY, EXAMINATION, DIAGNOSIS, TREATMENT)


def by_name(stages: Iterable[Stage]) -> dict[str, Stage]:
    """Return the table of stages, in their order.

    Raises:
        RegistryError: two stages have the same name.
    """
    table: dict[str, Stage] = {}
    for stage in stages:
        if stage.name in table:
            raise RegistryError(f"stage {stage.name!r}: another stage has this name; choose another")
        table[stage.name] = stage
    return table


STAGES = by_name(_IN_ORDER)
LAST = "follow_up"  # who judges the decision of the last part


def parts() -> list[str]:
    """Return the parts of the clinical course, in order; each is a node of the workflow."""
    return list(dict.fromkeys(stage.part for stage in STAGES.values()))


def position_of(stage: Stage) -> int:
    """Return the stage's position in the table; the first is 0."""
    return list(STAGES).index(stage.name)


def judges_after(stage: Stage) -> tuple[str, ...]:
    """Return the physicians of the later parts, who must work with the decision (MedChain, B.2)."""
    later = parts()
    return tuple(later[later.index(stage.part) + 1 :]) or (LAST,)


def check_prompts() -> None:
    """Check that every stage has its prompt texts in each language that has all others.

    Raises:
        PromptError: a stage's text, or a section of it, is missing in a language.
    """
    for stage in STAGES.values():
        for language in whole_languages():
            for prompt in ("task", "feedback"):
                check_stage_texts(f"medchain/{prompt}", language, stage.name)
            if stage.output is DecidedOutput:
                stage_title(stage.name, language)


def recalled_at(stage: Stage, state: Mapping[str, Any], chart: Chart) -> Recalled:
    """Return the recalled cases of a stage, as they are shown to its agents."""
    return Recalled(state.get("recalled", []), stage.recalls, chart.language, state.get("image_class"))


def read_chart(findings: Findings, stage: str, language: Language | None) -> Chart:
    """Return the chart for a stage: what earlier stages found, or their reference if ``sequential`` is off.

    If the reference has nothing on a stage, nothing is shown of that stage, not even the doctors' own decision.

    Args:
        findings: the doctor's view of the state.
        stage: the stage that reads the chart. It sees what earlier stages decided, but results and pictures only from
            earlier parts.
        language: of the prompts; the case's if None.
    """
    known: dict[str, Any] = dict(findings)
    if (reference := findings.get("reference")) is not None:
        known |= {**dict(reference), "decided": {}, "physical_orders": []}
    here = STAGES[stage]
    # Results and pictures exist only once all of history-taking is done.
    earlier = list(STAGES.values())[: position_of(here)]
    results, pictures = known.get("results", {}), known.get("pictures", [])
    if image_class := known.get("image_class"):  # a report is written on its own class, with no other result to repeat
        results = {item: text for item, text in results.items() if item == image_class}
        pictures = [picture for picture in pictures if picture.item == image_class]
    shown = {
        key for other in earlier for key in other.shows if other.part != here.part or key not in ("results", "pictures")
    }
    presentation = findings["presentation"]
    return Chart(
        language=language or presentation.language,
        presentation=presentation,
        triage=known.get("triage") if "triage" in shown else None,
        referral=known.get("referral") if "referral" in shown else None,
        dialogue=heard_by("doctor", findings.get("dialogue", [])),
        results=results if "results" in shown else {},
        pictures=pictures if "pictures" in shown else [],
        reports=known.get("reports", {}) if "reports" in shown else {},
        diagnosis=known.get("diagnosis") if "diagnosis" in shown else None,
        orders=known.get("physical_orders", []) if "orders" in shown and here.part == PHYSICAL.part else [],
        decided={past.name: known["decided"][past.name] for past in earlier if past.name in known.get("decided", {})},
    )
