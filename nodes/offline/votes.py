"""The offline rules of the doctors: decisions by the vote of similar cases and by what the findings name.

Each rule reads what a model would read (the chart and the recalled cases) and nothing else.
"""

from collections.abc import Callable, Sequence

from cases.vocabulary import normalise
from nodes.state.chart import Chart
from nodes.state.decisions import Decision, Report
from nodes.workflow.stages import Stage
from retrieval import Neighbour


def weights(stage: Stage, neighbours: Sequence[Neighbour], image_class: str | None = None) -> dict[str, float]:
    """How much the similar cases speak for each choice: similarities summed, as shares of the whole."""
    votes: dict[str, float] = {}
    spelling: dict[str, str] = {}
    total = sum(max(neighbour.similarity, 1e-6) for neighbour in neighbours)
    for neighbour in neighbours:
        for choice in stage.precedent(neighbour.case, image_class):
            key = spelling.setdefault(normalise(choice), choice)
            votes[key] = votes.get(key, 0.0) + max(neighbour.similarity, 1e-6) / total
    return dict(sorted(votes.items(), key=lambda item: (-round(item[1], 9), item[0])))


def majority(
    stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], options: Sequence[str], image_class: str | None
) -> Decision:
    """What at least half of the (weighted) similar cases hold; the strongest single choice if nothing reaches that."""
    share = weights(stage, neighbours, image_class)
    most = [choice for choice, weight in share.items() if weight >= 0.5] or list(share)[:1]
    chosen = _described(stage, chart) or most
    return decision_of(stage, chosen, chart, options)


def nearest(
    stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], options: Sequence[str], image_class: str | None
) -> Decision:
    """What the nearest case that says anything holds."""
    if described := _described(stage, chart):
        return decision_of(stage, described, chart, options)
    for neighbour in neighbours:
        if chosen := list(stage.precedent(neighbour.case, image_class)):
            return decision_of(stage, chosen, chart, options)
    return decision_of(stage, [], chart, options)


def lenient(
    stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], options: Sequence[str], image_class: str | None
) -> Decision:
    """What at least a third of the (weighted) similar cases hold."""
    share = weights(stage, neighbours, image_class)
    if stage.single:
        return decision_of(stage, _described(stage, chart) or list(share)[:1], chart, options)
    return decision_of(stage, [choice for choice, weight in share.items() if weight >= 1 / 3 - 1e-9], chart, options)


def _described(stage: Stage, chart: Chart) -> list[str]:
    """What is to be reported, where it was handed over in words: it is reported as it is described."""
    return list(chart.results.values()) if stage.decision is Report else []


def rule_of(seat: int) -> Callable[..., Decision]:
    """How the doctor of a seat weighs the similar cases; the first seat is 1."""
    return (nearest, majority, lenient)[(seat - 1) % 3]


def decision_of(stage: Stage, chosen: Sequence[str], chart: Chart, options: Sequence[str]) -> Decision:
    """The choices as a decision of the stage's type; without any, the answer a clinic gives when it knows nothing."""
    if options:
        chosen = [choice for choice in chosen if choice in options]
    return stage.decision.model_validate(stage.without_model(chosen, chart, options))


def agreement(decision: Decision, other: Decision) -> float:
    """Overlap of two decisions of one kind, in [0, 1]; two empty ones agree."""
    left = {normalise(choice) for choice in decision.choices()}
    right = {normalise(choice) for choice in other.choices()}
    return len(left & right) / len(left | right) if left | right else 1.0
