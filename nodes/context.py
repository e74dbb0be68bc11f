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
    ConsultingSettings,
    CourseSettings,
    GroupSettings,
    GrowthSettings,
    RecallSettings,
    ReconstructionSettings,
)


class Context(
    CaseSettings,
    CourseSettings,
    GroupSettings,
    ConsultingSettings,
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
    """Return the run's context, or the defaults if the graph was invoked without one.

    Raises:
        ValueError: the graph is a node of somebody's graph that has another context.
    """
    given: Any = runtime.context
    if given is None:
        return Context()
    if not isinstance(given, Context | GraphContext):
        raise ValueError(
            f"the graph around this one has a context of its own ({type(given).__name__}), which has no settings of "
            "ours; run this one in a node function, with its settings: graph.invoke(state, context={...})"
        )
    return given.whole if isinstance(given, GraphContext) else given


def refuse_configurable(config: Mapping[str, Any], runtime: Runtime[Context]) -> None:
    """Refuse settings in ``config["configurable"]``, which LangGraph would ignore silently.

    Raises:
        ValueError: a key there is a setting, or close to one, and is not in the context too (a server sets both), nor
            has the value that the run goes by.
    """
    configurable: Mapping[str, Any] = config.get("configurable", {})
    if "|" in configurable.get("checkpoint_ns", ""):  # a subgraph, which has a context of its own
        return
    given: Collection[str] = runtime.context.model_fields_set if runtime.context else ()
    for key in configurable:
        if key not in given and (meant := _setting_like(key)):
            if key == meant and configurable[key] == getattr(context_of(runtime), key):
                continue  # of a form that a server was sent as it was shown
            raise ValueError(f"config['configurable'][{key!r}] would be ignored; pass it as context={{{meant!r}: ...}}")


@cache
def _setting_like(key: str) -> str:
    """Return the setting that a key is or is close to, else ""; cached, as all nodes ask for the same few keys."""
    return next(iter(difflib.get_close_matches(key, Context.model_fields, n=1, cutoff=0.85)), "")
