"""Figures of tables. The same table gives the same bytes: no date, fixed ids."""

import io
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wardround.tables.consensus import AFTER
from wardround.tables.table import Measured, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people who see few colours can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = "osD^vPX"
_STYLE: Any = {
    "svg.hashsalt": "wardround",
    "svg.fonttype": "none",  # text stays text
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "text.parse_math": False,
}
_ACROSS = 4  # panels side by side


def draw_scores(table: Table) -> "Figure":
    """A panel for each score: every run's mean and interval."""
    measured = [place for place, column in enumerate(table.columns) if column.measured]
    names = [str(row[0]) for row in table.rows]
    down = math.ceil(len(measured) / _ACROSS)
    across = math.ceil(len(measured) / down)
    figure, panels = _panels(down, across, (2.1 * across + 0.9, down * (0.75 + 0.27 * len(names))), sharey=True)
    for panel, place in zip(panels, measured, strict=False):
        panel.set_title(table.columns[place].title, loc="left")
        panel.grid(axis="y", visible=False)
        panel.margins(x=0.12)
        if ends := table.columns[place].ends:
            room = 0.05 * (ends[1] - ends[0])
            panel.set_xlim(ends[0] - room, ends[1] + room)
        for row, name in enumerate(names):
            _interval(panel, table.rows[row][place], row, _colour(row), MARKERS[row % len(MARKERS)], name)
    for panel in panels[len(measured) :]:
        panel.set_visible(False)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def draw_consensus(table: Table) -> "Figure":
    """The share of cases in consensus by round, a line a run (AI Hospital, Figure 4)."""
    rounds = [(place, int(column.title)) for place, column in enumerate(table.columns) if column.name.startswith(AFTER)]
    figure, (panel,) = _panels(1, 1, (4.8, 3.0))
    for number, row in enumerate(table.rows):
        known = [point for place, at in rounds if (point := _points(row[place], at)) is not None]
        if known:
            _line(panel, known, number, str(row[0]), shift=0.04 * (number - (len(table.rows) - 1) / 2))
    panel.set_xticks([at for _, at in rounds])
    panel.set(xlabel="Rounds of discussion", ylabel="Share of cases in consensus", ylim=(-0.03, 1.03))
    panel.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def draw_error_propagation(table: Table) -> "Figure":
    """Cases still right after each stage, and the accuracy of each stage given that (MedChain, Figure 1)."""
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(str(row[0]) for row in table.rows))
    stages = list(dict.fromkeys(str(row[1]) for row in table.rows))
    figure, (left, right) = _panels(1, 2, (8.6, 3.2))
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        rows = [row for row in table.rows if row[0] == name]
        shift = (number - (len(names) - 1) / 2) * width
        counts = [int(row[4]) for row in rows if isinstance(row[4], int)]
        bars = left.bar(
            [at + shift for at in range(len(counts))], counts, width * 0.92, color=_colour(number), label=name
        )
        left.bar_label(bars, fontsize=7, padding=1)
        points = [point for at, row in enumerate(rows) if (point := _points(row[5], at)) is not None]
        _line(right, points, number, name, shift=0.05 * (number - (len(names) - 1) / 2))
    for panel, title in ((left, "Cases still right after the stage"), (right, "Accuracy, all earlier stages right")):
        panel.set_title(title, loc="left")
        panel.set_xticks(range(len(stages)), stages, rotation=30, ha="right", rotation_mode="anchor")
        panel.grid(axis="x", visible=False)
    left.yaxis.set_major_locator(MaxNLocator(integer=True))
    right.set_ylim(-0.03, 1.03)
    if len(names) > 1:
        right.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def as_svg(figure: "Figure") -> str:
    """The figure as SVG."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def as_png(figure: "Figure") -> bytes:
    """The figure as PNG, fine enough for print."""
    import matplotlib

    picture = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(picture, format="png", dpi=200, metadata={"Software": None})
    return picture.getvalue()


def _panels(down: int, across: int, size: tuple[float, float], *, sharey: bool = False) -> "tuple[Figure, list[Axes]]":
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(down, across, sharey=sharey, squeeze=False)
    return figure, list(panels.flat)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


Point = tuple[float, float, float, float]  # place, mean, and the ends of the interval


def _points(cell: Any, at: float) -> Point | None:
    if not isinstance(cell, Measured) or cell.estimate.mean is None:
        return None
    mean = cell.estimate.mean
    low, high = cell.estimate.ci95 or (mean, mean)
    return at, mean, low, high


def _line(panel: "Axes", points: list[Point], number: int, label: str, shift: float = 0.0) -> None:
    """Means joined by a line, with their intervals; runs stand a little apart, so that none hides another."""
    places = [at + shift for at, *_ in points]
    means = [mean for _, mean, _, _ in points]
    errors = list(zip(*_whiskers(points), strict=True))
    panel.errorbar(
        places, means, yerr=errors or None, color=_colour(number), marker=MARKERS[number % len(MARKERS)],
        markersize=4.5, linewidth=1.3, elinewidth=1, capsize=2, label=label,
    )  # fmt: skip


def _interval(panel: "Axes", cell: Any, row: int, colour: str, marker: str, label: str) -> None:
    if (point := _points(cell, row)) is not None:
        errors = list(zip(*_whiskers([point]), strict=True))
        panel.errorbar(
            [point[1]], [row], xerr=errors, color=colour, marker=marker, markersize=5, capsize=2.5, label=label
        )


def _whiskers(points: list[Point]) -> Iterator[tuple[float, float]]:
    """How far each interval reaches to both sides of its mean, which rounding must not put outside of it."""
    return ((max(0.0, mean - low), max(0.0, high - mean)) for _, mean, low, high in points)
