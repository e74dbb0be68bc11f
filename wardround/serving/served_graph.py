"""Graphs as a server runs them: what comes as JSON is checked, and gets the types of the state."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send, StateUpdate
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from cases.files import BUILTIN
from cases.validation import faults, in_a_line, nearest
from graphs.case_graph import CaseGraph
from nodes.workflow.admission import find_case


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
        for option in ("interrupt_before", "interrupt_after"):
            self._check_nodes(option, options.get(option))
        if input is not None and not isinstance(input, Command):
            input = input_of(input, self._input_types(), self.name)
            if "case_id" in input and "case" not in input:  # before the thread has another case in place of its own
                await asyncio.to_thread(find_case, input["case_id"], _case_source(options.get("context")))
        elif not isinstance(self.checkpointer, BaseCheckpointSaver) or not await self.checkpointer.aget_tuple(config):
            fields = ", ".join(self._input_types())
            named = config.get("configurable", {}).get("checkpoint_id")
            missing = f"no checkpoint {named!r}" if named else "no earlier state"
            raise NotStartedError(
                f"input: this thread has {missing} to continue from; {self.name!r} starts from {fields}"
            )
        if isinstance(input, Command):
            if input.resume is None and not input.update and not input.goto:
                raise NotStartedError("command: expected `resume`, `update` or `goto`")
            self._check_nodes("command.goto", input.goto)
            if isinstance(input.update, Mapping):
                input = replace(input, update=_typed(input.update, await self._types_at(config)))
        async for part in super().astream(input, config, **options):
            yield part

    def _check_nodes(self, place: str, given: Any) -> None:
        """Refuse the name of no node, which LangGraph would pass over: the run would do nothing, or not stop there.

        Raises:
            NotStartedError: names the place and the nearest node.
        """
        for one in [given] if isinstance(given, str | Send) else given or ():
            name = one.node if isinstance(one, Send) else one
            if name not in self.nodes and name not in ("*", END) and ":" not in name:  # as in node:node_of_its_subgraph
                raise NotStartedError(
                    f"{place}: {self.name!r} has no node {name!r}: {nearest(name, self.builder.nodes)}"
                )

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


def _case_source(context: Any) -> str:
    """Return where a run with this context, an object or its fields, looks up its case."""
    fields = context if isinstance(context, Mapping) else dict(context or {})
    return str(fields.get("case_source", BUILTIN))


def _typed(values: Any, types: Mapping[str, Any]) -> Any:
    return fields_of(values, types, "state") if isinstance(values, Mapping) else values


class NotStartedError(ValueError):
    """A run that cannot start from its input; names the field and a remedy."""


@cache
def types_of(*schemas: type) -> dict[str, Any]:
    """Return the declared type of each field of the state schemas."""
    return {name: hint for schema in schemas for name, hint in get_type_hints(schema).items()}


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)


def check_context(given: Mapping[str, Any], schema: type[BaseModel], offered: Collection[str], graph: str) -> None:
    """Refuse, in a short message, a context with unknown fields (LangGraph's server would drop them) or invalid values.

    ``offered`` are the field names of the published schema.

    Raises:
        NotStartedError: a setting is not the graph's, or its value is invalid.
    """
    try:
        schema(**given)
    except ValidationError as error:
        raise NotStartedError(f"context: {in_a_line(error)}") from None
    for name in given:
        if name not in offered:
            raise NotStartedError(
                f"context: {name!r} is not a setting of {graph!r} on a server: {nearest(name, offered)}"
            )


def input_of(given: Any, types: Mapping[str, Any], graph: str) -> dict[str, Any]:
    """Return a run's input, each field as its type.

    Raises:
        NotStartedError: it is not an object, or has a field that is unknown or of the wrong type.
    """
    expected_fields = f"{graph!r} starts from {', '.join(types)}"
    if not isinstance(given, Mapping):
        raise NotStartedError(f"input: expected an object with fields, not {given!r:.60}; {expected_fields}")
    for name in given:
        if name not in types:
            for field, hint in types.items():
                if _is_model(hint) and set(_needed(hint)) <= given.keys() <= hint.model_fields.keys():
                    raise NotStartedError(f'input: these are the fields of a {field}; pass it as {{"{field}": ...}}')
            raise NotStartedError(f"input: {name!r} is not a field of it; {expected_fields}")
    found = fields_of({name: value for name, value in given.items() if value is not None}, types, "input")
    if (case := found.get("case")) is not None and found.get("case_id", case.id) != case.id:
        both_cases = f"case_id {found['case_id']!r} and case {case.id!r}"
        raise NotStartedError(f"input: {both_cases} are different cases; give only one")
    return found


def fields_of(given: Mapping[str, Any], types: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return fields of a state, each as its type. ``place`` is where they were given, for messages.

    Raises:
        NotStartedError: the state has no such field, or a value is of the wrong type.
    """
    typed = {}
    for name, value in given.items():
        if name not in types:
            raise NotStartedError(f"{place}: {name!r} is not a field of it: {nearest(name, types)}")
        try:
            typed[name] = _adapter(types[name]).validate_json(to_json(value))
        except ValidationError as error:
            if _is_model(types[name]) and not isinstance(value, Mapping | BaseModel):
                needed = f"expected an object with {', '.join(_needed(types[name]))}"
                raise NotStartedError(f"{place}: {name}: {needed}, not {value!r:.60}") from None
            fault_texts = [
                f"{'.'.join(map(str, (name, *each['loc'])))}: {each['msg']}" for each in faults(error, types[name])
            ]
            raise NotStartedError(f"{place}: {'; '.join(fault_texts[:8])}") from None
    return typed


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def _needed(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if field.is_required()]
