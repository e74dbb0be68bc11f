"""Foreign case formats in. One file and one line here make a further format."""

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path

from cases.case import Case
from cases.importers.agentclinic import import_agentclinic
from cases.importers.medchain import import_medchain
from cases.importers.medqa import import_medqa
from cases.importers.source import ImportResult, Record, Source

Importer = Callable[[Source], Iterable[Case]]

IMPORTERS: dict[str, Importer] = {
    "agentclinic": import_agentclinic,
    "medchain": import_medchain,
    "medqa": import_medqa,
}


class UnknownFormatError(ValueError):
    """A format that no importer reads; the message names those that are."""

    def __init__(self, name: str) -> None:
        """Say what was asked for, what there is, and what was probably meant."""
        near = difflib.get_close_matches(name.lower(), IMPORTERS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown format {name!r}: one of {', '.join(sorted(IMPORTERS))}{hint}")


def import_cases(format: str, source: str | Path, *, departments: str | Path | None = None) -> ImportResult:
    """Read the cases of a foreign file; every fault is named, and the rest of the file still read.

    Args:
        format: a name of ``IMPORTERS``.
        source: the file.
        departments: a file with the department names that second-level tags are checked against (``medchain``).

    Raises:
        UnknownFormatError: there is no such importer.
    """
    if format not in IMPORTERS:
        raise UnknownFormatError(format)
    opened = Source(Path(source), departments=Path(departments) if departments is not None else None)
    cases = list(IMPORTERS[format](opened))
    if not cases and not opened.problems:
        opened.error("holds no record; expected JSON or JSON lines")
    return ImportResult(cases=cases, problems=opened.problems)


__all__ = ["IMPORTERS", "ImportResult", "Importer", "Record", "Source", "UnknownFormatError", "import_cases"]
