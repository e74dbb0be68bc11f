"""The medical director in the exchange of facts: merges the interns' findings, and has their conflicts settled."""

from dataclasses import dataclass
from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import at_most, each_once
from cases.text.named_tests import named_tests
from cases.vocabulary import Language
from llm import Role, ask
from nodes.collaboration.subject import REPORT, held_by
from nodes.consultation.final_report import FinalReport
from nodes.context import Context
from nodes.node import at_least_one, node
from nodes.offline.agreement import most
from nodes.state.chart import Chart
from nodes.state.collaboration import (
    MOST_CONFLICTS,
    ConferenceState,
    Confirmation,
    Conflict,
    Facts,
    Part,
    Person,
    Statement,
    last_statements,
    pictures_shown,
)
from prompts import mark

_EACH_QUESTION = each_once(lambda conflict: (conflict.ask, conflict.question.casefold()))


class MergedFacts(Facts):
    """The doctors' facts combined, and the points on which they contradict each other."""

    conflicts: Annotated[list[Conflict], _EACH_QUESTION, *at_most(MOST_CONFLICTS)] = Field(
        description="The contradictions; empty if everything fits together."
    )


@dataclass(frozen=True)
class FactsView:
    """What the director sees: the interns' first reports; later also its own draft and the replies on the conflicts."""

    chart: Chart
    reports: list[Statement]
    draft: Facts | None
    confirmations: list[Confirmation]


_WHO_KNOWS: dict[Part, Person] = {"examinations": "examiner", "symptoms": "patient"}


def merge_by_majority(view: FactsView) -> MergedFacts:
    """Offline: keep what most interns report, and ask about what fewer report."""
    reports = [FinalReport.model_validate(statement.report) for statement in view.reports]
    merged = reports[0]
    conflicts: list[Conflict] = []
    for part, person in _WHO_KNOWS.items():
        merged = REPORT.claims[part].set(merged, held_by(REPORT, reports, part, most))
        for claim in held_by(REPORT, reports, part, lambda count, of: not most(count, of)):
            question = _tests_of(claim, view.chart.language) if person == "examiner" else claim
            conflicts.append(Conflict(point=claim, ask=person, question=question))
    return MergedFacts(symptoms=merged.symptoms, examinations=merged.examinations, conflicts=conflicts[:MOST_CONFLICTS])


def add_the_replies(view: FactsView) -> Facts:
    """Offline: append the replies to the draft."""
    assert view.draft is not None
    said: dict[Person, list[str]] = {"patient": [], "examiner": []}
    for confirmation in view.confirmations:
        said[confirmation.conflict.ask].append(confirmation.reply)
    symptoms = dict.fromkeys([view.draft.symptoms, *said["patient"]])
    return Facts(
        symptoms=mark("space", view.chart.language).join(symptoms).strip(),
        examinations="\n".join(dict.fromkeys([view.draft.examinations, *said["examiner"]])).strip(),
    )


def _tests_of(claim: str, language: Language) -> str:
    """Return the names of the tests that a claim is about, which is all the examiner goes by; else the claim itself.

    The name before its colon is written as the intern has it; other words of the result may sound like tests.
    """
    heading = claim.partition(mark("label", language).strip())[0]
    return heading if named_tests(heading) else ", ".join(test.spelling for test in named_tests(claim)) or claim


merging_director = Role("director", "dispute_resolution", "collaboration/facts", MergedFacts, offline=merge_by_majority)
agreeing_director = Role("director", "dispute_resolution", "collaboration/agreed_facts", Facts, offline=add_the_replies)


@node(asks=merging_director)
async def merge_facts(state: ConferenceState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Merge all reports into one account of symptoms and results, and list the conflicts between them."""
    at_least_one(last_statements(state), state)
    answer = await _ask(merging_director, state, runtime.context, "facts")
    return {"facts": Facts(symptoms=answer.symptoms, examinations=answer.examinations), "conflicts": answer.conflicts}


@node(asks=agreeing_director)
async def agree_on_facts(state: ConferenceState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Revise the account in view of what patient and examiner said on the conflicts."""
    return {"facts": await _ask(agreeing_director, state, runtime.context, "agreed_facts")}


async def _ask(role: Role[Any], state: ConferenceState, context: Context, what: str) -> Any:
    chart = REPORT.chart(state, context)
    view = FactsView(chart, last_statements(state), state.get("facts"), state.get("confirmations", []))
    pictures = pictures_shown(state)
    return await ask(role, view, context, language=chart.language, place=what, pictures=pictures)
