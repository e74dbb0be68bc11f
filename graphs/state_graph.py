"""LangGraph's builder of graphs, with conditions that are answered where they are asked.

LangGraph has a plain function of a condition answered in a thread of its own, 63 a case of the clinical workflow. Ours
look at the state and are done sooner than a thread is found for them.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["StateGraph"]

if TYPE_CHECKING:
    from langgraph.graph import StateGraph
else:
    from langgraph.graph import StateGraph as _StateGraph

    class StateGraph(_StateGraph[_StateGraph.__parameters__]):
        """A builder of a state graph."""

        def add_conditional_edges(self, source: str, *arguments: Any, **named: Any) -> Any:
            """Go on from a node by what a function says of the state."""
            known = set(self.branches[source])
            super().add_conditional_edges(source, *arguments, **named)
            for name in self.branches[source].keys() - known:
                condition = self.branches[source][name].path
                if function := getattr(condition, "func", None):  # a plain one: others are awaited as they are
                    condition.afunc = _at_once(function)
            return self


def _at_once(function: Any) -> Any:
    async def answer(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return answer
