"""LangGraph's `StateGraph`, which compiles to a `CaseGraph`."""

from typing import TYPE_CHECKING, Any

from langgraph.graph.state import CompiledStateGraph

from graphs.case_graph import CaseGraph
from llm.tracing import UNTRACED

__all__ = ["Graph", "StateGraph"]

# As callers see a graph: input and context may also be mappings, which it converts.
Graph = CompiledStateGraph[Any, Any, Any, Any]

if TYPE_CHECKING:
    from langgraph.graph import StateGraph
else:
    from langgraph.graph import StateGraph as _StateGraph

    class StateGraph(_StateGraph[_StateGraph.__parameters__]):
        """A builder of a state graph."""

        def compile(self, *arguments: Any, **named: Any) -> CaseGraph:
            """Compile the graph; a tracer that an environment variable switches on does not see it."""
            return CaseGraph(**vars(super().compile(*arguments, **named))).with_config(callbacks=UNTRACED)

        def add_conditional_edges(self, source: str, *arguments: Any, **named: Any) -> Any:
            """Add conditional edges; a synchronous routing function runs in the event loop.

            In async runs, LangGraph runs such a function in a thread of its own: 63 times per case of the clinical
            workflow. The functions here only read the state, which takes less time than switching to a thread.
            """
            known = set(self.branches[source])
            super().add_conditional_edges(source, *arguments, **named)
            for name in self.branches[source].keys() - known:
                condition = self.branches[source][name].path
                if function := getattr(condition, "func", None):  # synchronous; coroutines are left as they are
                    condition.afunc = _as_coroutine(function)
            return self


def _as_coroutine(function: Any) -> Any:
    async def route(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return route
