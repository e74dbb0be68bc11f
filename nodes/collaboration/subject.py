"""The subjects of a discussion among interns, as data: their reports, or a decision of the clinical workflow."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from cases.text.sentences import sentences
from cases.text.words import language_of
from cases.vocabulary import Language
from nodes.asking import pictures_for
from nodes.consultation.doctors_chart import chart_of_doctor
from nodes.consultation.final_report import FinalReport
from nodes.context import Context
from nodes.offline.agreement import every, held, most, overlap, some
from nodes.state.chart import Chart
from nodes.state.collaboration import ConferenceState, Dispute, Facts, Part, Statement
from nodes.state.decisions import (
    AuxiliaryOrders,
    Decision,
    Diagnosis,
    PhysicalOrders,
    Report,
    SubDepartments,
    Treatment,
    Triage,
)
from nodes.state.stage import Options
from nodes.workflow.stages import STAGES, Stage, read_chart
from prompts import load_prompt, mark


@dataclass(frozen=True)
class Claims:
    """How to get the claims of an answer on one part, as a list that is compared as a set, and how to replace them."""

    of: Callable[[Any], Sequence[str]]
    set: Callable[[Any, list[str]], Any]


@dataclass(frozen=True)
class Subject:
    """One kind of answer that doctors discuss."""

    name: str  # the stage of the roles that discuss it
    answer: type[BaseModel]  # the type of the answer
    task: str  # the prompt file that states the task
    claims: Mapping[Part, Claims]  # the parts in which answers are compared, the most important first
    reads: str  # the stage as which the chart is read
    stage: Stage | None = None  # the stage of the clinical workflow that the answer decides, if any

    def chart(self, state: ConferenceState, context: Context) -> Chart:
        """Return what is known of the case; of a report, no more than those who wrote it knew at the start."""
        if self.stage is None:
            return chart_of_doctor(state, self.reads, context, consultation=True)
        return read_chart(state, self.reads, context.language)


@dataclass(frozen=True)
class SubjectView:
    """What interns and director both see: the subject and its task, the case, the agreed facts, the allowed choices."""

    subject: Subject
    task: str
    chart: Chart
    facts: Facts | None
    options: Options


def subject_view(subject: Subject, state: ConferenceState, context: Context) -> SubjectView:
    """Return the case as interns and director see it."""
    chart, stage = subject.chart(state, context), subject.stage
    return SubjectView(
        subject=subject,
        task=load_prompt(subject.task, chart.language, stage.name if stage else None).render({})[0],
        chart=chart,
        facts=state.get("facts"),
        options=Options(stage.options(chart, context) if stage else (), chart.language),
    )


def _field(name: str) -> Claims:
    return Claims(
        lambda answer: list(getattr(answer, name)), lambda answer, values: answer.model_copy(update={name: values})
    )


def _text(name: str, split: Callable[[str], list[str]], separators: tuple[str, str]) -> Claims:
    """Return the claims of a text field: it is split, and joined again with the (English, Chinese) separator."""

    def replace_claims(answer: Any, values: list[str]) -> Any:
        return answer.model_copy(update={name: separators[language_of(*values) == "zh"].join(values)})

    return Claims(lambda answer: split(getattr(answer, name)), replace_claims)


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,，、;；。\n]|\.(?:\s|$)", text) if part.strip()]


REPORT = Subject(
    name="dispute_resolution",
    answer=FinalReport,
    task="collaboration/task",
    claims={
        "diagnosis": _field("diagnosis"),
        "treatment": _text("treatment", _split_list, (", ", "、")),
        "examinations": _text("examinations", lambda text: [line for line in text.splitlines() if line], ("\n", "\n")),
        "symptoms": _text("symptoms", sentences, (" ", "")),
    },
    reads="referral.level1",  # the interns' facts replace all that later stages would show
)
_OF_STAGE: dict[type[Decision], dict[Part, Claims]] = {
    Triage: {
        "referral": Claims(
            lambda answer: [answer.department],
            lambda answer, values: answer.model_copy(update={"department": values[0]}),
        )
    },
    SubDepartments: {"referral": _field("sub_departments")},
    PhysicalOrders: {"examinations": _field("items")},
    AuxiliaryOrders: {"examinations": _field("items")},
    Report: {"examinations": _text("findings", sentences, (" ", ""))},
    Diagnosis: {"diagnosis": _field("names")},
    Treatment: {"treatment": _field("items")},
}
_AS_A_WHOLE: dict[Part, Claims] = {"diagnosis": Claims(lambda answer: answer.listed(), lambda answer, values: answer)}


def decision_on(stage: Stage) -> Subject:
    """Return a decision of the clinical workflow as a subject."""
    return Subject(
        name=stage.name,
        answer=stage.decision,
        task="medchain/task",
        claims=_OF_STAGE.get(stage.decision, _AS_A_WHOLE),
        reads=stage.name,
        stage=stage,
    )


SUBJECTS = {REPORT.name: REPORT, **{name: decision_on(stage) for name, stage in STAGES.items()}}


def objections(subject: Subject, state: ConferenceState, language: Language) -> list[Dispute]:
    """Return the objections of the later stages' physicians to the last decision, as disputes to settle."""
    part, *_ = subject.claims
    label = mark("label", language)
    return [
        Dispute(part=part, point=label.join(filter(None, [round_.told(language), item.verdict.reason])))
        for round_ in state.get("rounds", [])[-1:]
        for item in round_.judgements
        if not item.verdict.accepted
    ]


def on_agreed_facts(report: BaseModel, facts: BaseModel | None) -> BaseModel:
    """Return the report with the agreed facts, so that only diagnosis, basis and treatment are discussed."""
    return report if facts is None else report.model_copy(update=facts.model_dump())


def as_shown(statements: Sequence[Statement], subject: Subject, facts: Facts | None) -> list[Statement]:
    """Return statements as director and interns see them: with the agreed facts, also in reports from before these."""
    if facts is None:
        return list(statements)
    reports = [on_agreed_facts(subject.answer.model_validate(one.report), facts) for one in statements]
    return [
        one.model_copy(update={"report": report.model_dump(mode="json")})
        for one, report in zip(statements, reports, strict=True)
    ]


def pictures_of(subject: Subject, chart: Chart, state: ConferenceState) -> list[str]:
    """Return the pictures of the report being written, if the subject is one."""
    return pictures_for(subject.stage, chart, state.get("image_class")) if subject.stage else []


def held_by(subject: Subject, answers: Sequence[BaseModel], part: Part, share: Callable[[int, int], bool]) -> list[str]:
    """Return what the given share of the answers claims on a part, see `nodes.offline.agreement.held`."""
    return held([subject.claims[part].of(answer) for answer in answers], share)


def differing(subject: Subject, answers: Sequence[BaseModel]) -> list[Part]:
    """Return the parts on which the answers do not all claim the same, the most important first."""
    return [
        part
        for part in subject.claims
        if len(held_by(subject, answers, part, every)) < len(held_by(subject, answers, part, some))
    ]


def merged(subject: Subject, answers: Sequence[BaseModel]) -> BaseModel:
    """Merge the answers part by part: what most of them claim, or else what the first one claims.

    Fields without claims (the basis, a plan in words) are taken from the answer nearest to the majority on the first
    part.
    """
    first, *_ = subject.claims
    majority = {part: held_by(subject, answers, part, most) for part in subject.claims}
    result = max(answers, key=lambda answer: overlap(subject.claims[first].of(answer), majority[first]))
    for part, claims in subject.claims.items():
        result = claims.set(result, majority[part] or list(claims.of(answers[0])))
    return result
