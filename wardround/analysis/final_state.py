"""Score what a graph has returned in this process, as a run would; there is no run directory."""

from collections.abc import Mapping
from typing import Any

from langgraph.types import GraphOutput

from cases import Case
from cases.dialogues import Dialogue
from cases.notes import Note
from cases.validation import in_a_line
from graphs.contexts import CONTEXTS
from llm import ModelSettings
from llm.role import known_roles
from llm.specs import HUMAN, model_of
from nodes.context import Context, GraphContext
from nodes.workflow.admission import as_played
from scoring.case_scores import CaseScores
from scoring.suite import SUITES
from wardround.config.experiment import ConfigurationError, Experiment, GraphName, judging_roles
from wardround.run.own_loop import in_own_loop
from wardround.run.tasks import TASKS

_OF_THE_PATIENT = ("patient", "tracker")  # settings that decide which suites fit


def score(
    case: Case | Note,
    result: Mapping[str, Any] | GraphOutput[Any],
    *,
    context: Mapping[str, Any] | ModelSettings | None = None,
    suite: str | None = None,
    inferred_keys: bool = False,
) -> CaseScores:
    """Score the final state of a graph: ``wr.score(case, wr.clinical_workflow.invoke({"case": case}))``.

    The scores are those that a run of the same case writes to `results.jsonl`. Works inside and outside a running
    event loop, which waits meanwhile; `ascore` is the same as a coroutine.

    Args:
        case: the case, or the note of a reconstruction; only scoring reads its answer key.
        result: the state that the graph returned, also with ``version="v2"``.
        context: the settings that the graph was given. Their models also judge; judges without one are offline rules.
        suite: the suite to score by, such as ``aie`` for a consultation; the default one of the graph if None.
        inferred_keys: also score by items of the answer key that an importer inferred.

    Returns:
        The scores by name; where one is missing, ``unscored`` has the reason.

    Raises:
        ConfigurationError: the result is no final state of this case, the suite does not fit it, or a setting is
            invalid.
        InputError: a judge's model cannot be used.
        AskError: a judge's server refuses every question.
    """
    return in_own_loop(ascore(case, result, context=context, suite=suite, inferred_keys=inferred_keys))


async def ascore(
    case: Case | Note,
    result: Mapping[str, Any] | GraphOutput[Any],
    *,
    context: Mapping[str, Any] | ModelSettings | None = None,
    suite: str | None = None,
    inferred_keys: bool = False,
) -> CaseScores:
    """Score the final state of a graph; see `score`."""
    if isinstance(result, GraphOutput):
        result = {**result.value, "__interrupt__": result.interrupts} if result.interrupts else result.value
    graph = _graph_of(case, result)
    settings = _settings(graph, context)
    of_the_patient = {name: getattr(settings, name) for name in _OF_THE_PATIENT if name in settings.model_fields_set}
    try:
        experiment = Experiment(graph=graph, suite=suite, workflow=of_the_patient, inferred_keys=inferred_keys)
    except ValueError as error:
        raise ConfigurationError(in_a_line(error)) from error
    scored_by = SUITES[experiment.scored_by]
    if scored_by.asks:
        _refuse_people(settings)
    if isinstance(case, Case):
        case = as_played(case, settings)
    return await scored_by.score(experiment.to_score(case), TASKS[graph].answers(result), settings)


def _graph_of(case: Case | Note, result: Any) -> GraphName:
    """Return the graph that left a final state, by the keys that only its nodes write.

    Raises:
        ConfigurationError: it is no final state, or that of another case.
    """
    if not isinstance(case, Case | Note):
        raise ConfigurationError(f"case: expected a Case (or a Note), not {case!r:.60}")
    if not isinstance(result, Mapping):
        raise ConfigurationError(f"result: expected what a graph returned, not {result!r:.60}")
    if "__interrupt__" in result:
        raise ConfigurationError("result: the graph waits for a person's answer; resume it first")
    if result.get("case_id", case.id) != case.id:
        raise ConfigurationError(f"result: is of case {result['case_id']!r}, not {case.id!r}")
    if TASKS["clinical_workflow"].last in result:
        return "clinical_workflow"
    if TASKS["consultation"].last in result:
        alone: GraphName = "consultation" if "dialogue" in result else "one_step"
        return "dispute_resolution" if "consultations" in result else alone
    if isinstance(result.get(TASKS["reconstruction"].last), Dialogue):
        return "reconstruction"
    raise ConfigurationError(f"result: is not the final state of a graph; expected that of {', '.join(TASKS)}")


def _settings(graph: GraphName, context: Mapping[str, Any] | ModelSettings | None) -> Context:
    """Return the settings of a graph as its judges read them."""
    if isinstance(context, Context):
        return context
    try:
        own = context if isinstance(context, GraphContext) else CONTEXTS[graph].model_validate(context or {})
    except ValueError as error:
        raise ConfigurationError(f"context: {in_a_line(error)}") from error
    return own.whole


def _refuse_people(settings: Context) -> None:
    """Refuse a person as a judge, who could not be asked outside a graph."""
    stages_of = known_roles()
    judges = {model_of(role, stage, settings.models) for role in judging_roles() for stage in stages_of[role]}
    if HUMAN in judges:
        raise ConfigurationError("context: a person cannot judge here; name a model or 'offline' for the judging roles")
