"""Recompute the published tables from the authors' released files: every printed cell, ours, and why they differ."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from wardround.config.experiment import ConfigurationError
from wardround.reproduction import ai_hospital, aie, medpmc
from wardround.reproduction.cells import Cell
from wardround.reproduction.release import Release
from wardround.tables.table import Table, alike, as_text

Paper = Literal["aie", "medpmc", "ai_hospital"]


def reproduce(
    paper: Paper, source: Path, terms: Path | None = None, *, by_turn: bool = False, leave_out: Collection[str] = ()
) -> Release:
    """Compute every printed cell of a paper's tables for which a clone of its release has the files.

    Args:
        paper: whose tables.
        source: the clone; files are recognised by their form, doctors by the names in their paths.
        terms: AI Hospital's list of ICD-10 terms; the first .xls of the source if None.
        by_turn: report AIE's simulators by round instead of as means over the rounds.
        leave_out: ids of cases to leave out of ours (AIE, Med-PMC).

    Raises:
        ConfigurationError: there is no such directory, or no file in it belongs to the paper's release.
        TermListError: the list of terms cannot be read.
    """
    if leave_out and paper == "ai_hospital":
        raise ConfigurationError("--leave-out applies only to aie and medpmc")
    if by_turn and paper != "aie":
        raise ConfigurationError("--by turn applies only to aie, whose simulators are scored by round")
    if not source.is_dir():
        found_there = "is no directory" if source.exists() else "directory not found"
        raise ConfigurationError(f"{source}: {found_there}; expected a clone of the authors' repository")
    release = Release(source, leave_out)
    match paper:
        case "aie":
            release.cells = [*aie.doctors(release), *aie.simulators(release, by_turn=by_turn)]
        case "medpmc":
            release.cells = medpmc.doctors(release)
        case "ai_hospital":
            release.cells = ai_hospital.doctors(release, terms)
    if not release.files:
        why = f"no file has the form of {paper}'s release and a path that names one of its doctors"
        raise ConfigurationError(f"{source}: {' '.join(release.left_out) or why}")
    if paper != "ai_hospital" and (unknown := sorted(set(leave_out) - release.ids)):
        raise ConfigurationError(f"--leave-out {unknown[0]}: no file in the source has this case")
    return release


def row_of(cell: Cell) -> dict[str, Any]:
    """Return a cell as a JSON object."""
    fields = {name: getattr(cell, name) for name in ("table", "row", "column", "paper", "ours", "same", "sound", "n")}
    return {**fields, "reason": cell.reason if cell.ours is not None else "no file for this doctor"}


def reproduction_table(paper: str, found: Release) -> Table:
    """Return a table of the cells that have a file, each beside the printed number."""
    ours = [cell for cell in found.cells if cell.ours is not None]
    columns = [
        *alike({"table": "Table", "row": "Doctor", "column": "Column"}, key=True),
        *alike({"paper": "Paper", "shown": "Ours, as published", "difference": "Difference", "sound": "Ours, sound"}),
        *alike({"n": "n", "reason": "Reason"}),
    ]
    rows: list[Mapping[str, Any]] = [
        {
            **row_of(cell),
            "paper": cell.text(cell.paper),
            "shown": cell.text(cell.shown),
            "difference": as_text(0.0 if cell.same else cell.shown - cell.paper, f"+.{cell.printing.digits}f"),
            "sound": None if cell.sound is None else cell.text(cell.sound),
        }
        for cell in ours
        if cell.shown is not None
    ]
    same = sum(cell.same for cell in ours)
    notes = [
        f"{same} of {len(ours)} cells equal the printed ones; {len(found.cells) - len(ours)} more have no file in the "
        "source."
    ]
    for table in dict.fromkeys(cell.table for cell in found.cells):
        lacking = dict.fromkeys(cell.row for cell in found.cells if cell.table == table and cell.ours is None)
        if lacking:
            notes.append(f"{table}, without a file: {', '.join(lacking)}.")
    return Table(
        f"reproduction-{paper}", f"Published cells of {paper}", columns, rows, [*notes, *found.left_out, *found.notes]
    )
