"""The medical director in the discussion: names the disputes, and writes the final report when none are left."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from cases.strict import Strict, at_most, each_once
from cases.text.disease_names import folded_name
from cases.vocabulary import Language, label, labels
from llm import Role, ask
from nodes.asking import place
from nodes.collaboration.subject import (
    SUBJECTS,
    Subject,
    SubjectView,
    as_shown,
    differing,
    merged,
    on_agreed_facts,
    pictures_of,
    subject_view,
)
from nodes.context import Context
from nodes.node import node
from nodes.state.collaboration import (
    MOST_DISPUTES,
    ConferenceState,
    DiscussedPart,
    DiscussionRound,
    Dispute,
    Part,
    Statement,
    last_statements,
    pictures_shown,
)
from prompts import mark

_Listed = TypeVar("_Listed", bound=Dispute)
_Disputes = Annotated[
    list[_Listed],
    each_once(lambda dispute: (dispute.part, dispute.point.casefold())),
    *at_most(MOST_DISPUTES),
    Field(description="The disputes, most important first; empty if the reports agree in substance."),
]


class Disputes(Strict):
    """The points that remain to be settled."""

    disputes: _Disputes[Dispute]


class ReportDispute(Dispute):
    """A point that the doctors have to settle."""

    # AI Hospital, Table 15: what interns revise. Where facts are agreed on, no revision could settle a dispute on them.
    part: DiscussedPart = Field(description="The part of the report that it is about.")


class ReportDisputes(Strict):
    """The points that remain to be settled."""

    disputes: _Disputes[ReportDispute]


class Agreement(Strict):
    """Whether the reports agree."""

    agreed: bool = Field(description="True if the reports agree in substance.")


@dataclass(frozen=True)
class DirectorView(SubjectView):
    """What the director sees: the agreed facts, the last report of each intern, and the last disputes."""

    reports: list[Statement]
    disputes: list[Dispute]


def differences(view: DirectorView) -> Disputes:
    """Offline: the parts on which the reports differ as sets, the diagnosis first."""
    answers, language = _answers(view), view.chart.language
    found = []
    for part in differing(view.subject, answers)[:MOST_DISPUTES]:
        distinct: dict[frozenset[str], Sequence[str]] = {}  # in whatever order they are named
        for names in (view.subject.claims[part].of(answer) for answer in answers):
            distinct.setdefault(frozenset(map(folded_name, names)), names)
        claims = [mark("series", language).join(_called(part, names, language)) or "-" for names in distinct.values()]
        found.append(Dispute(part=part, point=" | ".join(claims)))
    return Disputes(disputes=found)


def _called(part: Part, names: Sequence[str], language: Language) -> list[str]:
    """Return claims as they are called in a language; `Surgery` is a department, or else an operation."""
    return [label(name, language) for name in names] if part == "referral" else labels(names, language)


def no_difference(view: DirectorView) -> Agreement:
    """Offline: agreed if no part differs."""
    return Agreement(agreed=not differing(view.subject, _answers(view)))


def most_held(view: DirectorView) -> Any:
    """Offline: what most interns claim, part by part."""
    return merged(view.subject, _answers(view))


def _answers(view: DirectorView) -> list[BaseModel]:
    """Return the reports with the agreed facts, so that settled facts are not disputed again."""
    reports = (view.subject.answer.model_validate(statement.report) for statement in view.reports)
    return [on_agreed_facts(report, view.facts) for report in reports]


director_of_disputes = Role("director", "", "collaboration/disputes", Disputes, offline=differences, stages=SUBJECTS)
director_without_disputes = Role(
    "director", "", "collaboration/agreement", Agreement, offline=no_difference, stages=SUBJECTS
)
concluding_director: Role[Any] = Role(
    "director", "", "collaboration/conclude", BaseModel, offline=most_held, stages=SUBJECTS
)


@node(asks=director_of_disputes)
async def list_disputes(state: ConferenceState, runtime: Runtime[Context], subject: Subject) -> dict[str, Any]:
    """List the disputes between the reports of this round; they are the agenda of the next."""
    listed = Disputes if subject.stage else ReportDisputes
    answer = await _ask(director_of_disputes.at(subject.name, listed), state, runtime.context, subject, "disputes")
    return _next_round(state, runtime.context, answer.disputes, not answer.disputes)


@node(asks=director_without_disputes)
async def judge_agreement(state: ConferenceState, runtime: Runtime[Context], subject: Subject) -> dict[str, Any]:
    """Ablation: judge whether the reports of this round agree, without telling the interns."""
    answer = await _ask(director_without_disputes.at(subject.name), state, runtime.context, subject, "agreement")
    return _next_round(state, runtime.context, [], answer.agreed)


@node(asks=concluding_director)
async def conclude(state: ConferenceState, runtime: Runtime[Context], subject: Subject) -> dict[str, Any]:
    """Let the director write the final report, on the agreed facts."""
    role = concluding_director.at(subject.name, subject.answer)
    report = await _ask(role, state, runtime.context, subject, "final")
    return {"report": on_agreed_facts(report, state.get("facts"))}


async def _ask(role: Role[Any], state: ConferenceState, context: Context, subject: Subject, what: str) -> Any:
    case = subject_view(subject, state, context)
    reports = as_shown(last_statements(state), subject, state.get("facts"))
    view = DirectorView(**vars(case), reports=reports, disputes=state.get("disputes", []))
    where = place(state, what, f"round{state.get('round', 0)}")
    pictures = [*pictures_shown(state), *pictures_of(subject, case.chart, state)]
    return await ask(role, view, context, language=case.chart.language, place=where, pictures=pictures)


def _next_round(state: ConferenceState, context: Context, disputes: list[Dispute], agreed: bool) -> dict[str, Any]:
    """Record the round and count it; end if agreed or the rounds are used up."""
    round_ = state.get("round", 0)
    entry = DiscussionRound(number=round_, statements=last_statements(state), disputes=disputes, agreed=agreed)
    ended = "agreed" if agreed else "rounds_used_up" if round_ >= context.max_rounds else ""
    return {
        "disputes": disputes,
        "discussion": [*state.get("discussion", []), entry],
        "ended": ended,
        "round": round_ if ended else round_ + 1,
    }
