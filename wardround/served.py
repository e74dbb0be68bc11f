"""The graphs as LangGraph's server imports them, after the plug-ins it was started with are loaded.

The server is a separate process: the options of `wardround dev` reach it through the environment.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Self

from langgraph_sdk.runtime import ServerRuntime
from pydantic import GetJsonSchemaHandler, create_model, model_validator

from cases.files import builtin_folder
from cases.pictures import only_pictures_in
from llm import ModelSettings
from llm.blocks import ModelBlock
from llm.egress import close_egress
from nodes.consultation.example import EXAMPLES
from prompts import add_prompts
from prompts.complete import warm_up
from wardround.plugins import VARIABLE, load_plugins
from wardround.serving.allowed import REACHING, allowed
from wardround.serving.mended import mend
from wardround.serving.quiet import keep_log_short
from wardround.serving.served_graph import ServedGraph, check_context

PROMPTS = "WARDROUND_PROMPTS"

if os.environ.get("WARDROUND_NO_EGRESS"):
    close_egress()
load_plugins(filter(None, os.environ.get(VARIABLE, "").split("\n")))
if folder := os.environ.get(PROMPTS):
    add_prompts(folder)

from graphs.catalogue import served  # noqa: E402  their forms list what the plug-ins have brought
from graphs.state_graph import Graph  # noqa: E402


class _Served(ModelSettings):
    """A context on a server, where it may come from anybody: it may name only allowed files, servers and models."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema, with the models that the server allows as the choices for each role."""
        form: dict[str, Any] = handler.resolve_ref_schema(handler(core_schema))
        choice = {"type": "string", "examples" if allowed().any_of_a_server else "enum": allowed().choices}
        asks: Any = getattr(cls, "asks", None)
        settings: Any = cls()
        for_request = sorted(asks(settings.whole)) if asks else []
        roles = ["default", *(key for key in for_request if "." not in key and not key[-1].isdigit())]
        by_role = {"properties": dict.fromkeys(roles, choice), "additionalProperties": choice}
        form["properties"]["models"] |= by_role
        return form

    @model_validator(mode="before")
    @classmethod
    def _without_what_a_form_fills_in(cls, given: Any) -> Any:
        """Leave out settings at their default: a form sends all that it shows, also what its patient would refuse."""
        if not isinstance(given, Mapping):
            return given
        shown = {name: field.get_default(call_default_factory=True) for name, field in cls.model_fields.items()}
        return {name: value for name, value in given.items() if name not in shown or value != shown[name]}

    @model_validator(mode="before")
    @classmethod
    def _only_files_that_the_server_allows(cls, given: Any) -> Any:
        """Refuse any other file or server before a field looks at it: what it says of a file tells what is there."""
        reaching = cls.model_fields.keys() & {*REACHING} - {"models"}
        for name in reaching & given.keys() if isinstance(given, Mapping) else ():
            value = given[name]
            if isinstance(value, str) and value != cls.model_fields[name].get_default(call_default_factory=True):
                _check_allowed(name, os.path.expanduser(value) if name in ("case_source", "example") else value)
        return given

    @model_validator(mode="before")
    @classmethod
    def _with_models_of_the_server(cls, given: Any) -> Any:
        if not allowed().blocks or not isinstance(given, Mapping):
            return given
        return {**given, "model": {**allowed().blocks, **given.get("model", {})}}

    @model_validator(mode="after")
    def _only_what_the_server_allows(self) -> Self:
        ours = list(allowed().blocks.values())
        for name in type(self).model_fields.keys() & set(REACHING):
            value = getattr(self, name)
            if value == type(self).model_fields[name].get_default(call_default_factory=True):
                continue
            named = [value]
            if isinstance(value, dict):
                named = [self.block(one).text for one in value.values() if self.block(one) not in ours]
            for one in named:
                _check_allowed(name, one)
        for name, block in self.model.items():
            if block not in ours:
                _check_block(name, block)
        return self


def _check_block(name: str, block: ModelBlock) -> None:
    """Refuse a block that reads the server's environment or files, or reaches other models and servers."""
    if block.api_key_env:
        raise ValueError(f"model.{name}: a run on a server may not use its environment; remove api_key_env")
    if block.extra_body or block.headers:  # {"model": ...} asks another model, a proxy's header another server
        raise ValueError(
            f"model.{name}: a run on a server may not set extra_body or headers, which can name other models "
            "and servers; remove them, or start the server with `wardround dev --experiment FILE` and its block"
        )
    if block.batch:
        raise ValueError(f"model.{name}: a run on a server may not name files; remove batch")


def _check_allowed(name: str, value: str) -> None:
    if not allowed().admits(name, value):
        raise ValueError(
            f"{name}: this server does not allow {value!r}; start it with `wardround dev --allow {name}={value}`"
        )


def _served(graph: Graph) -> ServedGraph:
    """Return a graph whose context is limited to what the server allows."""
    schema: Any = graph.context_schema
    return ServedGraph.of(graph, create_model(schema.__name__, __base__=(_Served, schema)))


def _per_request(name: str, graph: ServedGraph) -> Callable[[ServerRuntime[Any]], ServedGraph]:
    """Return the graph for each request, checking its context before LangGraph's server drops unknown fields."""
    schema: Any = graph.context_schema

    def for_request(runtime: ServerRuntime[Any]) -> ServedGraph:
        if run := runtime.execution_runtime:
            check_context(run.context or {}, schema, (graph.get_context_jsonschema() or {})["properties"], name)
        return graph

    return for_request


only_pictures_in([builtin_folder(), EXAMPLES, *allowed().picture_folders])

GRAPHS = {name: _served(one.build()) for name, one in served().items()}
globals().update({name: _per_request(name, graph) for name, graph in GRAPHS.items()})

keep_log_short()
mend()
warm_up()  # load now: a server must not block on disk reads during a run
