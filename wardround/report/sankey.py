"""Error propagation as a Sankey diagram: how many cases go on right, without a score, or wrong, stage by stage."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.medchain.error_propagation import error_propagation
from wardround.store.recorded_run import RecordedRun

WIDTH = 1000
_TOP, _FULL = 48, 150  # where the stream runs, and how thick it is when every case is in it
_BAR, _DROP = 12, 205  # the width of a stage's bar, and where what went wrong ends


@dataclass(frozen=True)
class Flow:
    """A band between two stages, or from a stage down to what went wrong there."""

    kind: str  # `right`, `unscored` or `wrong`
    path: str  # its outline, as SVG draws it
    told: str  # what it means, in words


@dataclass(frozen=True)
class Station:
    """A stage: its place and what became of the cases that entered it."""

    title: str
    x: float
    y: float
    right: float
    unscored: float
    wrong: float
    told: str
    lost: int
    label: str


@dataclass(frozen=True)
class Flows:
    """The whole diagram, and the same in one sentence for who cannot see it."""

    stations: Sequence[Station]
    flows: Sequence[Flow]
    told: str


def error_flows(run: RecordedRun) -> Flows | None:
    """The diagram of a run; None if it is not scored stage by stage, or nothing is scored yet."""
    if not (run.suite.stages and run.scored):
        return None
    scores, cases = [one.scores for one in run.scored], [one.case_id for one in run.scored]
    passages = error_propagation(scores, run.suite.stages, cases=cases)
    if not passages or not passages[0].entered:
        return None
    thick = _FULL / passages[0].entered
    apart = (WIDTH - 130) / len(passages)
    stations, flows, told = list[Station](), list[Flow](), list[str]()
    for number, passage in enumerate(passages):
        right, unscored = passage.still_right * thick, passage.unscored * thick
        lost = passage.entered - passage.still_right - passage.unscored
        x, wrong, title = 20 + number * apart, lost * thick, run.suite.titles[passage.stage]
        words = f"{title}: {passage.entered} entered, {passage.still_right} right, {lost} wrong"
        words += f", {passage.unscored} without a score" if passage.unscored else ""
        told.append(words)
        none = 0 < passage.entered == passage.unscored
        label = f"{passage.unscored} not scored" if none else f"{passage.still_right} right"
        stations.append(Station(title, x, _TOP, right, unscored, wrong, words, lost, label))
        start, end = x + _BAR, x + apart
        for kind, y, size in (("right", float(_TOP), right), ("unscored", _TOP + right, unscored)):
            if size:
                flows.append(Flow(kind, _band(start, y, end, y, size), words))
        if wrong:
            flows.append(Flow("wrong", _drop(start, _TOP + right + unscored, wrong, apart), words))
    return Flows(stations, flows, "; ".join(told))


def _band(x: float, y: float, to_x: float, to_y: float, size: float) -> str:
    middle = (x + to_x) / 2
    return (
        f"M{x:.1f},{y:.1f} C{middle:.1f},{y:.1f} {middle:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f} v{size:.1f} "
        f"C{middle:.1f},{to_y + size:.1f} {middle:.1f},{y + size:.1f} {x:.1f},{y + size:.1f} Z"
    )


def _drop(x: float, y: float, size: float, apart: float) -> str:
    """A band that leaves the stream and thins out below it."""
    end, low = x + apart * 0.6, float(_DROP)
    return (
        f"M{x:.1f},{y:.1f} C{x + apart * 0.4:.1f},{y:.1f} {end:.1f},{low - 40:.1f} {end:.1f},{low:.1f} "
        f"h-8 C{end - 8:.1f},{low - 20:.1f} {x + apart * 0.2:.1f},{y + size:.1f} {x:.1f},{y + size:.1f} Z"
    )
