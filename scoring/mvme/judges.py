"""The medical director as judge: grades a report in five parts, and explains a wrong diagnosis."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from cases.strict import Strict
from cases.vocabulary import EXAMINATION_ITEMS, Language
from llm import ModelSettings, Role, ask
from scoring.metrics.diagnosis_names import grade_names
from scoring.metrics.stated_share import stated_share
from scoring.mvme.disease_entities import split_diseases
from scoring.mvme.grades import LOWEST, Option
from scoring.mvme.transcripts import PARTS, Part

ErrorType = Literal["omitted_examination", "complication_only", "wrong_judgement"]
ERROR_TYPES: tuple[ErrorType, ...] = ("omitted_examination", "complication_only", "wrong_judgement")

LEFT_EMPTY = "The report leaves this part empty."

_OPTION_OF_LEVEL: dict[int, Option] = {5: "A", 4: "B", 3: "C", 2: "C", 1: "D"}
_OPTION_FROM: dict[Option, float] = {"A": 0.7, "B": 0.4}  # share of the reference that the report states
_SIDE_IN_BRACKETS = re.compile("[(（](left|right|bilateral|[左右双]侧?)[)）]", re.IGNORECASE)
_LITTLE, _TRUE = 0.05, 0.5  # for C: share of the reference stated, and of the report in the reference


@dataclass(frozen=True)
class ReportParts:
    """A report, or the expert's record of the same patient, in five parts; a missing part is empty."""

    symptoms: str = ""
    examinations: str = ""
    diagnosis: str = ""
    basis: str = ""
    treatment: str = ""

    def __getitem__(self, part: Part) -> str:
        text: str = getattr(self, part)
        return text


class PartGrade(Strict):
    """How far one part of a report agrees with the expert's."""

    analysis: str = Field(description="What agrees and what does not; written before the option.")
    option: Option = Field(description="A: all of it, B: most of it, C: a little of it, D: hardly anything of it.")


class MvmeGrades(Strict):
    """The grades of a report's parts; null only for a part that the expert's record does not have."""

    symptoms: PartGrade | None
    examinations: PartGrade | None
    diagnosis: PartGrade | None
    basis: PartGrade | None
    treatment: PartGrade | None

    @property
    def options(self) -> dict[Part, Option | None]:
        """The option of each graded part."""
        grades: dict[Part, PartGrade | None] = {part: getattr(self, part) for part in PARTS}
        return {part: grade.option for part, grade in grades.items() if grade is not None}


class Misdiagnosis(Strict):
    """Why a diagnosis went wrong."""

    reason: str = Field(description="What was missed or misread; written before the type.")
    type: ErrorType


@dataclass(frozen=True)
class GradingView:
    """What the director sees: the report, the expert's parts, and which of them to grade."""

    report: ReportParts
    reference: ReportParts
    parts: Sequence[Part]


def _grade_offline(view: GradingView) -> MvmeGrades:
    graded = {part: _part_offline(part, view) if part in view.parts else None for part in PARTS}
    return MvmeGrades.model_validate({part: grade and grade.model_dump() for part, grade in graded.items()})


def _part_offline(part: Part, view: GradingView) -> PartGrade:
    """Grade the diagnosis by its names, and another part by the share of the reference that the report states.

    A part that shares only few words with the reference and is mostly about something else gets D.
    """
    report, reference = view.report[part], view.reference[part]
    if part == "diagnosis" and (grade := grade_names(_diseases(report), _diseases(reference))):
        return PartGrade(analysis=grade.reason, option=_OPTION_OF_LEVEL[grade.level])
    share, true = stated_share(report, reference), stated_share(reference, report)
    little: Option = "C" if share >= _LITTLE and true >= _TRUE else LOWEST
    option = next((option for option, least in _OPTION_FROM.items() if share >= least), little)
    return PartGrade(
        analysis=f"states {share:.0%} of the reference, which states {true:.0%} of this part", option=option
    )


def _diseases(diagnosis: str) -> list[str]:
    """Return the diseases of a diagnosis, with a side that stands in brackets, which are else dropped."""
    return split_diseases(_SIDE_IN_BRACKETS.sub(r" \1 ", diagnosis))


def _misdiagnosis_offline(view: GradingView) -> Misdiagnosis:
    """Explain offline: an examination missing from the report, only a secondary diagnosis named, or wrong judgement."""
    done = EXAMINATION_ITEMS.mentioned_in(view.report.examinations + view.report.basis)
    needed = EXAMINATION_ITEMS.mentioned_in(view.reference.examinations or view.reference.basis)
    if missed := [item for item in needed if item not in done]:
        return Misdiagnosis(reason=f"not examined: {', '.join(missed)}", type="omitted_examination")
    given, wanted = split_diseases(view.report.diagnosis), split_diseases(view.reference.diagnosis)
    others = grade_names(given, wanted[1:]) if wanted[1:] else None
    if others is not None and others.level >= 3:
        return Misdiagnosis(reason=f"only a secondary diagnosis: {others.reason}", type="complication_only")
    return Misdiagnosis(reason="examined, but judged differently", type="wrong_judgement")


@cache
def _form(parts: tuple[Part, ...]) -> type[BaseModel]:
    """Return the answer type with these parts alone: if parts may be null, a small model grades none."""
    fields: dict[str, Any] = dict.fromkeys(parts, (PartGrade, ...))
    return create_model("MvmeGrades", __base__=Strict, __doc__="The grades of a report's parts.", **fields)


def _uncompared(view: GradingView, grades: Any) -> str | None:
    """Return what is wrong with grades whose analyses are letters, as a small model takes its options from nowhere.

    A person may leave an analysis out.
    """
    analyses = [grade.analysis for part in view.parts if (grade := getattr(grades, part, None))]
    letters = analyses and all(sum(map(str.isalpha, analysis)) == 1 for analysis in analyses)
    return "analysis: nothing is compared; compare each part before you give its option" if letters else None


director = Role("mvme_director", "evaluation", "judges/mvme", MvmeGrades, offline=_grade_offline, check=_uncompared)
misdiagnosis_judge: Role[Misdiagnosis] = Role(
    "misdiagnosis_judge", "evaluation", "judges/misdiagnosis", Misdiagnosis, offline=_misdiagnosis_offline
)


async def grade(
    report: ReportParts,
    reference: ReportParts,
    settings: ModelSettings,
    language: Language,
    place: str = "",
    *,
    copied: Collection[str] = (),
) -> MvmeGrades:
    """Ask the director for grades of the parts that the reference has (AI Hospital, section 3.2, tables 13 and 14).

    A part that the report leaves empty gets the lowest grade, whatever the director says. Parts that the doctor
    ``copied`` from a disclosed record are neither shown nor graded.

    Raises:
        AskError: the judge could not be asked.
    """
    parts = [part for part in PARTS if reference[part].strip() and part not in copied]
    empty = [part for part in parts if not report[part].strip()]
    fixed: dict[str, PartGrade | None] = {part: None for part in PARTS if part not in parts}
    fixed |= dict.fromkeys(empty, PartGrade(analysis=LEFT_EMPTY, option=LOWEST))
    if len(fixed) == len(PARTS):
        return MvmeGrades.model_validate(fixed)
    role = director.at(director.stage, _form(tuple(parts)))
    answer = await ask(role, GradingView(report, reference, parts), settings, language=language, place=place)
    return MvmeGrades.model_validate({**answer.model_dump(), **fixed})


async def misdiagnosis(
    report: ReportParts, reference: ReportParts, settings: ModelSettings, language: Language, place: str = ""
) -> Misdiagnosis:
    """Ask why a diagnosis with the lowest grade is wrong (AI Hospital, section 6.4, where people classified them).

    Raises:
        AskError: no valid answer.
    """
    parts = [part for part in PARTS if reference[part].strip()]
    view = GradingView(report, reference, parts)
    return await ask(misdiagnosis_judge, view, settings, language=language, place=place)
