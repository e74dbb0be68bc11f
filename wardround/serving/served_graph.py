"""Graphs as a server runs them: each input begins a course of its own, and Studio can fork it at any checkpoint."""

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

# LangGraph hands the run's context to a choice at an edge here; to an edit it hands none.
_RUNTIME = "__pregel_runtime"


class ServedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph that begins anew with each input, and is given an edit of its state as JSON.

    After an edit it chooses its way on as the run that was edited would.
    """

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any], context_schema: type) -> "ServedGraph":
        """The graph, with another type of its context."""
        return cls(**{**vars(graph), "context_schema": context_schema})

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Play a course: with an input from its beginning, whatever the thread holds, else on from there.

        A patient that is spoken to goes on with the thread's dialogue, unless another case is named. What goes on
        without a context, as with an answer to a question, goes on with that of the run.

        Raises:
            NotStartedError: the input is not what the graph starts from, or there is nothing to go on from.
        """
        config = config or {}
        saved = await self._saved(config)
        begins = input is not None and not isinstance(input, Command)
        if begins:
            input = input_of(input, self._starts_from(), self.name)
        elif saved is None:
            begin = ", ".join(self._starts_from())
            raise NotStartedError(f"input: this thread has nothing to go on from; {self.name!r} starts from {begin}")
        elif not options.get("context"):
            options["context"] = self._settings_of(saved)
            config = {**config, "metadata": {**options["context"], **config.get("metadata", {})}}
        if isinstance(input, Command) and isinstance(input.update, Mapping):
            input = replace(input, update=_typed(input.update, await self._types_at(config)))
        anew = begins and saved is not None and not self._goes_on(input, saved.checkpoint["channel_values"])
        async for part in super(ServedGraph, self._anew() if anew else self).astream(input, config, **options):
            yield part

    async def _saved(self, config: RunnableConfig) -> CheckpointTuple | None:
        """What the thread holds, if anything."""
        saver: Any = self.checkpointer
        return await saver.aget_tuple(config) if saver else None

    def _settings_of(self, saved: CheckpointTuple) -> dict[str, Any]:
        """The context of the run that left a checkpoint, as far as its metadata keep it."""
        schema: Any = self.context_schema
        kept: Mapping[str, Any] = saved.metadata
        return {name: kept[name] for name in schema.model_fields.keys() & kept.keys()}

    def _goes_on(self, given: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
        """Whether it is a dialogue that goes on with the same patient."""
        named = {given["case"].id if "case" in given else given.get("case_id", kept.get("case_id"))}
        return self._starts_from().keys() >= AddressState.__annotations__.keys() and named == {kept.get("case_id")}

    def _starts_from(self) -> Mapping[str, Any]:
        schema: type = self.builder.input_schema
        return types_of(schema)

    def _anew(self) -> "ServedGraph":
        """The graph with a saver that knows of no earlier course of the thread, and keeps this one there."""
        saver: Any = copy.copy(self.checkpointer)
        asked = saver.aget_tuple

        async def aget_tuple(config: RunnableConfig) -> Any:
            return await asked(config) if config["configurable"].get("checkpoint_ns") else None

        saver.aget_tuple = aget_tuple
        return self.copy({"checkpointer": saver})

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit the state.

        Raises:
            ValueError: a value is not what the state has there.
        """
        types = await self._types_at(config)
        typed = [[update._replace(values=_typed(update.values, types)) for update in step] for step in supersteps]
        return await super().abulk_update_state(await self._as_in_the_run(config), typed)

    async def _types_at(self, config: RunnableConfig) -> Mapping[str, Any]:
        """The state of the graph, or of the one in it that the checkpoint belongs to."""
        namespace = str(config.get("configurable", {}).get("checkpoint_ns", ""))
        place = "|".join(part.partition(":")[0] for part in namespace.split("|") if part and not part.isdigit())
        within = dict(self.get_subgraphs(namespace=place, recurse=True)).get(place) if place else None
        builder = (within if isinstance(within, CompiledStateGraph) else self).builder
        seen: list[type] = list(builder.schemas)  # what only some nodes see belongs to it too
        return types_of(*seen)

    async def _as_in_the_run(self, config: RunnableConfig) -> RunnableConfig:
        """The config with the settings of the run that left the checkpoint, as far as its metadata keep them."""
        saved = await self._saved(config)
        schema: Any = self.context_schema
        context = schema(**(self._settings_of(saved) if saved else {}))
        return {**config, "configurable": {**config.get("configurable", {}), _RUNTIME: Runtime(context=context)}}


def _typed(values: Any, types: Mapping[str, Any]) -> Any:
    return fields_of(values, types, "state") if isinstance(values, Mapping) else values
