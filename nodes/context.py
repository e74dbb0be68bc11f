"""What nodes read: every setting of every graph, those that a graph has no use for at their defaults."""

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
    """The run's context; the defaults where a graph was invoked without one."""
    given: Context | GraphContext | None = runtime.context
    return given.whole if isinstance(given, GraphContext) else given or Context()


def refuse_configurable(config: Mapping[str, Any], runtime: Runtime[Context]) -> None:
    """Settings stand in a graph's context; LangGraph would pass over them in ``config["configurable"]`` in silence.

    Raises:
        ValueError: a key there is a setting, or nearly one, and is not in the context as well (where a server puts it).
    """
    configurable: Mapping[str, Any] = config.get("configurable", {})
    if "|" in configurable.get("checkpoint_ns", ""):  # a graph within ours, with a context of its own
        return
    given: Collection[str] = runtime.context.model_fields_set if runtime.context else ()
    for key in configurable:
        if key not in given and (meant := _setting_like(key)):
            raise ValueError(f"config['configurable'][{key!r}] would be ignored; pass it as context={{{meant!r}: ...}}")


@cache
def _setting_like(key: str) -> str:
    """The setting that a key is or is nearly, else nothing; every node asks for the same few keys."""
    return next(iter(difflib.get_close_matches(key, Context.model_fields, n=1, cutoff=0.85)), "")
