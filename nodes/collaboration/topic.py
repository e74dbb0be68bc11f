"""What a discussion among interns is about, as data: their reports, or a decision of the clinical workflow."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from cases.text.sentences import sentences
from cases.text.words import language_of
from cases.vocabulary import Language, normalise
from nodes.asking import pictures_for
from nodes.consultation.final_report import FinalReport
from nodes.context import Context
from nodes.offline.votes import every, held, most, some
from nodes.state.chart import Chart
from nodes.state.collaboration import ConferenceState, Dispute, Facts, Part
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
    """What an answer claims on one part, as a list to be compared as a set, and how to put another in its place."""

    of: Callable[[Any], Sequence[str]]
    set: Callable[[Any, list[str]], Any]


@dataclass(frozen=True)
class Subject:
    """One kind of answer that doctors discuss."""

    name: str  # the stage of the roles that discuss it
    answer: type[BaseModel]  # the type that it must have
    task: str  # the prompt file that says what is asked
    claims: Mapping[Part, Claims]  # what can be compared between two answers, the most important part first
    reads: str  # the stage as whose doctors they read the chart
    stage: Stage | None = None  # the stage that it decides, if it is a decision of the clinical workflow

    def chart(self, state: ConferenceState, context: Context) -> Chart:
        """What is known of the case."""
        return read_chart(state, self.reads, context.language)


@dataclass(frozen=True)
class SubjectView:
    """What interns and director see alike: what is discussed and asked, the case, and what may be chosen, if closed."""

    subject: Subject
    task: str
    chart: Chart
    facts: Facts | None
    options: Options


def subject_view(subject: Subject, state: ConferenceState, context: Context) -> SubjectView:
    """The case as those who discuss it find it."""
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
    """A text as the list of what it names; put together again in the way of its language."""

    def put(answer: Any, values: list[str]) -> Any:
        return answer.model_copy(update={name: separators[language_of(*values) == "zh"].join(values)})

    return Claims(lambda answer: split(getattr(answer, name)), put)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,，、;；。\n]|\.(?:\s|$)", text) if part.strip()]


REPORT = Subject(
    name="dispute_resolution",
    answer=FinalReport,
    task="collaboration/task",
    claims={
        "diagnosis": _field("diagnosis"),
        "treatment": _text("treatment", _listed, (", ", "、")),
        "examinations": _text("examinations", lambda text: [line for line in text.splitlines() if line], ("\n", "\n")),
        "symptoms": _text("symptoms", sentences, (" ", "")),
    },
    reads="referral.level1",  # the facts of the interns take the place of all that comes later
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
    """A decision of the clinical workflow as what is discussed."""
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
    """What the physicians of the later stages object to in the last decision, as what the doctors have to settle."""
    part, *_ = subject.claims
    label = mark("label", language)
    return [
        Dispute(part=part, point=label.join(filter(None, [last.told(language), item.verdict.reason])))
        for last in state.get("rounds", [])[-1:]
        for item in last.judgements
        if not item.verdict.accepted
    ]


def on_agreed_facts(report: BaseModel, facts: BaseModel | None) -> BaseModel:
    """The report with what the exchange of facts found: what is discussed is diagnosis, basis and treatment."""
    return report if facts is None else report.model_copy(update=facts.model_dump())


def pictures_of(subject: Subject, chart: Chart, state: ConferenceState) -> list[str]:
    """The pictures that belong to the report being written, if one is."""
    return pictures_for(subject.stage, chart, state.get("image_class")) if subject.stage else []


def held_by(subject: Subject, answers: Sequence[BaseModel], part: Part, share: Callable[[int, int], bool]) -> list[str]:
    """What so many of the answers claim on a part, see `nodes.offline.votes.held`."""
    return held([subject.claims[part].of(answer) for answer in answers], share)


def differing(subject: Subject, answers: Sequence[BaseModel]) -> list[Part]:
    """The parts on which the answers do not all claim the same, the most important first."""
    return [
        part
        for part in subject.claims
        if len(held_by(subject, answers, part, every)) < len(held_by(subject, answers, part, some))
    ]


def merged(subject: Subject, answers: Sequence[BaseModel]) -> BaseModel:
    """What most of the answers claim, part by part; where nothing gets that far, what the first says.

    What is no claim (the basis, a plan in words) is taken from the answer that is nearest to it on the first part.
    """
    first, *_ = subject.claims
    wanted = {part: held_by(subject, answers, part, most) for part in subject.claims}
    main = {normalise(claim) for claim in wanted[first]}

    def nearness(answer: BaseModel) -> float:
        claims = {normalise(claim) for claim in subject.claims[first].of(answer)}
        return len(claims & main) / (len(claims | main) or 1)

    result = max(answers, key=nearness)
    for part, claims in subject.claims.items():
        result = claims.set(result, wanted[part] or list(claims.of(answers[0])))
    return result
