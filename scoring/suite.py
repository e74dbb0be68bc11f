"""Suites by name: how the answers of a run are scored; and the door for metrics of one's own."""

from collections.abc import Callable
from typing import TypeVar

from cases.registry import Registry, RegistryError, check_function, check_named
from scoring.aie.suite import suite as aie
from scoring.case_scores import AVERAGE, OWN_AVERAGE, SETTINGS, CaseScores, Metric, MetricFunction, Suite
from scoring.clini_eval.gates import suite as gates
from scoring.clini_eval.suite import paper_suite as clini_eval_paper
from scoring.clini_eval.suite import suite as clini_eval
from scoring.medchain.suite import suite as medchain
from scoring.medpmc.judged_suite import suite as medpmc_judged
from scoring.medpmc.patient_suite import suite as medpmc_patient
from scoring.medpmc.suite import suite as medpmc
from scoring.mvme.suite import suite as mvme

__all__ = ["SUITES", "CaseScores", "Metric", "Suite", "metric"]

SUITES: Registry[Suite] = Registry("suite")
for _suite in (medchain, mvme, aie, medpmc, medpmc_judged, medpmc_patient, clini_eval, clini_eval_paper, gates):
    SUITES.add(_suite.name, _suite)

# What else stands in a line of results, or in a column of a table beside the scores.
_TAKEN = frozenset(
    f"case_id epoch termination run scored failed unscored tokens cost seconds calls models error answers rounds stages"
    f" {AVERAGE} {OWN_AVERAGE}".split()
)
Function = TypeVar("Function", bound=MetricFunction)


def metric(name: str, *, suite: str, average: bool = False) -> Callable[[Function], Function]:
    """Register a metric of one's own as a column of a suite: ``@metric("urgency", suite="medchain")``.

    The function takes the case and the answers of a course, and gives a number, or None if the case has no value; it
    may be a coroutine. One that asks a judge takes ``settings`` too, for :func:`llm.ask`: its questions are recorded,
    counted and limited like those of the suite's own judges. Where it fails or gives anything else, the case's other
    scores stand, and the reason is recorded. The published average never moves.

    Args:
        name: of the column; small letters, digits and underscores.
        suite: the suite that it stands beside.
        average: also show an average of the published columns and of the metrics that ask for it.

    Raises:
        RegistryError: no such suite, the name is taken, or the suite has no average.
    """
    check_named("metric", name)
    beside = SUITES[suite]
    if not isinstance(average, bool):
        raise RegistryError(f"metric {name!r}: average = {average!r}; expected True or False")
    taken = {known.casefold() for known in (*beside.published, *_TAKEN)}
    if name.casefold() in taken:
        raise RegistryError(f"metric {name!r}: suite {suite!r} has a column of that name; try {f'own_{name}'!r}")
    if average and not beside.averaged:
        averaged = ", ".join(other for other, found in SUITES.items() if found.averaged)
        raise RegistryError(f"metric {name!r}: suite {suite!r} has no average; one is made of {averaged}")

    def register(function: Function) -> Function:
        made = Metric(name, function, average)
        arguments = f"case, answers, {SETTINGS}" if made.asks else "case, answers"
        check_function("metric", name, function, arguments, "a coroutine function")
        beside.metrics.add(name, made)
        return function

    return register
