"""``wardround graph``: draw a graph as Mermaid or SVG."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wardround.commands.exit_codes import refuse
from wardround.commands.options import a_file, check_known
from wardround.printing import echo


def graph(
    name: Annotated[
        str, Argument(help="Name of the graph, such as `consultation` or `patients.saps`.")
    ] = "clinical_workflow",
    strategy: Annotated[str, Option(help="Strategy that decides, for the clinical workflow and its parts.")] = "group",
    depth: Annotated[int, Option(min=0, max=4, help="Number of levels of subgraphs to draw.")] = 0,
    out: Annotated[
        Path | None,
        Option(
            "--out", "-o", help="File to write: .svg for a picture, any other suffix for Mermaid text.", callback=a_file
        ),
    ] = None,
) -> None:
    """Draw a graph, as a picture or as text. Without --out, print Mermaid text."""
    from graphs.catalogue import graph_by, graph_names
    from wardround.commands.graph_svg import as_svg
    from wardround.store.provenance import write_whole

    if out is not None and out.suffix.lower() == ".png":
        refuse(f"{out}: a picture is drawn as SVG; name a file that ends in .svg")
    check_known("graph", [name], graph_names())
    try:
        drawn = graph_by(name, strategy).get_graph(xray=depth)
    except ValueError as error:
        refuse(str(error))
    if out is None:
        echo(drawn.draw_mermaid())
    elif out.suffix.lower() == ".svg":
        write_whole(out, as_svg(drawn, f"The graph {name}"))
    else:
        write_whole(out, drawn.draw_mermaid())


def known_graphs() -> dict[str, list[str]]:
    """Return the graphs that can be drawn."""
    from graphs.catalogue import graph_names

    return {"Graphs": graph_names()}
