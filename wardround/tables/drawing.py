"""The means of drawing: our style, panels, lines and legends, and a figure as the bytes of a file.

Equal tables give equal bytes: no date, fixed ids.
"""

import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import numpy as np
import pandas as pd

from wardround.tables.table import Table

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
PANELS_ACROSS = 4  # panels side by side
_CHARACTERS_PER_INCH = 19  # in the smallest text


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


def panels_of_each(number: int, size: tuple[float, float], beside: float) -> "tuple[Figure, list[Axes]]":
    """Return panels of this size, several side by side."""
    down, across = math.ceil(number / PANELS_ACROSS), min(number, PANELS_ACROSS)
    return panels_of(down, across, (size[0] * across + beside, size[1] * down), sharey=True, used=number)


def colour_of(number: int) -> str:
    """Return the colour of a run."""
    return COLOURS[number % len(COLOURS)]


def look_of(number: int) -> dict[str, Any]:
    """Return the colour and marker of a run, and its line style, dashed once colours repeat."""
    line = "-" if number < len(COLOURS) else "--"
    return {"color": colour_of(number), "marker": MARKERS[number % len(MARKERS)], "linestyle": line}


def draw_lines(panels: "Sequence[Axes]", table: Table, by: str, along: str, **look: Any) -> None:
    """Draw a panel for each mean, with a line per group along a column of numbers."""
    groups = table.frame.groupby(by, sort=False)
    for panel, column in zip(panels, [column for column in table.columns if column.mean], strict=True):
        points = table.points(column.name)
        for number, (name, rows) in enumerate(groups):
            numbers = pd.to_numeric(rows[along], errors="coerce").dropna().astype(int)
            if len(known := points.reindex(numbers.index).set_axis(numbers).dropna()):
                draw_line(panel, known, number, str(name), 0.04 * (number - (len(groups) - 1) / 2))
        panel.set_title(column.title, loc="left")
        panel.set(**look)
        if column.ends:
            panel.set_ylim(*column.ends)


def explain(figure: "Figure", panels: "Sequence[Axes]", names: Sequence[str], **look: Any) -> None:
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


def size_with_legend(width: float, height: float, names: Sequence[str]) -> tuple[float, float]:
    """Return the size in inches at which a legend of these names at the right leaves the panels their room."""
    return width + further_width(names), max(height, 0.4 + 0.2 * len(names))


def further_width(names: Sequence[str]) -> float:
    """Return the inches that the longest of these names needs beyond a name of usual length."""
    return max(0.0, _widest(names) - 1.8)


def _widest(names: Sequence[str]) -> float:
    """Return the width in inches of the longest of these names, written small."""
    from matplotlib.textpath import TextPath

    # A Chinese letter, which matplotlib's font lacks, is as wide as its widest Latin one.
    measured = ("".join("W" if east_asian_width(letter) in "WF" else letter for letter in name) for name in names)
    with _our_style():
        return max((TextPath((0, 0), name, size=9).get_extents().width / 72 for name in measured), default=0.0)


def in_lines(name: object) -> str:
    """Break a long name into lines, so that it ends before the next panel's."""
    return textwrap.fill(str(name), 28)


def draw_line(panel: "Axes", points: pd.DataFrame, number: int, label: str, shift: float) -> None:
    """Draw means joined by a line, with their intervals; runs are shifted a little so that none hides another."""
    panel.errorbar(
        points.index + shift, points["mean"], yerr=whiskers(points), **look_of(number),
        markersize=4.5, linewidth=1.3, elinewidth=1, capsize=2, label=label, clip_on=False,
    )  # fmt: skip


def whiskers(points: pd.DataFrame) -> Any:
    """Return how far each interval reaches to both sides of its mean; never negative, whatever the rounding."""
    return np.maximum(0, [points["mean"] - points["low"], points["high"] - points["mean"]])
