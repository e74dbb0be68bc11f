"""Graphs as a server runs them: each input starts a new run, and Studio can fork it at any checkpoint."""

import copy
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, StateUpdate

from nodes.patients.address import AddressState
from wardround.serving.run_input import NotStartedError, fields_of, input_of, types_of

# LangGraph passes the run's context to conditional edges under this key, but not for a state edit.
_RUNTIME = "__pregel_runtime"


class ServedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph that starts anew with each input, and accepts edits of its state as JSON.

    After an edit, its conditional edges see the context of the edited run.
    """

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any], context_schema: type) -> "ServedGraph":
        """Return the graph with another context type."""
        return cls(**{**vars(graph), "context_schema": context_schema})

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Run the graph: an input starts it anew, whatever the thread holds; without input it resumes.

        A patient graph continues the thread's dialogue, unless another case is named. A run that resumes without a
        context, as with an answer to a question, uses its earlier one.

        Raises:
            NotStartedError: the input does not fit the graph, or there is nothing to resume.
        """
        config = config or {}
        saved = await self._saved(config)
        starts = input is not None and not isinstance(input, Command)
        if starts:
            input = input_of(input, self._input_types(), self.name)
        elif saved is None:
            fields = ", ".join(self._input_types())
            raise NotStartedError(
                f"input: this thread has no earlier state to continue from; {self.name!r} starts from {fields}"
            )
        elif not options.get("context"):
            options["context"] = self._settings_of(saved)
            config = {**config, "metadata": {**options["context"], **config.get("metadata", {})}}
        if isinstance(input, Command) and isinstance(input.update, Mapping):
            input = replace(input, update=_typed(input.update, await self._types_at(config)))
        restart = starts and saved is not None and not self._continues(input, saved.checkpoint["channel_values"])
        async for part in super(ServedGraph, self._without_history() if restart else self).astream(
            input, config, **options
        ):
            yield part

    async def _saved(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the thread's last checkpoint, if any."""
        saver: Any = self.checkpointer
        return await saver.aget_tuple(config) if saver else None

    def _settings_of(self, saved: CheckpointTuple) -> dict[str, Any]:
        """Return the context of the run that left a checkpoint, as far as its metadata contain it."""
        schema: Any = self.context_schema
        metadata: Mapping[str, Any] = saved.metadata
        return {name: metadata[name] for name in schema.model_fields.keys() & metadata.keys()}

    def _continues(self, given: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
        """Whether the input continues a dialogue with the same patient."""
        named = {given["case"].id if "case" in given else given.get("case_id", kept.get("case_id"))}
        return self._input_types().keys() >= AddressState.__annotations__.keys() and named == {kept.get("case_id")}

    def _input_types(self) -> Mapping[str, Any]:
        schema: type = self.builder.input_schema
        return types_of(schema)

    def _without_history(self) -> "ServedGraph":
        """Return the graph with a saver that hides the thread's earlier runs, but saves this one in it."""
        saver: Any = copy.copy(self.checkpointer)
        original = saver.aget_tuple

        async def aget_tuple(config: RunnableConfig) -> Any:
            return await original(config) if config["configurable"].get("checkpoint_ns") else None

        saver.aget_tuple = aget_tuple
        return self.copy({"checkpointer": saver})

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit the state.

        Raises:
            ValueError: a value is not of the field's type.
        """
        types = await self._types_at(config)
        typed = [[update._replace(values=_typed(update.values, types)) for update in step] for step in supersteps]
        return await super().abulk_update_state(await self._with_run_context(config), typed)

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

    async def _with_run_context(self, config: RunnableConfig) -> RunnableConfig:
        """Return the config with the context of the run that left the checkpoint, as far as its metadata contain it."""
        saved = await self._saved(config)
        schema: Any = self.context_schema
        context = schema(**(self._settings_of(saved) if saved else {}))
        return {**config, "configurable": {**config.get("configurable", {}), _RUNTIME: Runtime(context=context)}}


def _typed(values: Any, types: Mapping[str, Any]) -> Any:
    return fields_of(values, types, "state") if isinstance(values, Mapping) else values
