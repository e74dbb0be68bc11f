"""LangSmith tracing: only for runs started with `--tracing`, never because of the environment alone.

While `LANGSMITH_TRACING` is set, LangChain adds a tracer to every invocation that has none. That tracer would post
every state, cases and answer keys included.
"""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langchain_core.tracers import BaseTracer, LangChainTracer
from langchain_core.tracers.schemas import Run
from langsmith import Client

from llm.masking import masked
from llm.replies import mapped
from llm.scopes import holding

Part = TypeVar("Part")


class Untraced(LangChainTracer):
    """Takes the place of LangChain's tracer and records nothing."""

    ignore_llm = ignore_chat_model = ignore_chain = ignore_agent = True
    ignore_retriever = ignore_retry = ignore_custom_event = True

    def __init__(self) -> None:
        """Skip LangSmith's client, which opens connections."""
        BaseTracer.__init__(self)

    def copy_with_metadata_defaults(self, **_: Any) -> "Untraced":
        """Return itself, as there is no metadata."""
        return self


class ModelTracer(LangChainTracer):
    """Posts the calls of models; of graphs and nodes only names, times and errors, never states."""

    def _persist_run_single(self, run: Run) -> None:
        _without_state(run)
        super()._persist_run_single(run)

    @staticmethod
    def _update_run_single(run: Run) -> None:
        _without_state(run)
        LangChainTracer._update_run_single(run)


UNTRACED: list[BaseCallbackHandler] = [Untraced()]
_posting: list[ModelTracer] = []
_failures: list[Exception] = []  # of requests that LangSmith did not take
# At its end, Python waits for threads that are not daemons, and so for a service that does not answer; those that
# send compressed records never are.
_NOT_WAITED_FOR = {"LANGSMITH_USE_DAEMON": "true", "LANGSMITH_DISABLE_RUN_COMPRESSION": "true"}
_PATIENCE = 5.0  # seconds without anything taken


def switch_on() -> None:
    """Trace the runs of this process, with the LangSmith account that the environment names."""
    os.environ.update(_NOT_WAITED_FOR)
    _posting[:] = [ModelTracer(client=Client(tracing_error_callback=_failures.append))]


def left_unsent() -> int:
    """Wait for what is still being sent, as long as LangSmith takes it; return how many records it has not taken."""
    queue, failed, before = _posting[0].client.tracing_queue, len(_failures), 0
    assert queue is not None
    while (left := queue.unfinished_tasks) not in (0, before) and len(_failures) == failed:
        before = left
        with queue.all_tasks_done:
            queue.all_tasks_done.wait_for(lambda: not queue.unfinished_tasks, _PATIENCE)
    return left


def tracers() -> list[BaseCallbackHandler]:
    """Return the callbacks of a run's graph: a tracer that posts nothing, unless tracing is switched on."""
    return list(_posting or UNTRACED)


def untraced() -> RunnableConfig | None:
    """Return a config that keeps a model call outside any graph (a judge's) untraced; None inside a graph."""
    return None if enclosing_config().get("callbacks") else {"callbacks": UNTRACED}


def enclosing_config() -> RunnableConfig:
    """Return the config of the node or chain that is running now; empty if none is."""
    return var_child_runnable_config.get() or {}


def asked_of(role: str, call: str) -> AbstractContextManager[RunnableConfig | None]:
    """Name the role and the place of its call in the metadata of what is run inside the block.

    Who watches messages or events reads there who speaks: a node may ask several roles, and several doctors at once.
    """
    config = enclosing_config()
    named = {**config.get("metadata", {}), "role": role, "call": call}
    return holding(var_child_runnable_config, {**config, "metadata": named})


def outside_tracers(callbacks: Callbacks) -> Callbacks:
    """Return callbacks that a graph inherits from the program around it, without LangChain's tracers.

    These would post its states. Callbacks of our own graphs, and those that one is given itself (a list), stay as they
    are, in which case the same object is returned.
    """
    if not isinstance(callbacks, BaseCallbackManager) or UNTRACED[0] in callbacks.handlers:
        return callbacks
    foreign = [one for one in callbacks.handlers if isinstance(one, LangChainTracer) and one not in _posting]
    kept = callbacks.copy() if foreign else callbacks
    for tracer in foreign:
        kept.remove_handler(tracer)
    return kept


def without_tracers(config: RunnableConfig | None) -> RunnableConfig | None:
    """Return a config without the tracers of the graph or chain that a graph is called from."""
    return {**config, "callbacks": outside_tracers(config["callbacks"])} if config and "callbacks" in config else config


def is_traced() -> bool:
    """Whether a graph that is called now would inherit tracers."""
    callbacks = enclosing_config().get("callbacks")
    return outside_tracers(callbacks) is not callbacks


def each_outside_tracers(parts: Iterator[Part]) -> Iterator[Part]:
    """Yield the parts of a stream, each made without the tracers around; the caller works with a part inside them."""
    while True:
        with _outside_tracers():
            try:
                part = next(parts)
            except StopIteration:
                return
        yield part


async def aeach_outside_tracers(parts: AsyncIterator[Part]) -> AsyncIterator[Part]:
    """Yield the parts of a stream as `each_outside_tracers` does."""
    while True:
        with _outside_tracers():
            try:
                part = await anext(parts)
            except StopAsyncIteration:
                return
        yield part


def _outside_tracers() -> AbstractContextManager[object]:
    return holding(var_child_runnable_config, without_tracers(enclosing_config()))


def _without_state(run: Run) -> None:
    run.error = run.error and masked(run.error)
    # The fields of the model that is called: among them the headers, which a block fills in from the environment.
    run.serialized = mapped(run.serialized, lambda part: masked(part) if isinstance(part, str) else part)
    if run.run_type != "llm":
        run.inputs, run.outputs, run.events = {}, {}, []
