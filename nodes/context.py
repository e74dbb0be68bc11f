"""The settings as nodes read them: those of all graphs, with defaults for the ones that a graph does not have."""

import difflib
from collections.abc import Collection, Mapping
from functools import cache, cached_property
from typing import Any

from langgraph.runtime import Runtime

from llm import ModelSettings
from nodes.settings import (
    CaseSettings,
    CollaborationSettings,
    CourseSettings,
    DialogueSettings,
    GroupSettings,
    GrowthSettings,
    RecallSettings,
    ReconstructionSettings,
)


class Context(
    CaseSettings,
    CourseSettings,
    GroupSettings,
    DialogueSettings,
    CollaborationSettings,
    RecallSettings,
    GrowthSettings,
    ReconstructionSettings,
):
    """All groups together. Users give a graph its own context, which has only what that graph obeys."""


class GraphContext(ModelSettings):
    """Base of the contexts of the graphs."""

    @cached_property
    def whole(self) -> Context:
        """The settings as nodes read them."""
        return Context.model_validate({name: getattr(self, name) for name in self.model_fields_set})


def context_of(runtime: Runtime[Context]) -> Context:
    """Return the run's context, or the defaults if the graph was invoked without one."""
    given: Context | GraphContext | None = runtime.context
    return given.whole if isinstance(given, GraphContext) else given or Context()


def refuse_configurable(config: Mapping[str, Any], runtime: Runtime[Context]) -> None:
    """Refuse settings in ``config["configurable"]``, which LangGraph would ignore silently.

    Raises:
        ValueError: a key there is a setting, or close to one, and is not in the context too (a server sets both).
    """
    configurable: Mapping[str, Any] = config.get("configurable", {})
    if "|" in configurable.get("checkpoint_ns", ""):  # a subgraph, which has a context of its own
        return
    given: Collection[str] = runtime.context.model_fields_set if runtime.context else ()
    for key in configurable:
        if key not in given and (meant := _setting_like(key)):
            raise ValueError(f"config['configurable'][{key!r}] would be ignored; pass it as context={{{meant!r}: ...}}")


@cache
def _setting_like(key: str) -> str:
    """Return the setting that a key is or is close to, else ""; cached, as all nodes ask for the same few keys."""
    return next(iter(difflib.get_close_matches(key, Context.model_fields, n=1, cutoff=0.85)), "")
