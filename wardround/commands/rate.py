"""``wardround rate`` and ``wardround cases rate``: pages on which people rate consultations blind, or cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from wardround.commands.options import Browser, CsvFolder, JsonFile, Judgements, Port, Runs
from wardround.printing import echo

if TYPE_CHECKING:
    from wardround.rating.items import Item
    from wardround.rating.marks import Marks
    from wardround.rating.scales import Name


def rate(
    runs: Runs,
    scale: Annotated[
        Literal["mvme", "aie", "medpmc", "clini_eval", "pairwise", "misdiagnosis"],
        Option(
            help="Questions to ask: the parts of the report (mvme), aspects of the consultation (aie, medpmc), "
            "points of the interview (clini_eval), which of two runs is better (pairwise), or what led to a "
            "diagnosis graded D (misdiagnosis)."
        ),
    ] = "mvme",
    marks: Judgements = None,
    port: Port = 0,
    browser: Browser = True,
    summary: Annotated[bool, Option("--summary", help="Open no page; print the judgements so far.")] = False,
    csv: CsvFolder = None,
    json_file: JsonFile = None,
) -> None:
    """Open a page on which people judge consultations blind.

    Everybody gets the consultations in a different order. Each choice is saved at once; several people may judge at the
    same time, and continue later. Ctrl-C ends the page and prints means, agreement (Krippendorff's alpha), correlation
    with the runs' scores, and where people disagree most.
    """
    from wardround.rating.agreement import left_out, tables_of
    from wardround.rating.items import items_of
    from wardround.rating.marks import FILE, Marks, read_marks
    from wardround.store.recorded_run import find_runs
    from wardround.tables.terminal import print_and_write

    found = find_runs(runs)
    file = marks.resolve() if marks else found[0].path / FILE
    if not summary:
        _serve(items_of(found, scale), scale, Marks(file, found), "Judgements", port, browser)
    given = read_marks(file)
    tables = tables_of(found, scale, given)
    if not tables:
        echo(f"{file}: no judgements on scale {scale} yet")
    if others := left_out(found, file, given):
        echo(others, err=True)
    print_and_write(tables, csv, json_file)


def rate_cases(
    file: Annotated[str, Argument(help="JSON-lines file of cases, or 'builtin'.")],
    scale: Annotated[
        Literal["medchain", "ai_hospital"],
        Option(
            help="Ask about six dimensions of a case (medchain), or about diagnosis, basis and treatment (ai_hospital)."
        ),
    ] = "medchain",
    marks: Annotated[
        Path | None,
        Option(metavar="FILE", help="File that keeps the ratings.", show_default="case_ratings.jsonl beside the file"),
    ] = None,
    per_department: Annotated[
        int | None, Option(min=1, metavar="N", help="Draw N cases of each department.", show_default="all cases")
    ] = None,
    seed: Annotated[int, Option(help="Seed of the draw.")] = 0,
    port: Port = 0,
    browser: Browser = True,
    summary: Annotated[bool, Option("--summary", help="Open no page; print the ratings so far.")] = False,
    csv: CsvFolder = None,
    json_file: JsonFile = None,
) -> None:
    """Open a page on which physicians rate cases with yes or no.

    Everybody gets the cases in a different order, and each choice is saved at once. Ctrl-C ends the page and prints
    pass rates, and Cohen's kappa, the mean over each pair of raters.
    """
    from cases import load_cases
    from wardround.rating.case_ratings import case_items, tables_of
    from wardround.rating.marks import Marks, read_marks
    from wardround.tables.terminal import print_and_write

    name: Name = "medchain_cases" if scale == "medchain" else "ai_hospital_cases"
    cases = load_cases(file)
    marks = marks and marks.resolve()
    marks_file = marks or (Path() if file == "builtin" else Path(file).resolve().parent) / "case_ratings.jsonl"
    if not summary:
        _serve(case_items(cases, per_department, seed), name, Marks(marks_file), "Ratings", port, browser)
    tables = tables_of(cases, name, read_marks(marks_file))
    if not tables:
        echo(f"{marks_file}: no ratings on scale {scale} yet")
    print_and_write(tables, csv, json_file)


def _serve(items: "list[Item]", scale: "Name", marks: "Marks", what: str, port: int, browser: bool) -> None:
    """Serve the rating page until Ctrl-C."""
    from wardround.rating.server import Rating

    server = Rating(items, scale, marks, port)
    echo(f"Page: {server.address}\n{what}: {marks.file}\nPress Ctrl-C to stop.", err=True)
    server.serve_until_interrupted(browser=browser)
