"""A custom strategy: one doctor decides, and a second one, maybe another model, confirms or corrects the decision.

    wardround run --plugin examples/own_strategy.py --set strategy=second_opinion --limit 2
    wardround run ... --models colleague1=openai:gpt-4o-mini --models colleague2=mistralai:mistral-small-latest

It decides every stage, with the prompts in `own_strategy_prompts/`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel

import wardround as wr
from graphs.recall import recall_first
from nodes.asking import ask_at_stage
from nodes.offline.votes import majority
from nodes.workflow.case_retrieval import recall

wr.add_prompts(Path(__file__).with_name("own_strategy_prompts"))


@dataclass(frozen=True)
class View(wr.CaseView):
    """What a doctor sees: the case, and if it is the second doctor, the first one's decision."""

    first: BaseModel | None = None


def decide_or_confirm(view: View) -> BaseModel:
    """Without a model: the first takes what most similar cases had, the second confirms."""
    return view.first or majority(view.evidence())


@wr.strategy("second_opinion")
def second_opinion(stage: wr.Stage) -> StateGraph[Any, Any, Any, Any]:
    """Build the graph of one stage's decision, which it returns under `decision`, of the type `stage.decision`."""
    colleague = wr.Role("colleague", stage.name, "examples/second_opinion", stage.decision, decide_or_confirm, seats=2)

    async def ask(seat: int, state: wr.StageState, runtime: Runtime[wr.Context]) -> dict[str, Any]:
        view = View(**vars(wr.case_view(state, stage, runtime.context)), first=state.get("decision"))
        return {"decision": await ask_at_stage(colleague, view, state, runtime.context, str(seat), seat=seat)}

    @wr.node(asks=colleague)
    async def first(state: wr.StageState, runtime: Runtime[wr.Context]) -> dict[str, Any]:
        return await ask(1, state, runtime)

    @wr.node(asks=colleague)
    async def second(state: wr.StageState, runtime: Runtime[wr.Context]) -> dict[str, Any]:
        return await ask(2, state, runtime)

    builder = StateGraph(wr.StageState, context_schema=wr.Context)
    builder.add_node(recall.at(stage=stage)).add_node(first).add_node(second)
    builder.add_conditional_edges(START, recall_first, {"with retrieval": "recall", "without": "first"})
    return builder.add_edge("recall", "first").add_edge("first", "second").add_edge("second", END)
