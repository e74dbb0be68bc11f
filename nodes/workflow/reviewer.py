"""The reviewer: before the diagnosis, may send the case back for missing examinations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import Field

from cases.strict import Strict, UniqueItems
from cases.vocabulary import EXAMINATION_ITEMS, GivenExaminationItem
from llm import Role, ask
from nodes.context import Context
from nodes.node import node
from nodes.offline.group_words import reason
from nodes.offline.votes import Evidence, weights
from nodes.state.chart import Chart, Findings
from nodes.state.stage import Options, Recalled
from nodes.workflow.case_retrieval import neighbours_for
from nodes.workflow.stages import AUXILIARY, DIAGNOSIS, PHYSICAL, read_chart
from retrieval import Neighbour


class MissingExaminations(Strict):
    """Examinations without which no diagnosis should be made; usually none."""

    items: Annotated[list[GivenExaminationItem], UniqueItems] = Field(
        description="The examinations; empty if the findings suffice."
    )
    reason: str


class ReviewState(Findings, total=False):
    """The reviewer's view of the state: the findings and what has been ordered so far."""

    physical_orders: list[str]
    auxiliary_orders: list[str]
    requested: list[str]


@dataclass(frozen=True)
class ReviewView:
    """What the reviewer sees."""

    chart: Chart
    options: Options
    neighbours: Sequence[Neighbour]


def what_most_neighbours_had(view: ReviewView) -> MissingExaminations:
    """Offline: the items that more than half of the similar cases had and that are not ordered yet."""
    physical, auxiliary = (weights(Evidence(stage, view.chart, view.neighbours)) for stage in (PHYSICAL, AUXILIARY))
    items = [item for item, share in (physical | auxiliary).items() if share > 0.5 and item in view.options.names]
    return MissingExaminations(items=items, reason=reason("most_had", view.chart) if items else "")


reviewer = Role("reviewer", "diagnosis", "medchain/reviewer", MissingExaminations, offline=what_most_neighbours_had)


@node(asks=reviewer)
async def review(state: ReviewState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Name the missing examinations, if any; items that were ordered before are ignored."""
    context = runtime.context
    chart = read_chart(state, DIAGNOSIS.name, context.language)
    ordered = {*state.get("physical_orders", []), *state.get("auxiliary_orders", []), *state.get("requested", [])}
    open_items = [item for item in EXAMINATION_ITEMS.names if item not in ordered]
    visit = state.get("backtracks", 0)
    found = await neighbours_for(state, DIAGNOSIS, context) if context.retrieval else []
    recalled = Recalled(found, ("symptoms", "diagnosis", "physical_items", "auxiliary_items"), chart.language)
    view = ReviewView(chart=chart, options=Options(open_items, chart.language), neighbours=recalled)
    missing = await ask(reviewer, view, context, language=chart.language, place=f"visit{visit}")
    items = [item for item in missing.items if item in open_items]
    if not items:
        return {"sent_back": False}
    return {"sent_back": True, "requested": [*state.get("requested", []), *items], "backtracks": visit + 1}
