"""``wardround cases rate``: physicians rate cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wardround.commands.options import Browser, CsvFolder, JsonFile, Port
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from wardround.rating.scales import Name


def rate(
    file: Annotated[str, typer.Argument(help="A JSON-lines file of cases, or 'builtin'.")],
    scale: Annotated[
        Literal["medchain", "ai_hospital"],
        typer.Option(help="Six dimensions of a case (medchain), or diagnosis, basis and treatment (ai_hospital)."),
    ] = "medchain",
    marks: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where ratings are kept.", show_default="case_ratings.jsonl beside the file"),
    ] = None,
    per_department: Annotated[
        int | None, typer.Option(min=1, help="So many of each department, drawn.", show_default="all cases")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    port: Port = 0,
    browser: Browser = True,
    summary: Annotated[
        bool, typer.Option("--summary", help="Serve nothing; print what has been rated so far.")
    ] = False,
    csv: CsvFolder = None,
    json_file: JsonFile = None,
) -> None:
    """Open a page on which physicians rate cases by yes and no.

    Each has an order of their own; every choice is kept at once. Ctrl-C ends it and prints pass rates, and Cohen's
    kappa of every two.
    """
    from cases import load_cases
    from wardround.rating.case_ratings import case_items, tables_of
    from wardround.rating.marks import Marks, read_marks
    from wardround.rating.server import Rating
    from wardround.tables.terminal import tell

    name: Name = "medchain_cases" if scale == "medchain" else "ai_hospital_cases"
    cases = load_cases(file)
    beside = Path() if file == "builtin" else Path(file).resolve().parent
    kept = marks or beside / "case_ratings.jsonl"
    if not summary:
        items, given = case_items(cases, per_department, seed), Marks(kept)
        server = Rating(items, name, given, port)
        echo(f"Page: {server.address}\nRatings: {kept}\nCtrl-C ends it.", err=True)
        server.serve_until_interrupted(browser=browser)
    tables = tables_of(cases, name, read_marks(kept))
    if not tables:
        echo(f"{kept}: nothing of scale {scale} has been rated yet")
    tell(tables, csv, json_file)
