"""The registry of suites, and the decorator for custom metrics."""

from collections.abc import Callable, Mapping, Set
from typing import Any, TypeVar, get_args

from cases.registry import Registry, RegistryError, check_function, check_named
from cases.validation import nearest
from scoring.aie.suite import suite as aie
from scoring.case_scores import AVERAGE, OWN_AVERAGE, SETTINGS, CaseScores, Metric, MetricFunction, Part, Suite
from scoring.clini_eval.suite import gates
from scoring.clini_eval.suite import paper_suite as clini_eval_paper
from scoring.clini_eval.suite import suite as clini_eval
from scoring.medchain.suite import suite as medchain
from scoring.medpmc.judged_suite import judged_suite
from scoring.medpmc.patient_suite import patient_suite, standard_patient_suite
from scoring.medpmc.suite import suite as medpmc
from scoring.mvme.suite import suite as mvme

__all__ = ["SUITES", "CaseScores", "Metric", "Suite", "metric"]

# Other fields of results, and other columns of tables beside the scores.
_TAKEN = frozenset(
    f"case_id epoch termination run scored failed unscored tokens cost seconds calls models error answers rounds stages"
    f" {AVERAGE} {OWN_AVERAGE}".split()
)
Function = TypeVar("Function", bound=MetricFunction)


def _is_text(given: Any) -> bool:
    return isinstance(given, str)


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2


def _is_mean(given: Any) -> bool:
    return _is_pair(given) and _is_text(given[0])


def _are_ends(given: Any) -> bool:
    return _is_pair(given) and all(isinstance(end, int | float) for end in given) and bool(given[0] < given[1])


def _is_by_name(given: Any, of_each: Callable[[Any], bool]) -> bool:
    return isinstance(given, Mapping) and all(_is_text(name) and of_each(one) for name, one in given.items())


# What a field of a suite must be, and how an error says so.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "published": (
        lambda given: bool(given) and _is_by_name(given, _is_text),
        "a title for each column's name",
    ),
    "needs": (lambda given: isinstance(given, Set), "a set, such as frozenset({'report'})"),
    "means": (
        lambda given: _is_by_name(given, _is_mean),
        "a title and the averaged columns for each name, such as {'mean': ('Mean', ['a', 'b'])}",
    ),
    "ends": (
        lambda given: given is None or _are_ends(given) or _is_by_name(given, _are_ends),
        "the minimum and the maximum, such as (0, 1), or these by column",
    ),
    "notes": (_is_text, "a text"),
}


def _check_suite(name: str, suite: Any) -> None:
    """Refuse a suite that would end a run at its summary, when its cases have been paid.

    Raises:
        RegistryError: it is no `Suite` of this name, or a field has another type or names what there is not.
    """
    if not isinstance(suite, Suite):
        raise RegistryError(f"suite {name!r}: found {suite!r:.60}; expected a scoring.suite.Suite")
    if suite.name != name:
        raise RegistryError(f"suite {name!r}: its name is {suite.name!r}; expected the name that it is added under")
    published, needs = suite.published, suite.needs
    for place, (is_such, expected) in _FIELDS.items():
        if not is_such(given := getattr(suite, place)):
            raise RegistryError(f"suite {name!r}: {place} = {given!r:.60}; expected {expected}")
    check_function(
        "suite's function", "scored_by", suite.scored_by, f"case, answers, {SETTINGS}", "a coroutine function"
    )
    averaged = [column for _, columns in suite.means.values() for column in columns]
    several = suite.ends if isinstance(suite.ends, Mapping) else {}
    named = {
        "needs": (needs, get_args(Part)),
        "stages": (suite.stages, published),
        "neither": (suite.neither, published),
        "lengths": (suite.lengths, published),
        "judged": (suite.judged, published),
        "stands_in": ({*suite.stands_in, *suite.stands_in.values()}, published),
        "means": (averaged, published),
        "ends": (several, (*published, *suite.means, *suite.parts, AVERAGE)),
    }
    for place, (given, known) in named.items():
        if unknown := [one for one in given if one not in known]:
            raise RegistryError(f"suite {name!r}: {place}: unknown {unknown[0]!r}: {nearest(unknown[0], known)}")
    if taken := [column for column in (*published, *suite.means) if column.casefold() in _TAKEN]:
        raise RegistryError(f"suite {name!r}: {taken[0]!r} is a field of every result; name the column otherwise")


SUITES: Registry[Suite] = Registry("suite", _check_suite, lambda suite: getattr(suite, "scored_by", None))
_OF_MEDPMC = (medpmc, judged_suite, patient_suite, standard_patient_suite)
for _suite in (medchain, mvme, aie, *_OF_MEDPMC, clini_eval, clini_eval_paper, gates):
    SUITES.add(_suite.name, _suite)


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
