"""The intern doctors: each consults the patient alone, then revises its report in view of the others and the disputes.

A seat may have its own model (``intern2`` in the model map, else ``intern``), which also plays its consultation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from cases.strict import Strict
from llm import Role, ask
from nodes.asking import place
from nodes.collaboration.topic import (
    SUBJECTS,
    Subject,
    SubjectView,
    as_shown,
    differing,
    held_by,
    objections,
    on_agreed_facts,
    pictures_of,
    subject_view,
)
from nodes.context import Context
from nodes.node import member
from nodes.offline.chart_signs import contradicts, determined, named_in_findings, reason
from nodes.offline.votes import eye_of, half, majority, most, some
from nodes.state.chart import Chart
from nodes.state.collaboration import ConferenceState, Dispute, Facts, Statement, last_statements, pictures_shown
from nodes.workflow.stages import recalled_at
from retrieval import Neighbour, RememberedCase

MOST_INTERNS = 5
A = TypeVar("A", bound=BaseModel)


class Revision(Strict, Generic[A]):
    """A report, and what the intern says of the others' and of the disputes."""

    reasoning: str = Field(description="Briefly, on each dispute: what convinces, what does not, what was changed.")
    report: A


@dataclass(frozen=True)
class InternView(SubjectView):
    """What an intern sees."""

    seat: int
    neighbours: Sequence[Neighbour]
    own: Statement | None
    others: list[Statement]
    disputes: list[Dispute]
    earlier: Sequence[Statement] = ()  # superseded statements of all interns, by round
    image_class: str | None = None


def give_way(view: InternView) -> Revision[Any]:
    """Offline: adopt what most interns claim on a part, else keep the own claims; give way on named disputes.

    On a disputed diagnosis, the agreed facts come before the majority: diagnoses that they name are preferred, else
    those that they do not deny. On a disputed part, claims need a majority at first, half of the interns in the next
    round, and any intern after that. Without named disputes, an intern takes up only the first part in which the
    reports differ and most of them hold something. Before the first round, each seat weighs the similar cases in its
    own way.
    """
    subject = view.subject
    if view.own is None:
        assert subject.stage is not None
        seat = 0 if view.disputes else view.seat
        decision = majority(subject.stage, view.chart, view.neighbours, view.options.names, view.image_class, seat)
        return Revision(reasoning=reason("similar_cases", view.chart, eye_of(seat).name), report=decision)
    answer: Any = subject.answer.model_validate(view.own.report)
    statements = sorted([view.own, *view.others], key=lambda statement: statement.seat)
    answers = [subject.answer.model_validate(statement.report) for statement in statements]
    disputed = {dispute.part for dispute in view.disputes}
    share = (most, half, some)[min(view.own.round, 2)]
    settled = [part for part in differing(subject, answers) if held_by(subject, answers, part, most)]
    taken_up = [*subject.claims] if disputed else settled[:1]
    for part in taken_up:
        adopted = held_by(subject, answers, part, share if part in disputed else most)
        if part == "diagnosis" and part in disputed and view.facts is not None:
            named = held_by(subject, answers, part, some)
            possible = _by_facts(view.facts, named, view.chart)
            adopted = [claim for claim in adopted if claim in possible] or (possible if possible != named else [])
        if part == "diagnosis":
            adopted = determined(adopted, view.chart.language)
        if adopted:
            answer = subject.claims[part].set(answer, adopted)
    return Revision(reasoning=reason("others_hold_it", view.chart), report=answer)


def _by_facts(facts: Facts, names: list[str], chart: Chart) -> list[str]:
    """Return the diagnoses that the facts name, or else those that they do not deny; all if they deny them all."""
    chart = replace(chart, results={"facts": facts.examinations})
    language = chart.presentation.language
    cases = [RememberedCase(id="held", verified=False, language=language, diagnosis=[name]) for name in names]
    possible = [name for name, case in zip(names, cases, strict=True) if not contradicts(case, chart)]
    return named_in_findings(chart) or possible or names


intern: Role[Any] = Role(
    "intern",
    "",
    "collaboration/intern",
    Revision,
    offline=give_way,
    seats=MOST_INTERNS,
    seated="interns",
    stages=SUBJECTS,
)


def last_report_stands(state: ConferenceState) -> dict[str, Any]:
    """Keep an intern's last report if the revision cannot be read; write nothing if there is none."""
    last = [statement for statement in last_statements(state) if statement.seat == state["seat"]]
    return {"statements": [one.model_copy(update={"round": state.get("round", 0), "reasoning": ""}) for one in last]}


@member(last_report_stands)
async def revise(state: ConferenceState, runtime: Runtime[Context], subject: Subject) -> dict[str, Any]:
    """Ask one intern for the report of this round, in view of all earlier statements and of the disputes.

    Before the first round of a decision there are none, and the intern makes a first proposal.
    """
    context, seat, round_ = runtime.context, state["seat"], state.get("round", 0)
    case, facts = subject_view(subject, state, context), state.get("facts")
    chart, last = case.chart, last_statements(state)
    earlier = [statement for statement in state.get("statements", []) if statement not in last]
    last, earlier = as_shown(last, subject, facts), as_shown(earlier, subject, facts)
    answer: type[Revision[Any]] = Revision[subject.answer]  # type: ignore[name-defined]
    revision = await ask(
        intern.at(subject.name, answer),
        InternView(
            **vars(case),
            seat=seat,
            image_class=state.get("image_class"),
            neighbours=recalled_at(subject.stage, state, chart) if subject.stage else [],
            own=next((statement for statement in last if statement.seat == seat), None),
            others=[statement for statement in last if statement.seat != seat],
            earlier=earlier,
            disputes=state.get("disputes", objections(subject, state, chart.language)),
        ),
        context,
        language=chart.language,
        place=place(state, f"round{round_}", f"seat{seat}"),
        pictures=[*pictures_shown(state, seat), *pictures_of(subject, chart, state)],
        seat=seat,
    )
    report = on_agreed_facts(revision.report, facts).model_dump(mode="json")
    return {"statements": [Statement(round=round_, seat=seat, report=report, reasoning=revision.reasoning)]}


def as_doctor(context: Context, seat: int) -> Context:
    """Return the context of an intern's consultation: the intern's model as the doctor, and the seat as scope."""
    models = dict(context.models)
    own = next((models[name] for name in (f"intern{seat}", "intern") if name in models), None)
    if own is not None:
        models = {role: spec for role, spec in models.items() if role.split(".")[-1] != "doctor"} | {"doctor": own}
    return context.model_copy(update={"models": models, "scope": f"intern{seat}"})
