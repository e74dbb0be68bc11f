"""The extraction agent: finds the examinations that the doctor ordered or suggested in the dialogue."""

from dataclasses import dataclass
from typing import Annotated, Any

from langgraph.runtime import Runtime

from cases.strict import Strict, UniqueItems
from cases.vocabulary import AUXILIARY_ITEMS, PHYSICAL_ITEMS, GivenAuxiliaryItem, GivenPhysicalItem
from llm import Role, ask
from nodes.context import Context
from nodes.node import node
from nodes.offline.hearing import heard_items, items_asked_about
from nodes.state.chart import Findings, Turn
from nodes.state.stage import Options


class ExtractedOrders(Strict):
    """The examination items that the doctor's words amount to."""

    physical: Annotated[list[GivenPhysicalItem], UniqueItems]
    auxiliary: Annotated[list[GivenAuxiliaryItem], UniqueItems]


@dataclass(frozen=True)
class DialogueView:
    """What the extraction agent sees: the dialogue and the closed lists.

    Where the patient tells results, asking for one is as good as ordering it, and counts as such (MedChain, A.2.2).
    """

    dialogue: list[Turn]
    physical_options: Options
    auxiliary_options: Options
    results_told: bool = False


def items_by_name(view: DialogueView) -> ExtractedOrders:
    """Offline: the items that the doctor orders, or asks the results of, found by the rules of the patient's side."""
    heard = items_asked_about if view.results_told else heard_items
    items = {item for turn in view.dialogue if turn.speaker == "doctor" for item in heard(turn.text)}
    return ExtractedOrders(
        physical=[item for item in PHYSICAL_ITEMS.names if item in items],
        auxiliary=[item for item in AUXILIARY_ITEMS.names if item in items],
    )


extraction_agent = Role("extraction", "history_taking", "medchain/extraction", ExtractedOrders, offline=items_by_name)


@node(asks=extraction_agent)
async def extract_orders(state: Findings, runtime: Runtime[Context]) -> dict[str, Any]:
    """Extract the orders from the dialogue (MedChain, A.2.2: how the benchmark scores single agents)."""
    language = state["presentation"].language
    shown = runtime.context.prompt_language(language)
    view = DialogueView(
        dialogue=state.get("dialogue", []),
        physical_options=Options(PHYSICAL_ITEMS.names, shown),
        auxiliary_options=Options(AUXILIARY_ITEMS.names, shown),
        results_told=runtime.context.results_in_dialogue,
    )
    orders = await ask(extraction_agent, view, runtime.context, language=language)
    return {"physical_orders": orders.physical, "auxiliary_orders": orders.auxiliary}
