"""Draw a graph as SVG, in layers (Sugiyama's method), without Graphviz."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from langchain_core.runnables.graph import Graph

_CHARACTER, _LABEL_CHARACTER = 7.2, 6.0  # width of a character of text, in pixels
_BOX_HEIGHT, _LAYER_DISTANCE, _GAP = 34, 44, 14  # the gap is between neighbours in a layer
_BEND_WIDTH = 10  # width kept free for an edge that passes a layer
_SWEEPS = 12

# Light and dark, as the viewer's system prefers.
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
    """Return the picture: boxes from top to bottom, conditional edges dashed with labels, back edges drawn upwards.

    The title is the text alternative.
    """
    drawn_edges = [_Edge(one.source, one.target, str(one.data or ""), one.conditional) for one in drawn.edges]
    edges = [edge for edge in drawn_edges if edge.source != edge.target]
    loops = [edge for edge in drawn_edges if edge.source == edge.target]
    layer = _layers(list(drawn.nodes), edges)
    chains = [_chain(number, edge, layer) for number, edge in enumerate(edges)]
    rows = _order_layers(layer, chains)
    names = {key: _name(key) for key in drawn.nodes}
    widths = {key: float(_BEND_WIDTH) for row in rows for key in row}
    widths |= {key: max(map(len, name)) * _CHARACTER + 24 for key, name in names.items()}
    widths |= {
        _middle_bend(chain): len(one.label) * _LABEL_CHARACTER + _BEND_WIDTH
        for one, chain in zip(edges, chains, strict=True)
    }
    # Loops take room on both sides, as boxes are centred.
    loop_widths = {one.source: 2 * (len(one.label) * _LABEL_CHARACTER + 40) for one in loops}
    x = _x_positions(rows, chains, {key: width + loop_widths.get(key, 0) for key, width in widths.items()})
    y = {key: 20 + number * _LAYER_DISTANCE for number, row in enumerate(rows) for key in row}
    ends = _ends(chains, x, widths)
    left = min(x[key] - widths[key] / 2 for key in x) - 20
    right = max(x[key] + widths[key] / 2 for key in x) + 20
    right = max(
        [right, *(x[one.source] + widths[one.source] / 2 + len(one.label) * _LABEL_CHARACTER + 60 for one in loops)]
    )
    size = f"{right - left:.0f} {(len(rows) - 1) * _LAYER_DISTANCE + _BOX_HEIGHT + 40}"
    parts = [_arrow(edge, chain, end, x, y) for edge, chain, end in zip(edges, chains, ends, strict=True)]
    parts += [_loop(edge, x[edge.source] + widths[edge.source] / 2, y[edge.source]) for edge in loops]
    parts += [_box(names[key], key.startswith("__"), x[key], y[key], widths[key]) for key in drawn.nodes]
    head = '<marker id="head" markerWidth="9" markerHeight="9" refX="8" refY="4" orient="auto"><path class="head" '
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="{left:.0f} 0 {size}" '
        f'width="{right - left:.0f}"><title>{escape(title)}</title><style>{_STYLE}</style><defs>{head}'
        f'd="M0,0 L9,4 L0,8 z"/></marker></defs>{"".join(parts)}</svg>\n'
    )


def _name(key: str) -> tuple[str, str]:
    """Return the subgraph around a node, if it is drawn open, and the node's name."""
    parent, _, own = key.rpartition(":")
    return parent.replace(":", " · "), own.strip("_").replace("_", " ")


def _layers(nodes: Sequence[str], edges: Sequence[_Edge]) -> dict[str, int]:
    """Assign each node its longest path from above; an edge that closes a cycle is a back edge.

    Nodes are on every second layer: the layers between have bends, and room for edge labels.
    """
    successors: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        successors[edge.source].append(edge.target)
    done: list[str] = []
    on_path: set[str] = set()
    forward: dict[str, list[str]] = defaultdict(list)

    def visit(node: str) -> None:
        on_path.add(node)
        for other in successors[node]:
            if other not in on_path:
                forward[node].append(other)
                if other not in done:
                    visit(other)
        on_path.discard(node)
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
    """Return the nodes of an edge from top to bottom, with a bend in each layer that it passes."""
    first, last = sorted((edge.source, edge.target), key=lambda node: layer[node])
    return [first, *(f"bend {number} {each}" for each in range(layer[first] + 1, layer[last])), last]


def _middle_bend(chain: Sequence[str]) -> str:
    """Return the bend that carries the label."""
    return chain[len(chain) // 2]


def _order_layers(layer: dict[str, int], chains: Iterable[Sequence[str]]) -> list[list[str]]:
    """Order each layer from left to right, with each node near the mean position of its neighbours on edges."""
    rows: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    for node, number in layer.items():
        rows[number].append(node)
    for chain in chains:
        for number, node in enumerate(chain[1:-1], start=layer[chain[0]] + 1):
            rows[number].append(node)
    neighbours = _neighbours(chains)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            place = {node: number / len(each) for each in rows for number, node in enumerate(each)}
            row.sort(key=lambda node: fmean([place[other] for other in neighbours[node]] or [place[node]]))
    return rows


def _x_positions(
    rows: Sequence[Sequence[str]], chains: Iterable[Sequence[str]], widths: dict[str, float]
) -> dict[str, float]:
    """Return the centre of each node, as close to its neighbours on edges as the nodes beside it allow."""
    neighbours = _neighbours(chains)
    x: dict[str, float] = {}
    for row in rows:
        offset = -sum(widths[node] + _GAP for node in row) / 2
        for node in row:
            x[node] = offset + widths[node] / 2
            offset += widths[node] + _GAP
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            targets = [fmean([x[other] for other in neighbours[node]] or [x[node]]) for node in row]
            distances = [(widths[one] + widths[other]) / 2 + _GAP for one, other in itertools.pairwise(row)]
            for place, distance in enumerate(distances):  # away from the node to the left ...
                targets[place + 1] = max(targets[place + 1], targets[place] + distance)
            for place, distance in reversed([*enumerate(distances)]):  # ... and to the right
                targets[place] = min(targets[place], targets[place + 1] - distance)
            x.update(zip(row, targets, strict=True))
    return x


def _neighbours(chains: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Return the nodes before and after each node on edges."""
    neighbours: dict[str, list[str]] = defaultdict(list)
    for chain in chains:
        for above, below in itertools.pairwise(chain):
            neighbours[above].append(below)
            neighbours[below].append(above)
    return neighbours


def _ends(chains: Sequence[Sequence[str]], x: dict[str, float], widths: dict[str, float]) -> list[tuple[float, float]]:
    """Return where each edge leaves its upper box and meets its lower one, spread so that each can be followed."""
    found: dict[tuple[int, bool], float] = {}
    for upper in (True, False):
        ends_at: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for number, chain in enumerate(chains):
            ends_at[chain[0 if upper else -1]].append((x[chain[1 if upper else -2]], number))
        for node, edges_here in ends_at.items():
            step = min(16.0, widths[node] / (len(edges_here) + 1))
            for place, (_, number) in enumerate(sorted(edges_here)):
                found[number, upper] = x[node] + (place - (len(edges_here) - 1) / 2) * step
    return [(found[number, True], found[number, False]) for number in range(len(chains))]


def _arrow(edge: _Edge, chain: Sequence[str], ends: tuple[float, float], x: dict[str, float], y: dict[str, int]) -> str:
    first, *bends, last = chain
    points = [(ends[0], float(y[first] + _BOX_HEIGHT)), *((x[bend], y[bend] + _BOX_HEIGHT / 2) for bend in bends)]
    points.append((ends[1], y[last]))
    if first != edge.source:
        points.reverse()
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (from_x, from_y), (to_x, to_y) in itertools.pairwise(points):
        half = (from_y + to_y) / 2
        path += f" C{from_x:.1f},{half:.1f} {to_x:.1f},{half:.1f} {to_x:.1f},{to_y:.1f}"
    middle = _middle_bend(chain)
    return _line(edge, path, x[middle], y[middle] + _BOX_HEIGHT / 2 + 4, "middle")


def _loop(edge: _Edge, x: float, y: float) -> str:
    path = f"M{x:.1f},{y + 9} C{x + 40:.1f},{y - 4} {x + 40:.1f},{y + _BOX_HEIGHT + 4} {x:.1f},{y + _BOX_HEIGHT - 9}"
    return _line(edge, path, x + 34, y + _BOX_HEIGHT / 2 + 4, "start")


def _line(edge: _Edge, path: str, x: float, y: float, anchor: str) -> str:
    """Draw an edge with its arrow head, and its label if any."""
    kind = ' class="choice"' if edge.choice else ""
    words = f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(edge.label)}</text>'
    return f'<path{kind} d="{path}" marker-end="url(#head)"/>' + (words if edge.label else "")


def _box(name: tuple[str, str], end: bool, x: float, y: float, width: float) -> str:
    parent, own = map(escape, name)
    kind = ' class="end"' if end else ""
    box = f'<g{kind}><rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOX_HEIGHT}"/>'
    middle = f'x="{x:.1f}" text-anchor="middle"'
    lines = f'<text {middle} y="{y + (27 if parent else 21)}">{own}</text></g>'
    return box + (f'<text class="within" {middle} y="{y + 13}">{parent}</text>' if parent else "") + lines
