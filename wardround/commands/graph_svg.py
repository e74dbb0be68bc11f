"""A graph as an SVG picture, laid out in layers (Sugiyama's method), without Graphviz."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from langchain_core.runnables.graph import Graph

_CHARACTER, _SMALL = 7.2, 6.0  # of text, in pixels
_HIGH, _APART, _BESIDE = 34, 44, 14  # of a box; from one layer to the next; between neighbours in one
_BEND = 10  # the width kept free for an edge that passes a layer
_SWEEPS = 12

# Light and dark as whoever looks at it has it.
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.within,.label{font-size:11px;fill:#57606a}"
    "rect{fill:#f2f0ff;stroke:#7c6fd6;rx:6}.end rect{fill:#fff;stroke-dasharray:3}"
    "path{fill:none;stroke:#6e7781;stroke-width:1.3}.choice{stroke-dasharray:5 3}"
    ".label{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}.head{fill:#6e7781;stroke:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.within,.label{fill:#9da7b3}rect{fill:#2b2650}"
    ".end rect{fill:#161b22}.label{stroke:#161b22}}"
)


class _Edge(NamedTuple):
    source: str
    target: str
    label: str
    choice: bool


def as_svg(drawn: "Graph", title: str) -> str:
    """The picture: boxes from top to bottom, choices dashed with their words, ways back drawn upwards.

    The title is told to who cannot see it.
    """
    drawn_edges = [_Edge(one.source, one.target, str(one.data or ""), one.conditional) for one in drawn.edges]
    edges = [edge for edge in drawn_edges if edge.source != edge.target]
    loops = [edge for edge in drawn_edges if edge.source == edge.target]
    layer = _layers(list(drawn.nodes), edges)
    chains = [_chain(number, edge, layer) for number, edge in enumerate(edges)]
    rows = _ordered(layer, chains)
    names = {key: _name(key) for key in drawn.nodes}
    wide = {key: float(_BEND) for row in rows for key in row}
    wide |= {key: max(map(len, name)) * _CHARACTER + 24 for key, name in names.items()}
    wide |= {_middle(chain): len(one.label) * _SMALL + _BEND for one, chain in zip(edges, chains, strict=True)}
    beside = {one.source: 2 * (len(one.label) * _SMALL + 40) for one in loops}  # on both sides, as boxes are centred
    x = _places(rows, chains, {key: width + beside.get(key, 0) for key, width in wide.items()})
    y = {key: 20 + number * _APART for number, row in enumerate(rows) for key in row}
    ends = _ends(chains, x, wide)
    left = min(x[key] - wide[key] / 2 for key in x) - 20
    right = max(x[key] + wide[key] / 2 for key in x) + 20
    right = max([right, *(x[one.source] + wide[one.source] / 2 + len(one.label) * _SMALL + 60 for one in loops)])
    size = f"{right - left:.0f} {(len(rows) - 1) * _APART + _HIGH + 40}"
    parts = [_arrow(edge, chain, end, x, y) for edge, chain, end in zip(edges, chains, ends, strict=True)]
    parts += [_loop(edge, x[edge.source] + wide[edge.source] / 2, y[edge.source]) for edge in loops]
    parts += [_box(names[key], key.startswith("__"), x[key], y[key], wide[key]) for key in drawn.nodes]
    head = '<marker id="head" markerWidth="9" markerHeight="9" refX="8" refY="4" orient="auto"><path class="head" '
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="{left:.0f} 0 {size}" '
        f'width="{right - left:.0f}"><title>{escape(title)}</title><style>{_STYLE}</style><defs>{head}'
        f'd="M0,0 L9,4 L0,8 z"/></marker></defs>{"".join(parts)}</svg>\n'
    )


def _name(key: str) -> tuple[str, str]:
    """The graph around a node, if it is shown opened, and its own name."""
    within, _, own = key.rpartition(":")
    return within.replace(":", " · "), own.strip("_").replace("_", " ")


def _layers(nodes: Sequence[str], edges: Sequence[_Edge]) -> dict[str, int]:
    """The longest way to each node from above; what closes a circle counts as a way back.

    Nodes have every second layer: between two of them there is a bend, and room for the words of the edge.
    """
    following: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        following[edge.source].append(edge.target)
    done: list[str] = []
    under_way: set[str] = set()
    forward: dict[str, list[str]] = defaultdict(list)

    def visit(node: str) -> None:
        under_way.add(node)
        for other in following[node]:
            if other not in under_way:
                forward[node].append(other)
                if other not in done:
                    visit(other)
        under_way.discard(node)
        done.append(node)

    for node in nodes:
        if node not in done:
            visit(node)
    layer = dict.fromkeys(nodes, 0)
    for node in reversed(done):
        for other in forward[node]:
            layer[other] = max(layer[other], layer[node] + 2)
    return layer


def _chain(number: int, edge: _Edge, layer: dict[str, int]) -> list[str]:
    """The nodes of an edge from top to bottom, with a bend in each layer that it passes."""
    first, last = sorted((edge.source, edge.target), key=lambda node: layer[node])
    return [first, *(f"bend {number} {each}" for each in range(layer[first] + 1, layer[last])), last]


def _middle(chain: Sequence[str]) -> str:
    """The bend with the words of the edge."""
    return chain[len(chain) // 2]


def _ordered(layer: dict[str, int], chains: Iterable[Sequence[str]]) -> list[list[str]]:
    """Layers from left to right, each node near the middle of those that it is tied to."""
    rows: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    for node, number in layer.items():
        rows[number].append(node)
    for chain in chains:
        for number, node in enumerate(chain[1:-1], start=layer[chain[0]] + 1):
            rows[number].append(node)
    tied = _tied(chains)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            place = {node: number / len(each) for each in rows for number, node in enumerate(each)}
            row.sort(key=lambda node: _mean([place[other] for other in tied[node]] or [place[node]]))
    return rows


def _places(rows: Sequence[Sequence[str]], chains: Iterable[Sequence[str]], wide: dict[str, float]) -> dict[str, float]:
    """The middle of each node: as near to those that it is tied to as its neighbours allow."""
    tied = _tied(chains)
    x: dict[str, float] = {}
    for row in rows:
        at = -sum(wide[node] + _BESIDE for node in row) / 2
        for node in row:
            x[node] = at + wide[node] / 2
            at += wide[node] + _BESIDE
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_mean([x[other] for other in tied[node]] or [x[node]]) for node in row]
            for forwards in (True, False):
                order = range(len(row)) if forwards else range(len(row) - 1, -1, -1)
                for place in order:
                    beside = place - 1 if forwards else place + 1
                    if 0 <= beside < len(row):
                        apart = (wide[row[place]] + wide[row[beside]]) / 2 + _BESIDE
                        bound = wanted[beside] + (apart if forwards else -apart)
                        wanted[place] = max(wanted[place], bound) if forwards else min(wanted[place], bound)
            x.update(zip(row, wanted, strict=True))
    return x


def _tied(chains: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """What stands before or after each node on an edge."""
    tied: dict[str, list[str]] = defaultdict(list)
    for chain in chains:
        for above, below in itertools.pairwise(chain):
            tied[above].append(below)
            tied[below].append(above)
    return tied


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ends(chains: Sequence[Sequence[str]], x: dict[str, float], wide: dict[str, float]) -> list[tuple[float, float]]:
    """Where each edge leaves its upper box and meets its lower one: side by side, so that each can be followed."""
    found: dict[tuple[int, bool], float] = {}
    for upper in (True, False):
        at: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for number, chain in enumerate(chains):
            at[chain[0 if upper else -1]].append((x[chain[1 if upper else -2]], number))
        for node, those in at.items():
            step = min(16.0, wide[node] / (len(those) + 1))
            for place, (_, number) in enumerate(sorted(those)):
                found[number, upper] = x[node] + (place - (len(those) - 1) / 2) * step
    return [(found[number, True], found[number, False]) for number in range(len(chains))]


def _arrow(edge: _Edge, chain: Sequence[str], ends: tuple[float, float], x: dict[str, float], y: dict[str, int]) -> str:
    first, *bends, last = chain
    points = [(ends[0], float(y[first] + _HIGH)), *((x[bend], y[bend] + _HIGH / 2) for bend in bends)]
    points.append((ends[1], y[last]))
    if first != edge.source:
        points.reverse()
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (from_x, from_y), (to_x, to_y) in itertools.pairwise(points):
        half = (from_y + to_y) / 2
        path += f" C{from_x:.1f},{half:.1f} {to_x:.1f},{half:.1f} {to_x:.1f},{to_y:.1f}"
    middle = _middle(chain)
    return _line(edge, path, x[middle], y[middle] + _HIGH / 2 + 4, "middle")


def _loop(edge: _Edge, x: float, y: float) -> str:
    path = f"M{x:.1f},{y + 9} C{x + 40:.1f},{y - 4} {x + 40:.1f},{y + _HIGH + 4} {x:.1f},{y + _HIGH - 9}"
    return _line(edge, path, x + 34, y + _HIGH / 2 + 4, "start")


def _line(edge: _Edge, path: str, x: float, y: float, anchor: str) -> str:
    """A line with its arrow head, and its words if it has any."""
    kind = ' class="choice"' if edge.choice else ""
    words = f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(edge.label)}</text>'
    return f'<path{kind} d="{path}" marker-end="url(#head)"/>' + (words if edge.label else "")


def _box(name: tuple[str, str], end: bool, x: float, y: float, wide: float) -> str:
    within, own = map(escape, name)
    kind = ' class="end"' if end else ""
    box = f'<g{kind}><rect x="{x - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{_HIGH}"/>'
    middle = f'x="{x:.1f}" text-anchor="middle"'
    lines = f'<text {middle} y="{y + (27 if within else 21)}">{own}</text></g>'
    return box + (f'<text class="within" {middle} y="{y + 13}">{within}</text>' if within else "") + lines
