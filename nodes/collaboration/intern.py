"""The intern doctors: each consults the patient alone, then revises its report in view of the others and the disputes.

A seat may have its own model (``intern2`` in the model map, else ``intern``), which also plays its consultation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from cases.strict import Strict
from cases.text.statements import statements
from cases.vocabulary import TREATMENT_ITEMS
from llm import Role, ask
from nodes.asking import place
from nodes.collaboration.subject import (
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
from nodes.offline.agreement import half, most, overlap, some
from nodes.offline.chart_signs import named_in_findings
from nodes.offline.diagnoses import contradicts
from nodes.offline.group_words import determined, diseases_of, reason
from nodes.offline.treatments import called_for_by_signs, without_a_finding
from nodes.offline.votes import Evidence, changed, grounds, majority
from nodes.state.chart import Chart
from nodes.state.collaboration import ConferenceState, Dispute, Statement, last_statements, pictures_shown
from nodes.workflow.stages import recalled_at
from prompts import mark
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
    """Offline: take over what enough interns claim, part by part; before the first round, the similar cases' vote.

    A disputed part needs a majority at first, half of the interns in the next round, and any intern after that
    (`_SHARES`); any other part a majority. If no dispute is named, an intern gives way only on the first part on which
    the reports differ and most hold something. The agreed facts come before the interns' claims (`_BY_FACTS`). The
    reasons say what is changed or kept, and why.
    """
    if view.own is None:
        return _first_proposal(view)
    subject = view.subject
    statements = sorted([view.own, *view.others], key=lambda statement: statement.seat)
    answers = [subject.answer.model_validate(statement.report) for statement in statements]
    settled = [part for part in differing(subject, answers) if held_by(subject, answers, part, most)]
    disputed = {dispute.part for dispute in view.disputes}
    answer: Any = subject.answer.model_validate(view.own.report)
    reasons = []
    for part in subject.claims if disputed else settled[:1]:
        claims = subject.claims[part]
        share, why = _SHARES[min(view.own.round, len(_SHARES) - 1)] if part in disputed else _SHARES[0]
        adopted, by_facts = held_by(subject, answers, part, share), ""
        if part in disputed and part in _BY_FACTS and view.facts is not None:
            adopted, by_facts = _BY_FACTS[part](view, adopted, held_by(subject, answers, part, some))
        if part == "diagnosis":
            adopted = determined(adopted, view.chart.language)
        before = list(claims.of(answer))
        if adopted:
            answer = claims.set(answer, adopted)
        if part in disputed or overlap(before, adopted or before) != 1.0:
            now = list(claims.of(answer))
            had, has = (len(diseases_of(each, view.chart.language)) for each in (before, now))
            why = "unopposed" if not adopted else "few_of_us" if has < had else why
            reasons.append(changed(view.chart, before, now, by_facts or reason(why, view.chart), subject.stage))
    return Revision(reasoning="\n".join(reasons) or reason("unopposed", view.chart), report=answer)


# What share of the interns must claim something on a disputed part, by the number of earlier revisions, and the reason.
_SHARES = ((most, "most_of_us"), (half, "half_of_us"), (some, "any_of_us"))


def _first_proposal(view: InternView) -> Revision[Any]:
    """Return the vote of the similar cases, which each seat weighs in its own way, unless there are objections."""
    stage = view.subject.stage
    assert stage is not None
    seat = 0 if view.disputes else view.seat
    evidence = Evidence(stage, view.chart, view.neighbours, view.options.names, view.image_class, seat)
    decision = majority(evidence)
    return Revision(reasoning=grounds(evidence, decision), report=decision)


def _diagnosis_by_facts(view: InternView, adopted: list[str], named: list[str]) -> tuple[list[str], str]:
    """Return the diagnoses that the agreed facts name, or else those that they do not deny, with the reason.

    A disease that the facts only mention counts as named if an intern has no diagnosis at all.
    """
    chart = _chart_of_facts(view)
    language = chart.presentation.language

    def is_denied(name: str) -> bool:
        return contradicts(RememberedCase(id="held", verified=False, language=language, diagnosis=[name]), chart)

    facts, diseases = statements(chart.results["facts"]), diseases_of(named, chart.language)
    denied = [name for name in diseases if is_denied(name)]
    possible = [name for name in named if name not in denied]
    spoken_of = [name for name in diseases if name in possible and any(name in text for text in facts)]
    by_name = named_in_findings(chart) or (spoken_of if len(diseases) < len(named) else [])
    possible = by_name or possible or named
    why = ""
    if by_name:
        telling = (text for text in facts if by_name[0] in text)
        why = reason("by_the_facts", chart, next(telling, by_name[0]))
    elif denied and possible != named:
        why = reason("against_the_facts", chart, mark("listed", chart.language).join(denied))
    return [claim for claim in adopted if claim in possible] or (possible if possible != named else []), why


def _treatment_by_facts(view: InternView, adopted: list[str], named: list[str]) -> tuple[list[str], str]:
    """Return the treatments, with those that the agreed facts call for and without dangerous ones that they do not."""
    chart = _chart_of_facts(view)
    called, barred = called_for_by_signs(chart.results["facts"], chart.language), without_a_finding(chart)
    items = {name: TREATMENT_ITEMS.canonical(name) or name for name in named}
    held = {items[name] for name in adopted if name in items}
    signs = [sign for item, sign in called.items() if item in items.values() and item not in held]
    against = [name for name in named if items[name] in barred]
    settled = [name for name in named if (name in adopted or items[name] in called) and name not in against]
    listed = mark("listed", chart.language)
    why = [reason("by_the_facts", chart, sign) for sign in signs]
    why += [reason("against_the_facts", chart, listed.join(against))] if against else []
    return settled, mark("series", chart.language).join(why)


_BY_FACTS = {"diagnosis": _diagnosis_by_facts, "treatment": _treatment_by_facts}


def _chart_of_facts(view: InternView) -> Chart:
    assert view.facts is not None
    return replace(view.chart, results={"facts": view.facts.examinations}, reports={})


intern: Role[Any] = Role(
    "intern", "", "collaboration/intern", Revision, give_way, seats=MOST_INTERNS, seated="interns", stages=SUBJECTS
)


def last_report_stands(state: ConferenceState) -> dict[str, Any]:
    """Keep an intern's last report if the revision cannot be read; write nothing if there is none."""
    last = [statement for statement in last_statements(state) if statement.seat == state["seat"]]
    return {"statements": [one.model_copy(update={"round": state.get("round", 0), "reasoning": ""}) for one in last]}


@member(last_report_stands, asks=intern)
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
    role = intern.at(subject.name, answer)
    view = InternView(
        **vars(case),
        seat=seat,
        image_class=state.get("image_class"),
        neighbours=recalled_at(subject.stage, state, chart) if subject.stage else [],
        own=next((statement for statement in last if statement.seat == seat), None),
        others=[statement for statement in last if statement.seat != seat],
        earlier=earlier,
        disputes=state.get("disputes", objections(subject, state, chart.language)),
    )
    where = place(state, f"round{round_}", f"seat{seat}")
    pictures = [*pictures_shown(state, seat), *pictures_of(subject, chart, state)]
    revision = await ask(role, view, context, language=chart.language, place=where, pictures=pictures, seat=seat)
    report = on_agreed_facts(revision.report, facts).model_dump(mode="json")
    return {"statements": [Statement(round=round_, seat=seat, report=report, reasoning=revision.reasoning)]}


def as_doctor(context: Context, seat: int) -> Context:
    """Return the context of an intern's consultation: the intern's model as the doctor, and the seat as scope."""
    models = dict(context.models)
    own = next((models[name] for name in (f"intern{seat}", "intern") if name in models), None)
    if own is not None:
        models = {role: spec for role, spec in models.items() if role.split(".")[-1] != "doctor"} | {"doctor": own}
    return context.model_copy(update={"models": models, "scope": f"intern{seat}"})
