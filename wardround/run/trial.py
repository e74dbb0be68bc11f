"""Rehearse a case by rule before the first call if plug-ins, prompts or stages are not ours: faults cost nothing."""

import asyncio
import faulthandler
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from llm.errors import PROMPT_ERROR
from llm.events import unwatched, watching
from llm.limits import Meter
from llm.rehearsal import is_rehearsal, rehearsing
from llm.specs import WITHOUT_MODEL
from llm.trace import Call
from nodes.context import Context
from nodes.workflow.stages import STAGES, DecidedOutput
from scoring.case_scores import METRIC_FAILED
from wardround.config.experiment import AllLimits, ConfigurationError, Experiment
from wardround.config.selection import StoredItem
from wardround.plugins import record_plugins
from wardround.run.checkpoints import serializer
from wardround.run.faults import INTERNAL_ERROR, PLUGIN_ERROR
from wardround.run.one_case import Attempt, run_case
from wardround.run.tasks import TASKS
from wardround.store.result import Result
from wardround.store.traces import read_trace

_WHEN = "rehearsed by rule before a model is asked"
_LIMIT = 300.0  # seconds for a case: a few are enough, but a plug-in may load a model of its own
_LATER = 1.5  # of the limit: when the line that blocks is written


async def try_out(experiment: Experiment, context: Context, items: Sequence[StoredItem]) -> None:
    """Rehearse the first case of each language, if plug-ins, prompts or stages are not ours and a model is asked.

    Raises:
        ConfigurationError: a plug-in, prompt or stage fails; names the case and the reason.
    """
    third_party = (
        experiment.prompts is not None
        or record_plugins(experiment.known_names) is not None
        or any(stage.output is DecidedOutput for stage in STAGES.values())  # of a clone
    )
    if is_rehearsal() or not third_party or set(context.models.values()) <= set(WITHOUT_MODEL):
        return
    for item in {item.language: item for item in reversed(items)}.values():
        # To standard error, the line of code that blocks; later than the timeout, which ends what does not block: to
        # write the threads of a process that goes on can crash it.
        faulthandler.dump_traceback_later(_LIMIT * _LATER, file=2)
        try:
            async with asyncio.timeout(_LIMIT):
                result, asked, calls = await _rehearsed(experiment, context, item)
        except TimeoutError as error:
            raise ConfigurationError(f"{item.id}, {_WHEN}: has not ended after {_LIMIT:g} s") from error
        finally:
            faulthandler.cancel_dump_traceback_later()
        wrong = [f"{name}: {why}" for name, why in result.unscored.items() if why.startswith(METRIC_FAILED)]
        # An error in code of ours, too: a plug-in may hand on what that code does not expect.
        if result.termination in (PLUGIN_ERROR, PROMPT_ERROR, INTERNAL_ERROR):
            wrong.append(str(result.error))
        else:  # the code of a plug-in may have caught the error, and gone on without the answer
            wrong += [f"{call.id}: {call.error}" for call in calls if (call.error or "").startswith(PROMPT_ERROR)]
        remedy = "distinguish them by their `place`, or runs of a graph by the `scope` of its context"
        wrong += [
            f"call {call} is made {times} times, and one answer may stand for all; {remedy}"
            for call, times in asked.items()
            if times > 1
        ]
        if wrong:
            raise ConfigurationError(f"{item.id}, {_WHEN}: {'; '.join(wrong)}")


async def _rehearsed(
    experiment: Experiment, context: Context, item: StoredItem
) -> tuple[Result, Counter[str], Sequence[Call]]:
    """Run a case without models; return its result, how often each call was begun, and the calls. Nothing is kept."""
    asked: Counter[str] = Counter()

    def count(event: Mapping[str, Any]) -> None:
        if event["event"] == "call_started":
            asked[event["call"]] += 1

    unlimited = experiment.model_copy(update={"limits": AllLimits()})
    context = context.model_copy(update={"grow": "off"})
    graph = TASKS[experiment.graph].compiled(InMemorySaver(serde=serializer()), context)
    with tempfile.TemporaryDirectory() as folder, rehearsing(), unwatched(), watching(count):
        trace = Path(folder, "trace.jsonl")
        outcome = await run_case(unlimited, graph, Attempt(0, item, 0), context, trace, Meter("run"))
        calls = read_trace(trace).calls
    return outcome.result, asked, calls
