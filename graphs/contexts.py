"""The context schemas of the graphs: each has the settings that its graph obeys and rejects all others."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from cases.validation import nearest
from llm import ModelSettings
from llm.role import is_judging, known_roles
from nodes.context import Context, GraphContext
from nodes.patients.systems import PATIENTS
from nodes.settings import (
    CaseSettings,
    CollaborationSettings,
    ConsultingSettings,
    CourseSettings,
    DialogueSettings,
    GroupSettings,
    GrowthSettings,
    PatientSettings,
    RecallSettings,
    ReconstructionSettings,
    SourceSettings,
    TurnSettings,
    with_made_defaults,
)
from nodes.strategies.registry import check_built_for


class _OwnContext(GraphContext):
    """What all graphs' contexts have in common.

    Attributes:
        graph: the name of the graph.
        asks: returns the keys of the model map that have an effect with given settings; set once the graph is built.
    """

    graph: ClassVar[str]
    asks: ClassVar[Callable[[Context], Iterable[str]] | None] = None

    @model_validator(mode="before")
    @classmethod
    def _reject_other_settings(cls, given: Any) -> Any:
        for key in given if isinstance(given, Mapping) else ():
            if key not in cls.model_fields:
                raise ValueError(f"{key!r} is not a setting of the graph {cls.graph!r}: {_remedy(key, cls)}")
        return given

    @model_validator(mode="after")
    def _reject_unused_models(self) -> Self:
        cls = type(self)
        if cls.asks is None or set(self.models) <= {"default"}:
            return self
        known = set(cls.asks(self.whole))
        for key in self.models:
            if key != "default" and key not in known and key not in cls._judges():
                close = known if "." in key else {name for name in known if "." not in name}
                raise ValueError(
                    f"models.{key} is never asked in the graph {cls.graph!r} with these settings: {nearest(key, close)}"
                )
        return self

    @staticmethod
    def _judges() -> set[str]:
        judging = {(stage, name) for name, stages in known_roles().items() for stage in stages if is_judging(stage)}
        return {key for stage, name in judging for key in (name, f"{stage}.{name}")}


def _remedy(key: str, context: type[ModelSettings]) -> str:
    """Return which graphs obey a setting, or the most similar name in this context."""
    obeying = [repr(other.graph) for other in CONTEXTS.values() if key in other.model_fields]
    if obeying:
        return f"it belongs to {', '.join(obeying)}"
    return nearest(key, context.model_fields)


class ClinicalContext(
    _OwnContext,
    CaseSettings,
    CourseSettings,
    GroupSettings,
    DialogueSettings,
    CollaborationSettings,
    RecallSettings,
    GrowthSettings,
):
    """Settings of the clinical workflow."""

    graph = "clinical_workflow"

    @model_validator(mode="after")
    def _reject_reference_reports(self) -> Self:
        if self.pictures_in_dialogue == "report":
            raise ValueError(
                "pictures_in_dialogue = 'report' reveals the reference report, which the workflow is scored on; use "
                "the graph 'consultation', or send_pictures = false for the written findings"
            )
        return self


@cache
def clinical_context(built_for: str) -> type[ClinicalContext]:
    """Return the context schema of a workflow that was built for one strategy; naming another strategy is an error."""

    class Own(ClinicalContext):
        __doc__ = ClinicalContext.__doc__
        model_config = ConfigDict(title=ClinicalContext.__name__)

        strategy: Literal[built_for] = Field(  # type: ignore[valid-type]
            default=built_for,
            description=ClinicalContext.model_fields["strategy"].description,
            json_schema_extra=ClinicalContext.model_fields["strategy"].json_schema_extra,
        )

        @model_validator(mode="before")
        @classmethod
        def _set_strategy(cls, given: Any) -> Any:
            if not isinstance(given, Mapping):
                return given
            check_built_for(built_for, given.get("strategy", built_for))
            return {**given, "strategy": built_for}

    Own.__name__ = Own.__qualname__ = ClinicalContext.__name__
    return Own


class ConsultationContext(_OwnContext, CaseSettings, ConsultingSettings, RecallSettings):
    """Settings of a consultation."""

    graph = "consultation"


class OneStepContext(_OwnContext, CaseSettings, RecallSettings):
    """Settings of a report on the whole record at once."""

    graph = "one_step"


class DisputeResolutionContext(_OwnContext, CaseSettings, ConsultingSettings, CollaborationSettings, RecallSettings):
    """Settings of the consultations of several interns, and of their discussion."""

    graph = "dispute_resolution"


class ReconstructionContext(_OwnContext, SourceSettings, TurnSettings, ReconstructionSettings):
    """Settings of the reconstruction of a dialogue from a note."""

    graph = "reconstruction"


class CliniEvalContext(_OwnContext):
    """Settings of the judging of an interview: only those of its models."""

    graph = "clini_eval"


@PATIENTS.cached
def patient_context(system: str) -> type[_OwnContext]:
    """Return the context schema of one turn with a patient system, without the settings of other systems."""
    others = {name for other in PATIENTS.values() for name in other.settings} - set(PATIENTS[system].settings)

    def without_others(form: dict[str, Any], settings: type[ModelSettings]) -> None:
        with_made_defaults(form, settings)
        for name in others & form["properties"].keys():
            del form["properties"][name]

    class PatientContext(_OwnContext, CaseSettings, PatientSettings):
        __doc__ = f"Settings of a dialogue with the patient {system!r}."
        model_config = ConfigDict(json_schema_extra=without_others)
        graph = f"patient_{system}"

        patient: Literal[system] = Field(default=system, description="Patient system that answers the doctor.")  # type: ignore[valid-type]

        @model_validator(mode="before")
        @classmethod
        def _set_patient(cls, given: Any) -> Any:
            return {"patient": system, **given} if isinstance(given, Mapping) else given

    return PatientContext


@cache
def stage_context(part: str) -> type[_OwnContext]:
    """Return the context schema of one part of the workflow run alone."""

    class StageContext(_OwnContext, CaseSettings, GroupSettings, RecallSettings):
        __doc__ = f"Settings of the stage {part!r} run alone."
        graph = f"stage_{part}"

        @cached_property
        def whole(self) -> Context:
            """The settings as nodes read them: no dialogue, and earlier stages replaced by their reference."""
            given = {name: getattr(self, name) for name in self.model_fields_set}
            return Context.model_validate({**given, "interactive": False, "sequential": False})

    return StageContext


CONTEXTS: dict[str, type[_OwnContext]] = {
    context.graph: context
    for context in (
        ClinicalContext,
        ConsultationContext,
        OneStepContext,
        DisputeResolutionContext,
        ReconstructionContext,
        CliniEvalContext,
    )
}
