"""The registry of suites, and the decorator for custom metrics."""

from collections.abc import Callable
from typing import TypeVar

from cases.registry import Registry, RegistryError, check_function, check_named
from scoring.aie.suite import suite as aie
from scoring.case_scores import AVERAGE, OWN_AVERAGE, SETTINGS, CaseScores, Metric, MetricFunction, Suite
from scoring.clini_eval.suite import gates
from scoring.clini_eval.suite import paper_suite as clini_eval_paper
from scoring.clini_eval.suite import suite as clini_eval
from scoring.medchain.suite import suite as medchain
from scoring.medpmc.suite import judged_suite, patient_suite, standard_patient_suite
from scoring.medpmc.suite import suite as medpmc
from scoring.mvme.suite import suite as mvme

__all__ = ["SUITES", "CaseScores", "Metric", "Suite", "metric"]

SUITES: Registry[Suite] = Registry("suite")
_OF_MEDPMC = (medpmc, judged_suite, patient_suite, standard_patient_suite)
for _suite in (medchain, mvme, aie, *_OF_MEDPMC, clini_eval, clini_eval_paper, gates):
    SUITES.add(_suite.name, _suite)

# Other fields of results, and other columns of tables beside the scores.
_TAKEN = frozenset(
    f"case_id epoch termination run scored failed unscored tokens cost seconds calls models error answers rounds stages"
    f" {AVERAGE} {OWN_AVERAGE}".split()
)
Function = TypeVar("Function", bound=MetricFunction)


def metric(name: str, *, suite: str, average: bool = False) -> Callable[[Function], Function]:
    """Register a custom metric as a column of a suite: ``@metric("urgency", suite="medchain")``.

    The function takes the case and the answers, and returns a number, or None if the case has no value; it may be a
    coroutine. A metric that asks a judge also takes ``settings``, to be passed to :func:`llm.ask`: its questions are
    recorded, counted and limited like those of the suite's own judges. If it fails or returns anything else, the case's
    other scores stand, and the reason is recorded. The published average does not change.

    Args:
        name: the column's name: lower-case letters, digits and underscores.
        suite: the suite to add it to.
        average: whether to show an average of the published columns and all metrics with this flag.

    Raises:
        RegistryError: there is no such suite, the name is taken, or the suite has no average.
    """
    check_named("metric", name)
    target = SUITES[suite]
    if not isinstance(average, bool):
        raise RegistryError(f"metric {name!r}: average = {average!r}; expected True or False")
    taken = {known.casefold() for known in (*target.published, *_TAKEN)}
    if name.casefold() in taken:
        raise RegistryError(
            f"metric {name!r}: suite {suite!r} already has a column of that name; try {f'own_{name}'!r}"
        )
    if average and not target.averaged:
        averaged = ", ".join(other for other, found in SUITES.items() if found.averaged)
        raise RegistryError(f"metric {name!r}: suite {suite!r} has no average; suites with an average: {averaged}")

    def register(function: Function) -> Function:
        registered = Metric(name, function, average)
        arguments = f"case, answers, {SETTINGS}" if registered.asks else "case, answers"
        check_function("metric", name, function, arguments, "a coroutine function")
        target.metrics.add(name, registered, function)
        return function

    return register
