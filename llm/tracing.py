"""LangSmith: nothing is posted there because the environment says so; only where a run was started with `--tracing`.

LangChain adds a tracer of its own to whatever is invoked while `LANGSMITH_TRACING` is set, unless one is there
already. It would post every state: cases and answer keys.
"""

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langchain_core.tracers import BaseTracer, LangChainTracer
from langchain_core.tracers.schemas import Run


class Untraced(LangChainTracer):
    """Stands where LangChain would put its own, and is told nothing."""

    ignore_llm = ignore_chat_model = ignore_chain = ignore_agent = True
    ignore_retriever = ignore_retry = ignore_custom_event = True

    def __init__(self) -> None:
        """Without a client: LangSmith's opens connections."""
        BaseTracer.__init__(self)

    def copy_with_metadata_defaults(self, **_: Any) -> "Untraced":
        """Itself: there is nothing to have defaults for."""
        return self


class ModelTracer(LangChainTracer):
    """Posts what models were asked and answered; of graphs and nodes their names, times and errors, and no state."""

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
    """Let the runs of this process be traced, by the account that the environment names."""
    _posting[:] = [ModelTracer()]


def tracers() -> list[BaseCallbackHandler]:
    """What a run's graph is invoked with: who posts nothing, unless tracing is switched on."""
    return list(_posting or UNTRACED)


def untraced() -> RunnableConfig | None:
    """What keeps a call of a model outside of any graph, as a judge's, from being traced; within, the graph's holds."""
    around = var_child_runnable_config.get()
    return None if around and around.get("callbacks") else {"callbacks": UNTRACED}


def _without_state(run: Run) -> None:
    if run.run_type != "llm":
        run.inputs, run.outputs, run.events = {}, {}, []
