"""The intern doctors: each consults the patient alone, then revises the report in view of the others' and the disputes.

A seat may have a model of its own (``intern2`` in the model map, else ``intern``), in the consultation too.
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
    held_by,
    objections,
    on_agreed_facts,
    pictures_of,
    subject_view,
)
from nodes.context import Context
from nodes.node import member
from nodes.offline.chart_signs import contradicts, named_in_findings, reason
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
    earlier: Sequence[Statement] = ()  # what own and others stand for no longer, in the order in which it was said
    image_class: str | None = None


def give_way(view: InternView) -> Revision[Any]:
    """Offline: what most hold is taken over; else the own view stands. A named dispute is settled.

    On a disputed part the agreed facts are asked before heads are counted: a diagnosis that they name goes first, one
    that they deny is let go, whoever holds it. What no most hold is disputed again: then what half of them hold is
    taken over, and at last all that anybody holds. Before the first round each seat weighs the similar cases in its
    own way.
    """
    subject = view.subject
    if view.own is None:
        assert subject.stage is not None
        seat = 0 if view.disputes else view.seat
        decision = majority(subject.stage, view.chart, view.neighbours, view.options.names, view.image_class, seat)
        return Revision(reasoning=reason("similar_cases", view.chart, eye_of(seat).name), report=decision)
    answer: Any = subject.answer.model_validate(view.own.report)
    said = sorted([view.own, *view.others], key=lambda statement: statement.seat)
    answers = [subject.answer.model_validate(statement.report) for statement in said]
    disputed = {dispute.part for dispute in view.disputes}
    enough = (most, half, some)[min(view.own.round, 2)]
    for part, claims in subject.claims.items():
        held = held_by(subject, answers, part, enough if part in disputed else most)
        if part == "diagnosis" and part in disputed and view.facts is not None:
            named = held_by(subject, answers, part, some)
            possible = _in_view_of(view.facts, named, view.chart)
            held = [claim for claim in held if claim in possible] or (possible if possible != named else [])
        if held:
            answer = claims.set(answer, held)
    return Revision(reasoning=reason("others_hold_it", view.chart), report=answer)


def _in_view_of(facts: Facts, held: list[str], chart: Chart) -> list[str]:
    """The diagnoses that the facts name, or else those that they do not deny; all if they deny them all."""
    chart = replace(chart, results={"facts": facts.examinations})
    language = chart.presentation.language
    cases = [RememberedCase(id="held", verified=False, language=language, diagnosis=[name]) for name in held]
    possible = [name for name, case in zip(held, cases, strict=True) if not contradicts(case, chart)]
    return named_in_findings(chart) or possible or held


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
    """An intern whose revision cannot be read holds what was held before; without a report there is nothing to hold."""
    held = [statement for statement in last_statements(state) if statement.seat == state["seat"]]
    return {"statements": [one.model_copy(update={"round": state.get("round", 0), "reasoning": ""}) for one in held]}


@member(last_report_stands)
async def revise(state: ConferenceState, runtime: Runtime[Context], subject: Subject) -> dict[str, Any]:
    """One intern's report of this round: in view of all that was said so far, and of the disputes.

    Before the first round of a decision there is nothing to look back on: the intern proposes.
    """
    context, seat, round_ = runtime.context, state["seat"], state.get("round", 0)
    seen, said = subject_view(subject, state, context), last_statements(state)
    chart = seen.chart
    answer: type[Revision[Any]] = Revision[subject.answer]  # type: ignore[name-defined]
    revision = await ask(
        intern.at(subject.name, answer),
        InternView(
            **vars(seen),
            seat=seat,
            image_class=state.get("image_class"),
            neighbours=recalled_at(subject.stage, state, chart) if subject.stage else [],
            own=next((statement for statement in said if statement.seat == seat), None),
            others=[statement for statement in said if statement.seat != seat],
            earlier=[statement for statement in state.get("statements", []) if statement not in said],
            disputes=state.get("disputes", objections(subject, state, chart.language)),
        ),
        context,
        language=chart.language,
        place=place(state, f"round{round_}", f"seat{seat}"),
        pictures=[*pictures_shown(state, seat), *pictures_of(subject, chart, state)],
        seat=seat,
    )
    report = on_agreed_facts(revision.report, state.get("facts")).model_dump(mode="json")
    return {"statements": [Statement(round=round_, seat=seat, report=report, reasoning=revision.reasoning)]}


def as_doctor(context: Context, seat: int) -> Context:
    """The context of an intern's own consultation: the intern's model speaks as the doctor, its calls bear the seat."""
    models = dict(context.models)
    own = next((models[name] for name in (f"intern{seat}", "intern") if name in models), None)
    if own is not None:
        models = {role: spec for role, spec in models.items() if role.split(".")[-1] != "doctor"} | {"doctor": own}
    return context.model_copy(update={"models": models, "scope": f"intern{seat}"})
