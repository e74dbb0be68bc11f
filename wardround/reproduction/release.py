"""A clone of the authors' repository: its files, known by their form, and the doctors that their paths name."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cases.importers.source import Source
from wardround.reproduction.cells import Cell

Record = TypeVar("Record")


@dataclass
class Release:
    """A clone, and what was found in it."""

    source: Path
    leave_out: Collection[str] = ()  # ids of cases that do not count
    files: dict[str, list[str]] = field(default_factory=dict)  # by row (doctor)
    left_out: list[str] = field(default_factory=list)  # which files are, and why
    notes: list[str] = field(default_factory=list)  # what else is to be said
    cells: list[Cell] = field(default_factory=list)  # of the paper's tables
    ids: set[str] = field(default_factory=set)  # of all cases

    def name_of(self, file: Path) -> str:
        """Return the path of a file inside the clone."""
        return str(file.relative_to(self.source))

    def data_files(self) -> list[Path]:
        """Return the JSON files of the clone, without hidden folders."""
        return sorted(
            file
            for file in self.source.rglob("*.json*")
            if file.suffix in (".json", ".jsonl")
            and not any(part.startswith(".") for part in file.relative_to(self.source).parts)
        )

    def named_files(
        self, published: Mapping[str, Any], fits: Callable[[Mapping[str, Any]], bool]
    ) -> Iterator[tuple[Path, str]]:
        """Yield the files whose first record fits, each with the doctor that its path names, or else that record."""
        names = {row: re.compile(pattern, re.IGNORECASE) for row, pattern in published["names"].items()}
        patients = re.compile(published.get("patients", "(?!)"), re.IGNORECASE)
        for file in self.data_files():
            first = first_record(file)
            texts = [patients.sub("", self.name_of(file))]
            texts += [str(first.get(key, "")) for key in ("doctor_engine_name", "doctor_name")]
            row = next((row for text in texts for row, name in names.items() if name.search(text)), None)
            if row and first and fits(first):
                yield file, row

    def leave_out_file(self, file: Path, why: str) -> None:
        """Say that a file is left out, and why."""
        self.left_out.append(f"{self.name_of(file)} is left out: {why}.")

    def add(self, group: dict[str, Record], records: Mapping[str, Record], row: str, file: Path) -> None:
        """Add a file's records to the doctor's; a file that repeats cases is another run, and left out."""
        name = self.name_of(file)
        if group.keys() & records.keys():
            self.leave_out_file(file, f"{row} already has these cases from {', '.join(self.files[row])}")
            return
        group.update(records)
        self.ids |= records.keys()
        self.files.setdefault(row, []).append(name)

    def counted(self, group: Mapping[str, Record]) -> list[Record]:
        """Return a doctor's records without those of the cases that were left out."""
        return [one for case, one in group.items() if case not in self.leave_out]

    def lacking(self, known: Collection[str], group: Collection[str]) -> list[str]:
        """Return the known cases that a doctor lacks; none if cases were left out, as no printed number fits then."""
        return [] if self.leave_out else sorted({*known} - {*group})


def first_record(file: Path) -> dict[str, Any]:
    """Return the first record of a file; empty if it cannot be read."""
    try:
        return Source(file).first
    except (OSError, ValueError):
        return {}
