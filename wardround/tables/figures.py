"""Figures of tables. Equal tables give equal bytes: no date, fixed ids."""

import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import numpy as np
import pandas as pd

from wardround.tables.table import IN_WORDS, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, distinguishable with colour vision deficiency.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = "osD^vPX"
# Fonts with Chinese letters on Linux, Windows and macOS, for PNG; matplotlib's own has none.
_CHINESE_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei"),
    *("Microsoft YaHei", "SimHei", "PingFang SC", "Hiragino Sans GB", "Heiti SC"),
)
_STYLE = Path(__file__).with_name("figures.mplstyle")
_PANELS_ACROSS = 4  # panels side by side
_CHARACTERS_PER_INCH = 19  # in the smallest text
_MOST_NUMBERED = 6  # runs whose bars have room for their numbers


def draw_scores(table: Table) -> "Figure":
    """Draw a panel for each score with every run's mean and interval."""
    scores = [column for column in table.columns if column.mean]
    names = table.frame["run"].tolist()
    down = math.ceil(len(scores) / _PANELS_ACROSS)
    across = math.ceil(len(scores) / down)
    size = (2.1 * across + 0.9 + _further_width(names), down * (0.75 + 0.27 * len(names)))
    figure, panels = panels_of(down, across, size, sharey=True, used=len(scores))
    for panel, score in zip(panels, scores, strict=True):
        panel.set_title(score.title, loc="left")
        panel.grid(axis="y", visible=False)
        panel.margins(x=0.12)
        if score.ends:
            panel.set_xlim(*score.ends)
        points = table.points(score.name)
        panel.locator_params(axis="x", nbins=4)
        if points.empty:
            panel.set_xticks([])
        for row in points.index:
            point = points.loc[[row]]
            panel.errorbar(
                point["mean"], [row], xerr=_whiskers(point), **_style(row),
                markersize=5, capsize=2.5, label=names[row], clip_on=False,
            )  # fmt: skip
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def draw_consensus(table: Table) -> "Figure":
    """Draw the share of cases in consensus by round, a line per run (AI Hospital, Figure 4)."""
    rounds = {int(column.title): column.name for column in table.columns if column.title.isdecimal()}
    names = table.frame["run"].tolist()
    figure, (panel,) = panels_of(1, 1, _size_with_legend(4.8, 3.0, names))
    by_round = {number: table.points(name) for number, name in rounds.items()}
    for place, name in enumerate(names):
        known = pd.DataFrame({number: found.loc[place] for number, found in by_round.items() if place in found.index}).T
        if len(known):
            _line(panel, known, place, name, 0.04 * (place - (len(table.rows) - 1) / 2))
    panel.set_xticks(list(rounds))
    panel.set(xlabel="Rounds of discussion", ylabel="Share of cases in consensus", ylim=(0, 1))
    _explain(figure, [panel], names)
    return figure


def draw_error_propagation(table: Table) -> "Figure":
    """Draw the cases still right at each stage, and its accuracy where all before was right (MedChain, Figure 1)."""
    from matplotlib.ticker import MaxNLocator

    stages = table.frame["stage"].unique()
    runs = table.frame.groupby("run", sort=False)
    names = [str(name) for name in runs.groups]
    figure, (left, right) = panels_of(1, 2, _size_with_legend(8.6, 3.2, names))
    width = 0.8 / len(runs)
    accuracy = table.points("accuracy")
    for number, (name, rows) in enumerate(runs):
        shift = number - (len(runs) - 1) / 2
        at = np.arange(len(rows))
        bars = left.bar(at + shift * width, rows["still_right"], width * 0.92, color=_colour(number), label=name)
        if len(runs) <= _MOST_NUMBERED:
            left.bar_label(bars, fontsize=7, padding=1)
        left.bar(
            at + shift * width, rows["unscored"], width * 0.92, bottom=rows["still_right"],
            color="none", edgecolor=_colour(number), hatch="///", linewidth=0.6,
        )  # fmt: skip
        _line(right, accuracy.reindex(rows.index).set_axis(at).dropna(), number, str(name), min(0.05, width) * shift)
    left.set_title("Cases still right (hatched: unscored)", loc="left")
    right.set_title("Accuracy, all earlier stages right", loc="left")
    for panel in (left, right):
        panel.set_xticks(range(len(stages)), stages, rotation=30, ha="right", rotation_mode="anchor")
        panel.set_xlim(-0.5, len(stages) - 0.5)
        panel.grid(axis="x", visible=False)
    left.yaxis.set_major_locator(MaxNLocator(integer=True))
    left.set_ylim(0, 1.1 * max(1, (table.frame["still_right"] + table.frame["unscored"]).max()))
    right.set_ylim(0, 1)
    if len(runs) > 1:
        _explain(figure, [left, right], names)
    return figure


def draw_learning_curve(table: Table) -> "Figure":
    """Draw the average of each fifth of the cases, and its gain over the first run, a line per run."""
    names = table.frame["run"].unique().tolist()
    figure, panels = panels_of(1, 2, _size_with_legend(8.6, 3.2, names))
    _draw_lines(panels, table, "run", "block", xlabel="Fifth of the cases")
    _explain(figure, panels, names)
    return figure


def draw_simulators(table: Table) -> "Figure":
    """Draw a panel for each metric by round, a line per simulator (AIE, Figure 3a)."""
    metrics = sum(column.mean for column in table.columns)
    down = math.ceil(metrics / 3)
    figure, panels = panels_of(down, 3, (9.6, 2.5 * down), used=metrics)
    _draw_lines(panels, table, "simulator", "round", xlabel="Exchanges before")
    figure.supylabel(f"Percent (Length: {IN_WORDS})", fontsize="medium")
    _explain(figure, panels, table.frame["simulator"].unique().tolist(), loc="outside upper center", ncols=5)
    return figure


def draw_actions(table: Table) -> "Figure":
    """Draw a panel for each doctor: the stacked share of each action by turn (AIE, Figure 6c)."""
    from cycler import cycler

    actions = table.columns[3:]
    doctors = table.frame.groupby("run", sort=False)
    figure, panels = _panels_of_each(len(doctors), (2.6, 2.4), beside=2.4)
    shades = [*COLOURS, *("#999999", "#f0e442", "#882255")]
    for panel, (name, rows) in zip(panels, doctors, strict=True):
        panel.set_prop_cycle(cycler(color=shades))
        below = np.zeros(len(rows))
        for action in actions:
            share = rows[action.name].astype(float).to_numpy()
            panel.bar(rows["turn"].astype(int), share, 0.9, bottom=below, label=action.title)
            below += share
        panel.set_title(_title(name), loc="left")
        panel.set(xlabel="Turn", ylim=(0, 1), xlim=(0.4, table.frame["turn"].astype(int).max() + 0.6))
        panel.grid(visible=False)
    panels[0].set_ylabel("Share of dialogues that go on")
    _explain(figure, panels, [action.title for action in actions], fontsize=7)
    return figure


def draw_rounds(table: Table) -> "Figure":
    """Draw a panel for each doctor: boxes of coverage over dialogues, a line of right diagnoses (AIE, Figure 6d)."""
    doctors = table.frame.groupby("doctor", sort=False)
    figure, panels = _panels_of_each(len(doctors), (2.8, 2.6), beside=0.6)
    points = table.points("DIAGNOSIS")
    for number, (panel, (name, rows)) in enumerate(zip(panels, doctors, strict=True)):
        turns = rows["round"].astype(int)
        boxes = rows[rows["median"].notna()]  # no dialogue of the others names an action
        stats = [
            {"med": row["median"], "q1": row["q1"], "q3": row["q3"], "whislo": row["lowest"], "whishi": row["highest"]}
            for _, row in boxes.iterrows()
        ]
        panel.bxp(stats, positions=list(turns[boxes.index]), widths=0.6, showfliers=False, manage_ticks=False)
        _line(panel, points.reindex(rows.index).set_axis(turns).dropna(), number, "Diagnosis", 0.0)
        panel.set_title(_title(name), loc="left")
        panel.set(xlabel="Round", ylim=(0, 100), xlim=(0.4, table.frame["round"].astype(int).max() + 0.6))
    panels[0].set_ylabel("Percent: coverage (boxes),\ndiagnosis (line)")
    return figure


_SOURCE_TITLES = {"people": "Judged by people", "majority": "Most of the people", "judge": "Judged by a model or rules"}


def draw_win_rates(table: Table) -> "Figure":
    """Draw a panel for each kind of rater: the doctors' win rates, grouped by aspect (AIE, Figure 4)."""
    aspects = [column for column in table.columns if column.mean]
    judged = table.frame.groupby("judged", sort=False)
    figure, panels = panels_of(1, len(judged), (5.2 * len(judged), 3.4), sharey=True)
    for panel, (source, rows) in zip(panels, judged, strict=True):
        for number, (place, row) in enumerate(rows.iterrows()):
            beside = 0.1 * (number - (len(rows) - 1) / 2)
            for at, aspect in enumerate(aspects):
                point = table.points(aspect.name).reindex([place]).dropna()
                if len(point):
                    panel.errorbar(
                        [at + beside], point["mean"], yerr=_whiskers(point), **_style(number), markersize=5, capsize=2,
                        label=row["run"], clip_on=False,
                    )  # fmt: skip
        panel.axhline(50, color="0.6", linewidth=0.8)
        panel.set_title(_SOURCE_TITLES[str(source)], loc="left")
        panel.set_xticks(range(len(aspects)), [aspect.title for aspect in aspects])
        panel.set(xlim=(-0.5, len(aspects) - 0.5), ylim=(0, 100))
        panel.grid(axis="x", visible=False)
    panels[0].set_ylabel("Wins, percent of what was decided")
    _explain(figure, panels, table.frame["run"].unique().tolist(), loc="outside upper center", ncols=7)
    return figure


def draw_radar(table: Table) -> "Figure":
    """Draw a radar for each kind of rater: win rates relative to the best doctor's in each aspect (AIE, Figure 6a)."""
    aspects = [column for column in table.columns if column.mean]
    judged = table.frame.groupby("judged", sort=False)
    figure, panels = panels_of(1, len(judged), (4.4 * len(judged), 5.0), projection="polar")
    angles = np.linspace(0, 2 * math.pi, len(aspects), endpoint=False)
    for panel, (source, rows) in zip(panels, judged, strict=True):
        rates = rows[[f"{aspect.name}_mean" for aspect in aspects]].astype(float)
        scaled = rates / rates.max().replace(0, np.nan)
        for number, (name, line) in enumerate(zip(rows["run"], scaled.to_numpy(), strict=True)):
            look: dict[str, Any] = {"color": _colour(number), "marker": MARKERS[number % len(MARKERS)], "markersize": 4}
            panel.plot([*angles, angles[0]], [*line, line[0]], label=name, clip_on=False, **look)
        panel.set_title(_SOURCE_TITLES[str(source)], loc="left", y=0.98)
        panel.set_xticks(angles, [aspect.title for aspect in aspects])
        panel.tick_params(axis="x", pad=14)
        panel.set(ylim=(0, 1), yticks=(0.5, 1.0))
    scale = "1: the best doctor's win rate in the aspect"
    _explain(figure, panels, table.frame["run"].unique().tolist(), title=scale, loc="outside upper center", ncols=4)
    return figure


def draw_agreement(table: Table) -> "Figure":
    """Draw the mean correlation of each column with people's judgements, the highest on top (AIE, Figure 5b)."""
    figure, (panel,) = panels_of(1, 1, (5.4, 0.9 + 0.22 * len(table.rows)))
    points = table.points("r").dropna()
    panel.errorbar(points["mean"], points.index, xerr=_whiskers(points), fmt="o", color=_colour(0), capsize=2)
    panel.axvline(0, color="0.6", linewidth=0.8)
    panel.set_yticks(range(len(table.rows)), table.frame["column"].tolist())
    panel.set_ylim(len(table.rows) - 0.5, -0.5)
    panel.set(xlabel=next(column.title for column in table.columns if column.name == "r"), xlim=(-1, 1))
    panel.grid(axis="y", visible=False)
    return figure


def draw_formats(table: Table) -> "Figure":
    """Draw a panel for each doctor: right diagnoses by format with intervals, by examination (AIE, Figure 6b)."""
    doctors = table.frame.groupby("doctor", sort=False)
    figure, panels = _panels_of_each(len(doctors), (0.8 + 0.7 * len(table.rows) / len(doctors), 3.0), beside=0.6)
    names = [next(one.title for one in table.columns if one.name == name) for name in ("mcq", "talked")]
    for panel, (doctor, rows) in zip(panels, doctors, strict=True):
        for number, name in enumerate(("mcq", "talked")):
            points = table.points(name).reindex(rows.index).reset_index(drop=True).dropna()
            panel.errorbar(
                points.index + 0.2 * (number - 0.5), points["mean"], yerr=_whiskers(points), fmt=MARKERS[number],
                color=_colour(number), capsize=2, label=names[number], clip_on=False,
            )  # fmt: skip
        panel.set_xticks(range(len(rows)), rows["examination"].tolist())
        panel.set_ylim(0, 100)
        panel.grid(axis="x", visible=False)
        if len(doctors) > 1:
            panel.set_title(_title(doctor), loc="left")
    panels[0].set_ylabel("Right diagnoses, percent")
    _explain(figure, panels, names, loc="outside upper center", ncols=2)
    return figure


def draw_matrix(table: Table, lowest: int = -1, colours: str = "RdBu_r") -> "Figure":
    """Draw correlations as colours, from -1 to 1 (AIE, Figure 5)."""
    names, rows = [column.name for column in table.columns[1:]], table.frame[table.columns[0].name].tolist()
    size = 2.4 + 0.24 * len(names)
    figure, (panel,) = panels_of(1, 1, (size + 0.8, size))
    values = table.frame[names].astype(float).to_numpy()
    image = panel.imshow(values, cmap=colours, vmin=lowest, vmax=1)
    panel.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    panel.set_yticks(range(len(rows)), rows, fontsize=7)
    panel.grid(visible=False)
    figure.colorbar(image, ax=panel, shrink=0.6)
    return figure


draw_shares = partial(draw_matrix, lowest=0, colours="Blues")  # from 0 to 1 (AIE, Figure 3c)


def draw_information(table: Table) -> "Figure":
    """Draw a panel for each kind of information: the share known by round, a line per run (Med-PMC, Figure 4a)."""
    names = table.frame["run"].unique().tolist()
    panels_across = sum(column.mean for column in table.columns)
    figure, panels = panels_of(1, panels_across, _size_with_legend(9.0, 3.0, names), sharey=True)
    last = table.frame["round"].max() + 0.5
    _draw_lines(panels, table, "run", "round", xlabel="Round", xlim=(0.5, last))
    if len(names) > 1:
        _explain(figure, panels, names)
    return figure


def figures_of(table: Table) -> "Iterator[tuple[str, Figure]]":
    """Yield the figures of a table by name, with a note below where offline rules took part."""
    for name, draw in table.pictures.items():
        with _our_style():
            figure = draw(table)
        if table.by_rules:
            lines = textwrap.wrap(" ".join(table.by_rules), int(_CHARACTERS_PER_INCH * figure.get_figwidth()))
            figure.supxlabel("\n".join(lines), fontsize=6, color="0.4", parse_math=False)
        yield name, figure


def as_svg(figure: "Figure") -> str:
    """Return the figure as SVG."""
    text = io.StringIO()
    with _our_style():
        figure.savefig(text, format="svg", metadata={"Date": None})
    figure.set_layout_engine("none")  # the layout is done; the next picture need not repeat it
    return text.getvalue()


def as_png(figure: "Figure") -> bytes:
    """Return the figure as PNG, at print resolution; Chinese letters need a font of this machine that has them."""
    from matplotlib.font_manager import fontManager
    from matplotlib.text import Text

    installed = set(fontManager.get_font_names())
    for text in figure.findobj(Text):
        text.set_fontfamily(["sans-serif", *(font for font in _CHINESE_FONTS if font in installed)])
    picture = io.BytesIO()
    with _our_style():
        figure.savefig(picture, format="png", dpi=200, metadata={"Software": None})
    return picture.getvalue()


@contextmanager
def _our_style() -> Iterator[None]:
    """Draw in our style; a letter that no font has is a box in PNG, and in SVG a matter of the reader's fonts."""
    import matplotlib

    with matplotlib.rc_context(fname=_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def panels_of(
    down: int,
    across: int,
    size: tuple[float, float],
    *,
    used: int | None = None,
    sharey: bool = False,
    heights: Sequence[float] | None = None,
    projection: str | None = None,
) -> "tuple[Figure, list[Axes]]":
    """Return an empty figure in our style and the panels in use, left to right; ``heights`` are the rows' ratios."""
    from matplotlib.figure import Figure

    with _our_style():
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(
            down, across, sharey=sharey, squeeze=False, height_ratios=heights, subplot_kw={"projection": projection}
        )
    for panel in panels.flat[used or panels.size :]:
        panel.set_visible(False)
    return figure, list(panels.flat[:used])


def _panels_of_each(number: int, size: tuple[float, float], beside: float) -> "tuple[Figure, list[Axes]]":
    """Return panels of this size, several side by side."""
    down, across = math.ceil(number / _PANELS_ACROSS), min(number, _PANELS_ACROSS)
    return panels_of(down, across, (size[0] * across + beside, size[1] * down), sharey=True, used=number)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _style(number: int) -> dict[str, Any]:
    """Return the colour and marker of a run, and its line style, dashed once colours repeat."""
    line = "-" if number < len(COLOURS) else "--"
    return {"color": _colour(number), "marker": MARKERS[number % len(MARKERS)], "linestyle": line}


def _draw_lines(panels: "Sequence[Axes]", table: Table, by: str, along: str, **look: Any) -> None:
    """Draw a panel for each mean, with a line per group along a column of numbers."""
    groups = table.frame.groupby(by, sort=False)
    for panel, column in zip(panels, [column for column in table.columns if column.mean], strict=True):
        points = table.points(column.name)
        for number, (name, rows) in enumerate(groups):
            numbers = pd.to_numeric(rows[along], errors="coerce").dropna().astype(int)
            if len(known := points.reindex(numbers.index).set_axis(numbers).dropna()):
                _line(panel, known, number, str(name), 0.04 * (number - (len(groups) - 1) / 2))
        panel.set_title(column.title, loc="left")
        panel.set(**look)
        if column.ends:
            panel.set_ylim(*column.ends)


def _explain(figure: "Figure", panels: "Sequence[Axes]", names: Sequence[str], **look: Any) -> None:
    """Add a legend of what any panel shows of these names, in their order; the note of rules has the lower edge.

    With ``ncols``, it has at most as many columns as there is room for.
    """
    shown = {
        label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    labels = [name for name in map(str, names) if name in shown]
    if labels and "ncols" in look:
        look["ncols"] = max(1, min(look["ncols"], int(figure.get_figwidth() / (_widest(labels) + 0.6))))
    if labels:
        figure.legend([shown[name] for name in labels], labels, frameon=False, **{"loc": "outside right upper", **look})


def _size_with_legend(width: float, height: float, names: Sequence[str]) -> tuple[float, float]:
    """Return the size in inches at which a legend of these names at the right leaves the panels their room."""
    return width + _further_width(names), max(height, 0.4 + 0.2 * len(names))


def _further_width(names: Sequence[str]) -> float:
    """Return the inches that the longest of these names needs beyond a name of usual length."""
    return max(0.0, _widest(names) - 1.8)


def _widest(names: Sequence[str]) -> float:
    """Return the width in inches of the longest of these names, written small."""
    from matplotlib.textpath import TextPath

    # A Chinese letter, which matplotlib's font lacks, is as wide as its widest Latin one.
    measured = ("".join("W" if east_asian_width(letter) in "WF" else letter for letter in name) for name in names)
    with _our_style():
        return max((TextPath((0, 0), name, size=9).get_extents().width / 72 for name in measured), default=0.0)


def _title(name: object) -> str:
    """Break a long name into lines, so that it ends before the next panel's."""
    return textwrap.fill(str(name), 28)


def _line(panel: "Axes", points: pd.DataFrame, number: int, label: str, shift: float) -> None:
    """Draw means joined by a line, with their intervals; runs are shifted a little so that none hides another."""
    panel.errorbar(
        points.index + shift, points["mean"], yerr=_whiskers(points), **_style(number),
        markersize=4.5, linewidth=1.3, elinewidth=1, capsize=2, label=label, clip_on=False,
    )  # fmt: skip


def _whiskers(points: pd.DataFrame) -> Any:
    """Return how far each interval reaches to both sides of its mean; never negative, whatever the rounding."""
    return np.maximum(0, [points["mean"] - points["low"], points["high"] - points["mean"]])
