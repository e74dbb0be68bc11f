"""Graphs as a server runs them: what comes as JSON is checked, and gets the types of the state."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateUpdate

from graphs.case_graph import CaseGraph
from wardround.serving.run_input import NotStartedError, fields_of, input_of, types_of


class ServedGraph(CaseGraph):
    """A graph that accepts its input, and edits of its state, as JSON."""

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any], context_schema: type) -> "ServedGraph":
        """Return the graph with another context type."""
        return cls(**{**vars(graph), "context_schema": context_schema})

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Run the graph: an input starts it anew, whatever the thread holds; without input it resumes.

        Raises:
            NotStartedError: the input does not fit the graph, or there is nothing to resume.
        """
        config = config or {}
        if input is not None and not isinstance(input, Command):
            input = input_of(input, self._input_types(), self.name)
        elif not isinstance(self.checkpointer, BaseCheckpointSaver) or not await self.checkpointer.aget_tuple(config):
            fields = ", ".join(self._input_types())
            raise NotStartedError(
                f"input: this thread has no earlier state to continue from; {self.name!r} starts from {fields}"
            )
        if isinstance(input, Command) and isinstance(input.update, Mapping):
            input = replace(input, update=_typed(input.update, await self._types_at(config)))
        async for part in super().astream(input, config, **options):
            yield part

    def _input_types(self) -> Mapping[str, Any]:
        schema: type = self.builder.input_schema
        return types_of(schema)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit the state.

        Raises:
            ValueError: a value is not of the field's type.
        """
        types = await self._types_at(config)
        typed = [[update._replace(values=_typed(update.values, types)) for update in step] for step in supersteps]
        return await super().abulk_update_state(config, typed)

    async def _types_at(self, config: RunnableConfig) -> Mapping[str, Any]:
        """Return the field types of the graph, or of the subgraph that the checkpoint belongs to."""
        namespace = str(config.get("configurable", {}).get("checkpoint_ns", ""))
        subgraph_path = "|".join(part.partition(":")[0] for part in namespace.split("|") if part and not part.isdigit())
        subgraph = (
            dict(self.get_subgraphs(namespace=subgraph_path, recurse=True)).get(subgraph_path)
            if subgraph_path
            else None
        )
        builder = (subgraph if isinstance(subgraph, CompiledStateGraph) else self).builder
        schemas: list[type] = list(builder.schemas)  # includes schemas of single nodes
        return types_of(*schemas)


def _typed(values: Any, types: Mapping[str, Any]) -> Any:
    return fields_of(values, types, "state") if isinstance(values, Mapping) else values
