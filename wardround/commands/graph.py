"""``wardround graph``: draw a graph as Mermaid, SVG or PNG."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wardround.commands.exit_codes import refuse
from wardround.commands.options import a_file
from wardround.printing import echo

if TYPE_CHECKING:
    from langchain_core.runnables.graph import Graph


def graph(
    name: Annotated[
        str, typer.Argument(help="Name of the graph, such as `consultation` or `patients.saps`.")
    ] = "clinical_workflow",
    strategy: Annotated[
        str, typer.Option(help="Strategy that decides, for the clinical workflow and its parts.")
    ] = "group",
    depth: Annotated[int, typer.Option(min=0, max=4, help="Number of levels of subgraphs to draw.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write: .svg or .png for a picture, any other suffix for Mermaid text.",
            callback=a_file,
        ),
    ] = None,
) -> None:
    """Draw a graph, as a picture or as text. Without --out, print Mermaid text."""
    from graphs.catalogue import graph_by, graph_names

    if name not in graph_names():
        refuse(f"no graph {name!r}; expected one of {', '.join(graph_names())}")
    try:
        drawn = graph_by(name, strategy).get_graph(xray=depth)
    except ValueError as error:
        refuse(str(error))
    if out is None:
        echo(drawn.draw_mermaid())
        return
    try:
        if out.suffix.lower() == ".png":
            picture = _png(drawn)
        elif out.suffix.lower() == ".svg":
            from wardround.commands.graph_svg import as_svg

            picture = as_svg(drawn, f"The graph {name}").encode()
        else:
            picture = drawn.draw_mermaid().encode()
    except ImportError:
        refuse("a PNG is drawn by Graphviz; run: pip install 'wardround[draw]' (needs graphviz and graphviz-dev)")
    from cases.whole_files import replacing

    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as file:
        file.write(picture)


def known_graphs() -> dict[str, list[str]]:
    """Return the graphs that can be drawn."""
    from graphs.catalogue import graph_names

    return {"Graphs": graph_names()}


def _png(drawn: "Graph") -> bytes:
    """Draw the PNG, with the names of subgraphs on their boxes."""
    from langchain_core.runnables.graph import LabelsDict
    from langchain_core.runnables.graph_png import PngDrawer

    class Drawer(PngDrawer):
        def add_subgraph(self, viz: Any, nodes: list[list[str]], parent_prefix: list[str] | None = None) -> None:
            super().add_subgraph(viz, nodes, parent_prefix)
            for box in viz.subgraphs():
                box.graph_attr.update(label=box.name.removeprefix("cluster_").split(":")[-1], fontname="arial")

    labels = LabelsDict(nodes={node.id: node.name for node in drawn.nodes.values()}, edges={})
    return Drawer(labels=labels).draw(drawn) or b""
