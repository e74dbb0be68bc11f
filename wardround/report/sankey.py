"""Error propagation as a Sankey diagram: how many cases continue right, unscored or wrong, stage by stage."""

from typing import Any

from wardround.analysis.summary import propagation
from wardround.store.recorded_run import RecordedRun

WIDTH = 1000
_TOP, _FULL = 48, 150  # y of the stream, and its thickness with every case in it
_BAR, _DROP = 12, 205  # width of a stage's bar, and y at which wrong cases leave


def error_flows(run: RecordedRun) -> dict[str, Any] | None:
    """Return the diagram of a run; None if it is not scored stage by stage, or nothing is scored yet.

    ``flows`` are the bands between two stages, or from a stage down to its wrong cases: their kind, their outline as an
    SVG path, and their meaning in words. ``stations`` are the stages: their place, what became of the cases that
    entered them, and the words beside them. ``told`` is the text alternative.
    """
    if not (run.suite.stages and run.scored):
        return None
    passages = propagation(run.scored, run.suite)
    if not passages[0].entered:
        return None
    thickness, spacing = _FULL / passages[0].entered, (WIDTH - 130) / len(passages)
    stations, flows, texts = list[dict[str, Any]](), list[dict[str, str]](), list[str]()
    for number, passage in enumerate(passages):
        right, unscored = passage.still_right * thickness, passage.unscored * thickness
        lost = passage.entered - passage.still_right - passage.unscored
        x, wrong, title = 20 + number * spacing, lost * thickness, run.suite.titles[passage.stage]
        text = f"{title}: {passage.entered} entered, {passage.still_right} right, {lost} wrong"
        text += f", {passage.unscored} without a score" if passage.unscored else ""
        texts.append(text)
        all_unscored = 0 < passage.entered == passage.unscored
        label = f"{passage.unscored} not scored" if all_unscored else f"{passage.still_right} right"
        sizes = {"right": right, "unscored": unscored, "wrong": wrong}
        stations.append({"title": title, "x": x, "y": _TOP, **sizes, "told": text, "lost": lost, "label": label})
        start, end = x + _BAR, x + spacing
        for kind, y, size in (("right", float(_TOP), right), ("unscored", _TOP + right, unscored)):
            if size:
                flows.append({"kind": kind, "path": _band(start, y, end, y, size), "told": text})
        if wrong:
            path = _drop(start, _TOP + right + unscored, wrong, spacing)
            flows.append({"kind": "wrong", "path": path, "told": text})
    return {"stations": stations, "flows": flows, "told": "; ".join(texts)}


def _band(x: float, y: float, to_x: float, to_y: float, size: float) -> str:
    middle = (x + to_x) / 2
    return (
        f"M{x:.1f},{y:.1f} C{middle:.1f},{y:.1f} {middle:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f} v{size:.1f} "
        f"C{middle:.1f},{to_y + size:.1f} {middle:.1f},{y + size:.1f} {x:.1f},{y + size:.1f} Z"
    )


def _drop(x: float, y: float, size: float, spacing: float) -> str:
    """Return a band that leaves the stream downwards and tapers off."""
    end, bottom = x + spacing * 0.6, float(_DROP)
    return (
        f"M{x:.1f},{y:.1f} C{x + spacing * 0.4:.1f},{y:.1f} {end:.1f},{bottom - 40:.1f} {end:.1f},{bottom:.1f} "
        f"h-8 C{end - 8:.1f},{bottom - 20:.1f} {x + spacing * 0.2:.1f},{y + size:.1f} {x:.1f},{y + size:.1f} Z"
    )
