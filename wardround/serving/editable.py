"""Graphs whose state is edited by JSON, so that Studio can fork a course at any checkpoint and go on."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import StateUpdate
from pydantic import TypeAdapter
from pydantic_core import to_json

# LangGraph hands the run's context to a choice at an edge here; to an edit it hands none.
_RUNTIME = "__pregel_runtime"


class EditableGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph that is given an edit of its state as JSON, and chooses its way on as the run that was edited would."""

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any], context_schema: type) -> "EditableGraph":
        """The graph, with another type of its context."""
        return cls(**{**vars(graph), "context_schema": context_schema})

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit the state.

        Raises:
            ValueError: a value is not what the state has there.
        """
        hints = _types(await self._schema_at(config))
        typed = [[update._replace(values=_typed(update.values, hints)) for update in step] for step in supersteps]
        return await super().abulk_update_state(await self._as_in_the_run(config), typed)

    async def _schema_at(self, config: RunnableConfig) -> type:
        """The state of the graph, or of the one in it that the checkpoint belongs to."""
        namespace = str(config.get("configurable", {}).get("checkpoint_ns", ""))
        place = "|".join(part.partition(":")[0] for part in namespace.split("|") if part and not part.isdigit())
        within = dict(self.get_subgraphs(namespace=place, recurse=True)).get(place) if place else None
        return (within if isinstance(within, CompiledStateGraph) else self).builder.state_schema

    async def _as_in_the_run(self, config: RunnableConfig) -> RunnableConfig:
        """The config with the settings of the run that left the checkpoint, as far as its metadata keep them."""
        saver: Any = self.checkpointer
        saved = await saver.aget_tuple(config)
        kept: Mapping[str, Any] = saved.metadata if saved else {}
        schema: Any = self.context_schema
        context = schema(**{name: kept[name] for name in schema.model_fields.keys() & kept.keys()})
        return {**config, "configurable": {**config.get("configurable", {}), _RUNTIME: Runtime(context=context)}}


@cache
def _types(schema: type) -> dict[str, Any]:
    return {name: TypeAdapter(hint) for name, hint in get_type_hints(schema).items()}


def _typed(values: Any, types: Mapping[str, Any]) -> Any:
    if not isinstance(values, Mapping):
        return values
    return {
        name: types[name].validate_json(to_json(value)) if name in types else value for name, value in values.items()
    }
