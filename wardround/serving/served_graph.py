"""Graphs as a server runs them: what comes as JSON is checked, and gets the types of the state."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send
from pydantic import BaseModel, ValidationError

from cases.files import BUILTIN
from cases.validation import in_a_line, nearest
from graphs.case_graph import CaseGraph
from graphs.state_types import NotStartedError, fields_of, is_model, needed_fields, types_of
from llm.errors import AskError
from llm.events import watching
from nodes.workflow.case_lookup import find_case

_SHOWN = {"call_started", "call_ended", "request_failed", "throttle"}  # steps are LangGraph's own events


class ServedGraph(CaseGraph):
    """A graph that accepts its input, and edits of its state, as JSON."""

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any], context_schema: type) -> "ServedGraph":
        """Return the graph with another context type."""
        return cls(**{**vars(graph), "context_schema": context_schema})

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Run the graph: an input starts it anew, whatever the thread holds; without input it resumes.

        Raises:
            NotStartedError: the input does not fit the graph, there is nothing to resume, or the state lacks what a
                step needs that it was sent to.
            AskError: a role got no answer; the message names the call.
        """
        config = config or {}
        input = await self._checked(input, config, options)
        try:
            parts = super().astream(input, config, **options)
            while True:
                with watching(_show):  # a server may ask for each part in a task of its own
                    try:
                        part = await anext(parts)
                    except StopAsyncIteration:
                        break
                yield part
        except AskError as error:  # a client is told the message alone, without its notes
            if error.call and len(error.args) == 1:
                error.args = (f"{error} (at {error.call})",)
            raise
        except KeyError as error:
            lacking = error.args[0] if error.args else None
            if (input is None or isinstance(input, Command)) and lacking in self._fields():
                missing = f"a step that this run goes on with needs {lacking!r}, which the state does not have yet"
                raise NotStartedError(f"state: {missing}; go on from an earlier step, or add it by an edit") from error
            raise

    async def _checked(self, input: Any, config: RunnableConfig, options: Mapping[str, Any]) -> Any:
        """Return the input in our types, if it is one; refuse what would start, resume or stop nothing.

        Raises:
            NotStartedError: names what does not fit, and what would.
        """
        for option in ("interrupt_before", "interrupt_after"):
            self._check_nodes(option, options.get(option))
        if input is not None and not isinstance(input, Command):
            input = input_of(input, self._input_types(), self.name)
            if "case_id" in input and "case" not in input and not await self._goes_on(input, config, options):
                # before the thread has another case in place of its own
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
        return input

    def _fields(self) -> set[str]:
        """Return the fields of the graph's state and of those of its parts."""
        parts = [part for _, part in self.get_subgraphs(recurse=True) if isinstance(part, CompiledStateGraph)]
        schemas: list[type] = [schema for graph in (self, *parts) for schema in graph.builder.schemas]
        return {*types_of(*schemas)}

    async def _goes_on(self, input: Mapping[str, Any], config: RunnableConfig, options: Mapping[str, Any]) -> bool:
        saver, asked = self._saver(config, input, options)
        saved = saver and await saver.aget_tuple(asked)
        return bool(saved) and self._continues(input, saved.checkpoint["channel_values"])

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


def _show(event: Mapping[str, Any]) -> None:
    """Send an event of a model call to who streams the mode `custom`: a server that is away is else only waited for."""
    if event["event"] in _SHOWN:
        get_stream_writer()(event)


def _case_source(context: Any) -> str:
    """Return where a run with this context, an object or its fields, looks up its case."""
    fields = context if isinstance(context, Mapping) else dict(context or {})
    return str(fields.get("case_source", BUILTIN))


def check_context(given: Mapping[str, Any], schema: type[BaseModel], offered: Collection[str], graph: str) -> None:
    """Refuse, in a short message, a context with unknown fields (LangGraph's server would drop them) or invalid values.

    ``offered`` are the field names of the published schema.

    Raises:
        NotStartedError: a setting is not the graph's, or its value is invalid.
    """
    for name in given:
        if name in schema.model_fields and name not in offered:
            raise NotStartedError(
                f"context: {name!r} is not a setting of {graph!r} on a server: {nearest(name, offered)}"
            )
    try:
        schema(**given)
    except ValidationError as error:
        raise NotStartedError(f"context: {in_a_line(error)}") from None


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
                if is_model(hint) and set(needed_fields(hint)) <= given.keys() <= hint.model_fields.keys():
                    raise NotStartedError(f'input: these are the fields of a {field}; pass it as {{"{field}": ...}}')
            raise NotStartedError(f"input: {name!r} is not a field of it; {expected_fields}")
    # a form leaves a field empty, but sends it
    filled_in = {name: value for name, value in given.items() if value not in (None, "", {})}
    found = fields_of(filled_in, types, "input")
    if (case := found.get("case")) is not None and found.get("case_id", case.id) != case.id:
        both_cases = f"case_id {found['case_id']!r} and case {case.id!r}"
        raise NotStartedError(f"input: {both_cases} are different cases; give only one")
    return found
