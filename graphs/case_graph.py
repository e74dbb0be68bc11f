"""A compiled graph for one case, which keeps the settings of a run with its checkpoints."""

import copy
import inspect
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from langchain_core.runnables.config import RunnableConfig, merge_configs
from langchain_core.runnables.graph import Graph
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import BaseModel

from cases.validation import nearest
from graphs.drawing import Drawing
from graphs.state_types import fields_of, types_of
from llm import ModelSettings
from llm.tracing import aeach_outside_tracers, each_outside_tracers, enclosing_config, is_traced, without_tracers
from nodes.context import Context
from nodes.patients.address import AddressState

_SETTINGS = "wardround_settings"  # key in a checkpoint's metadata: the settings of the run that saved it, as JSON
# Keys of LangGraph's in ``configurable``: the first passes the context to conditional edges, the second is there only
# for a graph within another graph.
_RUNTIME, _INSIDE = "__pregel_runtime", "__pregel_read"
# The checkpointer that a graph lends the graphs within it, and whether these go on from their checkpoints.
_LENT, _RESUMING = "__pregel_checkpointer", "__pregel_resuming"
# The task and channel under which LangGraph saves an answer until the node that asked has it.
_DELIVERY = ("00000000-0000-0000-0000-000000000000", "__resume__")
_OPTIONS = {*inspect.signature(CompiledStateGraph.stream).parameters, "checkpoint_during"} - {"self", "kwargs"}


class CaseGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that differs from LangGraph's in these points.

    - With a checkpointer, each input starts a new course: nothing of an earlier one on the thread is left in it. Only
      the graph of a patient alone continues its dialogue, until another case is named. The same holds for a node that
      keeps its state (``compile(checkpointer=True)``).
    - A run that continues from a checkpoint without a context (after an answer, a fork or an edit of the state, or with
      new words to a patient alone) has the settings of the run that saved the checkpoint.
    - A run that continues without an answer asks the open question again; LangGraph would reuse the last answer.
    - An unknown keyword argument is refused: a misspelt ``context`` would leave all settings at their defaults.
    - LangChain's tracers do not see it, unless one is passed to it.
    - A notebook draws it without a web service.
    - Its form names no nodes of other graphs, which have the same settings.
    """

    def __init__(self, *, _serde_allowlist: Any = None, **attributes: Any) -> None:
        """Keep the types that checkpoints may hold under ``LANGGRAPH_STRICT_MSGPACK``; LangGraph's copies lose them."""
        super().__init__(**attributes)
        self._serde_allowlist = _serde_allowlist

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """Run the graph; `invoke` and `batch` call this."""
        _refuse_unknown(config, options)
        input = self._typed_command(input, config)
        saver, asked = self._saver(config, input, options)
        graph, config, options = self._prepared(input, config, options, saver and saver.get_tuple(asked))
        parts = super(CaseGraph, graph).stream(input, config, **options)
        return each_outside_tracers(parts) if is_traced() else parts

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Run the graph; `ainvoke`, `abatch` and `astream_events` call this."""
        _refuse_unknown(config, options)
        input = self._typed_command(input, config)
        saver, asked = self._saver(config, input, options)
        graph, config, options = self._prepared(input, config, options, saver and await saver.aget_tuple(asked))
        parts = super(CaseGraph, graph).astream(input, config, **options)
        async for part in aeach_outside_tracers(parts) if is_traced() else parts:
            yield part

    def bulk_update_state(self, config: RunnableConfig, supersteps: Any) -> RunnableConfig:
        """Edit the state; conditional edges see the settings of the edited run.

        Raises:
            NotStartedError: the state has no such field, or a value is not of the field's type.
        """
        edits = self._typed_edits(supersteps, config)
        saver, asked = self._saver(config)
        return super().bulk_update_state(self._edited(config, saver and saver.get_tuple(asked)), edits)

    async def abulk_update_state(self, config: RunnableConfig, supersteps: Any) -> RunnableConfig:
        """Edit the state; conditional edges see the settings of the edited run.

        Raises:
            NotStartedError: the state has no such field, or a value is not of the field's type.
        """
        edits = self._typed_edits(supersteps, config)
        saver, asked = self._saver(config)
        return await super().abulk_update_state(self._edited(config, saver and await saver.aget_tuple(asked)), edits)

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Return the nodes and edges for drawing, with as many levels of subgraphs as ``xray`` says."""
        return Drawing(**vars(super().get_graph(config, xray=xray)))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Return the nodes and edges for drawing, with as many levels of subgraphs as ``xray`` says."""
        return Drawing(**vars(await super().aget_graph(config, xray=xray)))

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """Return the schema of the settings, each placed at those of its nodes that this graph or a part of it has."""
        schema = super().get_context_jsonschema()
        if schema is None or "properties" not in schema:
            return schema
        parts = [part for _, part in self.get_subgraphs(recurse=True) if isinstance(part, CompiledStateGraph)]
        nodes = {name for graph in (self, *parts) for name in graph.nodes}
        return {**schema, "properties": {name: _placed(one, nodes) for name, one in schema["properties"].items()}}

    def __deepcopy__(self, memo: dict[int, Any]) -> "CaseGraph":
        """Return a copy that shares the nodes: copied ones would fail, as LangGraph compares its marks by identity."""
        return copy.copy(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Give a notebook the graph as Mermaid text, which it draws itself; LangGraph would use a web service."""
        return {"text/plain": repr(self), "text/vnd.mermaid": self.get_graph().draw_mermaid()}

    def _saver(
        self, config: RunnableConfig | None, given: Any = None, options: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[Any, RunnableConfig]:
        """Return the checkpointer that has the checkpoint this run depends on, and the config to look it up with.

        The checkpointer is None if the graph has none of its own (a graph within another uses that one's), or if the
        run depends on no checkpoint.
        """
        depends = _begins(given) or not options.get("context")
        asked = merge_configs(self.config, config)
        if self.checkpointer is True:
            around = merge_configs(enclosing_config(), asked)
            inside = around.get("configurable", {})
            lent = None if inside.get(_RESUMING) or not _begins(given) else inside.get(_LENT)
            return lent, {**around, "configurable": {**inside, "checkpoint_ns": _path(inside), "checkpoint_id": None}}
        if not isinstance(self.checkpointer, BaseCheckpointSaver) or not depends:
            return None, {}
        if "thread_id" not in asked.get("configurable", {}):  # it may be that of the chain around
            asked = merge_configs(enclosing_config(), asked)
        threads = asked.get("configurable", {})
        return self.checkpointer if "thread_id" in threads and _INSIDE not in threads else None, asked

    def _prepared(
        self, given: Any, config: RunnableConfig | None, options: dict[str, Any], saved: CheckpointTuple | None
    ) -> tuple["CaseGraph", RunnableConfig | None, dict[str, Any]]:
        """Return the graph, config and options with which a run begins or continues."""
        graph, config = self, without_tracers(config)
        around = merge_configs(enclosing_config(), config).get("configurable", {})
        if _INSIDE in around:  # a graph that is watched as a node (`astream_events`) hands on what it does otherwise
            options = {"output_keys": self.output_channels, **options}
        if saved and _begins(given) and not self._continues(given, saved.checkpoint["channel_values"]):
            if self.checkpointer is True:
                saver = _seeing(around[_LENT], lambda _: None, _path(around))
                config = {**(config or {}), "configurable": {**(config or {}).get("configurable", {}), _LENT: saver}}
            else:
                graph = self.copy({"checkpointer": _seeing(self.checkpointer, lambda _: None)})
        elif saved and self.checkpointer is not True and not options.get("context"):
            options = {**options, "context": _settings_of(saved)}
        if given is None and isinstance(self.checkpointer, BaseCheckpointSaver):
            graph = self.copy({"checkpointer": _seeing(self.checkpointer, _without_delivery)})
        context, named = self._settings(options.get("context"), getattr(around.get(_RUNTIME), "context", None))
        if context is None:
            return graph, config, options
        if isinstance(self.checkpointer, BaseCheckpointSaver):
            settings = json.dumps(context.model_dump(mode="json", include=named, exclude_unset=True))
            config = {**(config or {}), "metadata": {**(config or {}).get("metadata", {}), _SETTINGS: settings}}
        return graph, config, {**options, "context": context}

    def _settings(self, context: Any, around: Any) -> tuple[BaseModel | None, set[str] | None]:
        """Return the settings of this graph, and the names of those that were given (None: those that are set).

        Return None twice if the graph around this one gives the settings, or this one has no schema for them.

        Raises:
            ValueError: the context is no mapping of settings, or one of them is invalid.
        """
        schema: Any = self.context_schema
        if context is None and around is None:
            context = {}  # the graph's own defaults: those of a stage alone or of a patient differ from the workflow's
        if context is None or not issubclass(schema or dict, BaseModel):
            return None, None
        if isinstance(context, ModelSettings) and not isinstance(context, (schema, Context)):  # made for another graph
            context = {name: getattr(context, name) for name in context.model_fields_set}
        named = set(context) if isinstance(context, Mapping) else None
        context = schema(**context) if named is not None else context
        is_ours = issubclass(schema, ModelSettings)
        if not isinstance(context, ModelSettings if is_ours else schema):
            raise ValueError(f"context: expected settings, such as {{'retrieval': False}}, not {context!r:.60}")
        if isinstance(context, ModelSettings):
            context.check_folders()
        return context, named

    def _continues(self, given: Any, kept: Mapping[str, Any]) -> bool:
        """Whether the input continues a dialogue with the same patient."""
        inputs = self.builder.input_schema.__annotations__
        if not isinstance(given, Mapping) or not AddressState.__annotations__.keys() <= inputs.keys():
            return False
        case, before = given.get("case"), kept.get("case")
        if isinstance(case, BaseModel) and isinstance(before, BaseModel):  # an id may be that of a case in another file
            return case.model_dump() == before.model_dump()
        named = given.get("case_id", kept.get("case_id")) if case is None else getattr(case, "id", None)
        return bool(named == kept.get("case_id"))

    def _typed_edits(self, supersteps: Any, config: RunnableConfig) -> list[list[Any]]:
        return [
            [edit._replace(values=self._typed(edit.values, config)) for edit in superstep] for superstep in supersteps
        ]

    def _typed_command(self, given: Any, config: RunnableConfig | None) -> Any:
        is_edit = isinstance(given, Command) and given.update is not None
        return replace(given, update=self._typed(given.update, config or {})) if is_edit else given

    def _typed(self, values: Any, config: RunnableConfig) -> Any:
        """Return values converted to the state's types, of the graph or of the subgraph that the config names."""
        if not isinstance(values, Mapping):
            return values
        path = _path(config.get("configurable", {}))
        subgraph = dict(self.get_subgraphs(namespace=path, recurse=True)).get(path) if path else None
        builder = (subgraph if isinstance(subgraph, CompiledStateGraph) else self).builder
        schemas: list[type] = list(builder.schemas)  # includes schemas of single nodes
        return fields_of(values, types_of(*schemas), "state")

    def _edited(self, config: RunnableConfig, saved: CheckpointTuple | None) -> RunnableConfig:
        """Return the config of an edit with the settings of the run that saved the checkpoint; LangGraph adds none."""
        schema: Any = self.context_schema
        if not issubclass(schema or dict, BaseModel):
            return config
        settings = _settings_of(saved) if saved else {}
        return {
            **config,
            "configurable": {**config.get("configurable", {}), _RUNTIME: Runtime(context=schema(**settings))},
            "metadata": {**config.get("metadata", {}), _SETTINGS: json.dumps(settings)},
        }


def _refuse_unknown(config: Any, options: Collection[str]) -> None:
    if isinstance(config, BaseModel):
        raise TypeError(f"config: found {type(config).__name__}; settings are given as context=...")
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"unexpected keyword argument {name!r}: {nearest(name, _OPTIONS)}")


def _placed(setting: Mapping[str, Any], nodes: Collection[str]) -> dict[str, Any]:
    """Return a setting's schema with the nodes that there are; one without any is of the graph as a whole."""
    placed = [name for name in setting.get("langgraph_nodes", ()) if name in nodes]
    others = {key: value for key, value in setting.items() if key != "langgraph_nodes"}
    return others | ({"langgraph_nodes": placed} if placed else {})


def _begins(given: Any) -> bool:
    """Whether a run begins with this input; otherwise it continues from a checkpoint."""
    return given is not None and not isinstance(given, Command)


def _without_delivery(saved: CheckpointTuple) -> CheckpointTuple:
    """Return a checkpoint without the answer that was given last: the node that asked for it has it already."""
    return saved._replace(pending_writes=[write for write in saved.pending_writes or [] if write[:2] != _DELIVERY])


def _seeing(saver: Any, seen: Callable[[CheckpointTuple], CheckpointTuple | None], path: str = "") -> Any:
    """Return a checkpointer that changes each checkpoint of the graph at ``path`` by ``seen`` when it is read."""
    changed: Any = copy.copy(saver)

    def shown(config: RunnableConfig, saved: CheckpointTuple | None) -> CheckpointTuple | None:
        return seen(saved) if saved and _path(config["configurable"]) == path else saved

    async def aget_tuple_shown(config: RunnableConfig) -> CheckpointTuple | None:
        return shown(config, await saver.aget_tuple(config))

    changed.get_tuple = lambda config: shown(config, saver.get_tuple(config))
    changed.aget_tuple = aget_tuple_shown
    return changed


def _path(configurable: Mapping[str, Any]) -> str:
    """Return the nodes that a graph is within, such as ``ward|diagnosis``; "" for the outermost."""
    parts = str(configurable.get("checkpoint_ns", "")).split("|")
    return "|".join(part.partition(":")[0] for part in parts if part and not part.isdigit())


def _settings_of(saved: CheckpointTuple) -> dict[str, Any]:
    """Return the settings of the run that saved a checkpoint."""
    metadata: Mapping[str, Any] = saved.metadata
    settings: dict[str, Any] = json.loads(metadata.get(_SETTINGS, "{}"))
    return settings
