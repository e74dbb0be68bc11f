"""LangSmith tracing: only for runs started with `--tracing`, never because of the environment alone.

While `LANGSMITH_TRACING` is set, LangChain adds a tracer to every invocation that has none. That tracer would post
every state, cases and answer keys included.
"""

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langchain_core.tracers import BaseTracer, LangChainTracer
from langchain_core.tracers.schemas import Run

from llm.masking import masked


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
_posting: list[BaseCallbackHandler] = []


def switch_on() -> None:
    """Trace the runs of this process, with the LangSmith account that the environment names."""
    _posting[:] = [ModelTracer()]


def tracers() -> list[BaseCallbackHandler]:
    """Return the callbacks of a run's graph: a tracer that posts nothing, unless tracing is switched on."""
    return list(_posting or UNTRACED)


def untraced() -> RunnableConfig | None:
    """Return a config that keeps a model call outside any graph (a judge's) untraced; None inside a graph."""
    enclosing = var_child_runnable_config.get()
    return None if enclosing and enclosing.get("callbacks") else {"callbacks": UNTRACED}


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


def _without_state(run: Run) -> None:
    run.error = run.error and masked(run.error)
    if run.run_type != "llm":
        run.inputs, run.outputs, run.events = {}, {}, []
