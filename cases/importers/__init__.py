"""Importers of foreign case formats: one file per format, registered by being imported here."""

from pathlib import Path

import cases.importers.agentclinic
import cases.importers.ai_hospital
import cases.importers.aie
import cases.importers.medchain
import cases.importers.medpmc
import cases.importers.medqa  # noqa: F401  the last of those that register themselves
from cases.importers.registry import IMPORTERS, Importer, importer
from cases.importers.source import ImportResult, Record, Source


def import_cases(format: str, source: str | Path, *, departments: str | Path | None = None) -> ImportResult:
    """Read the cases of a foreign file; faults are collected, and the rest of the file is still read.

    ``departments`` is a file of department names to check second-level tags against (``medchain``).

    Raises:
        RegistryError: there is no such importer; suggests the most similar name.
    """
    read = IMPORTERS[format]
    opened = Source(Path(source), departments=Path(departments) if departments is not None else None)
    cases = list(read(opened))
    if departments is not None and not opened.departments_read:
        opened.error(f"the format {format!r} has no second-level departments; leave out the departments file")
    if not cases and not opened.problems:
        opened.error(f"contains no records of the format {format!r}")
    if opened.unusual:
        signs = "wide letters and digits, spaces that do not break and invisible characters"
        opened.warn(f"{signs} are read as usual signs or left out (in {opened.unusual} of {len(cases)} cases)")
    return ImportResult(cases=cases, problems=opened.problems)


__all__ = ["IMPORTERS", "ImportResult", "Importer", "Record", "Source", "import_cases", "importer"]
