"""``wardround graph``: a graph as Mermaid or PNG."""

from pathlib import Path
from typing import Annotated

import typer

BAD_INPUT = 2
GRAPHS = ("clinical_workflow", "referral", "history_taking", "interview", "examination", "diagnosis", "treatment")


def graph(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(GRAPHS)}.")] = "clinical_workflow",
    depth: Annotated[int, typer.Option(min=0, max=3, help="Levels of subgraphs to draw.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write here: .png is drawn, anything else is Mermaid text.")
    ] = None,
) -> None:
    """Draw a graph: as Mermaid text to standard output, or into a file."""
    import importlib

    if name not in GRAPHS:
        typer.echo(f"error: there is no graph {name!r}; one of {', '.join(GRAPHS)}", err=True)
        raise typer.Exit(BAD_INPUT)
    drawn = importlib.import_module(f"graphs.{name}").graph.get_graph(xray=depth)
    if out is None:
        typer.echo(drawn.draw_mermaid())
        return
    try:
        if out.suffix == ".png":
            drawn.draw_png(str(out))
        else:
            out.write_text(drawn.draw_mermaid(), encoding="utf-8")
    except ImportError:
        typer.echo("error: a PNG is drawn by Graphviz: pip install 'wardround[draw]' (needs graphviz-dev)", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except OSError as error:
        typer.echo(f"error: {out} cannot be written: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
