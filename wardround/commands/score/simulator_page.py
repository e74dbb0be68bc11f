"""The tables of ``wardround score simulator``, for the terminal and for the page of the docs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wardround.commands.score.output import ExtraTable, refuse

if TYPE_CHECKING:
    from scoring.metrics.statistics import Estimate

# What the page calls the place of each kind of tables.
REGIONS: Mapping[str | None, str] = {
    None: "simulator scores",
    "medpmc": "patient and actor judgements",
    "ai_hospital": "reply judgements",
}


def scores_table(metrics: "Mapping[str, Estimate]") -> ExtraTable:
    """The percentages, one metric a row."""
    rows = [[name, _cell(found, 1), str(found.n)] for name, found in metrics.items()]
    return ExtraTable("Scores", ["metric", "percent", "n"], rows)


def matrix_table(matrix: Mapping[str, Mapping[str, int]]) -> ExtraTable:
    """How often each labelled action was tracked as which."""
    from scoring.aie.transcripts import ACTIONS

    rows = [
        [f"{code} {ACTIONS[code]}", *(str(matrix[code].get(other, 0)) for other in ACTIONS)]
        for code in ACTIONS
        if code in matrix
    ]
    return ExtraTable("Tracked actions (columns) by the labelled ones (rows)", ["", *ACTIONS], rows)


def judgement_table(metrics: "Mapping[str, Estimate]") -> ExtraTable:
    """Med-PMC's Tables 4 and 5 in one: a setting a row, an aspect a column."""
    from scoring.medpmc.patient_judgements import ASPECTS

    settings = ("w S-T", "w/o S-T", "w Actor", "w/o Actor")
    columns = [*ASPECTS, "Total", "Semantic Consistency", "Character Feature"]
    rows = []
    for setting in settings:
        found = [metrics.get(f"{column} {setting}") for column in columns]
        cases = max((each.n for each in found if each), default=0)
        rows.append([setting, *("" if each is None else _cell(each, 2) for each in found), str(cases)])
    return ExtraTable("Patient (0 to 2 each) and actor (0 to 5 each)", ["", *columns, "n"], rows)


def write_page(page: Path, region: str, tables: Sequence[ExtraTable]) -> None:
    """Write tables between the marks of a region of a Markdown page.

    Raises:
        typer.Exit: with code 2 if the page cannot be used or lacks the marks.
    """
    opening, closing = f"<!-- {region} -->", f"<!-- end of {region} -->"
    marked = re.compile(f"({re.escape(opening)}\n).*?({re.escape(closing)})", re.DOTALL)
    drawn = "\n\n".join(_markdown(table.header, table.rows) for table in tables)
    try:
        text = page.read_text("utf-8")
        if not marked.search(text):
            refuse(f"{page} lacks the marks {opening} and {closing}")
        page.write_text(marked.sub(lambda marks: f"{marks[1]}\n{drawn}\n\n{marks[2]}", text), "utf-8")
    except OSError as error:
        refuse(f"cannot use {page}: {error.strerror or error}")


def _cell(found: "Estimate", digits: int) -> str:
    return "" if found.mean is None else f"{found.mean:.{digits}f}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
