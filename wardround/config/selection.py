"""Select what an experiment is run on: cases or notes, and the departments that a file of cases names."""

import difflib
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cases import Case
from cases.case import Split
from cases.files import BUILTIN, each_case
from cases.note_files import read_notes
from cases.notes import Note, lacking, note_of
from cases.vocabulary import SUB_DEPARTMENTS
from wardround.config.experiment import ConfigurationError, Data

Item = Case | Note  # what a run puts through its graph


@dataclass(frozen=True, slots=True)
class Held:
    """A selected case or note, held as JSON until it is its turn: a quarter of the memory, for thousands of them."""

    id: str
    language: str
    split: Split | None
    folder: str
    pictures: tuple[Path, ...]
    json: bytes
    of_note: bool = False

    @classmethod
    def of(cls, item: Item) -> "Held":
        """Hold a case or a note."""
        json = item.model_dump_json().encode()
        if isinstance(item, Note):
            return cls(item.id, item.language, None, "", (), json, of_note=True)
        pictures = tuple(Path(item.folder, image.file) for image in item.examinations.images)
        return cls(item.id, item.language, item.split, item.folder, pictures, json)

    @property
    def item(self) -> Item:
        """The case or note."""
        if self.of_note:
            return Note.model_validate_json(self.json)
        return Case.model_validate_json(self.json).model_copy(update={"folder": self.folder})


@dataclass(frozen=True)
class Selection:
    """The selected cases or notes in file order, and the second-level departments that the whole file names.

    ``sub_departments`` is None if all of them are built in.
    """

    items: Sequence[Held]
    sub_departments: dict[str, list[str]] | None = None


def select_cases(data: Data) -> list[Case]:
    """Return the cases of an experiment; see :func:`select`.

    Raises:
        ConfigurationError: as there, or the experiment is run on notes.
    """
    refuse_notes(data)
    return [item for held in select(data).items if isinstance(item := held.item, Case)]


def refuse_notes(data: Data) -> None:
    """Raise ConfigurationError if the experiment is run on notes."""
    if data.notes is not None:
        raise ConfigurationError(f"data.notes: {data.notes} has notes, but cases are needed; set data.cases instead")


def select(data: Data) -> Selection:
    """Return the cases or notes of an experiment, in file order.

    Raises:
        CaseFileError: the file cannot be read or is faulty.
        ConfigurationError: nothing is left, or an id is not among the cases.
    """
    if data.notes is not None:
        return Selection(_chosen(list(map(Held.of, read_notes(data.notes))), data, data.source, ""))
    split = data.split or ("test" if data.cases == BUILTIN and not data.case_ids else None)
    enough = data.limit if data.shuffle is None and not data.case_ids else None  # the first are taken
    cases: list[Held] = []
    by_department: dict[str, set[str]] = {}
    for case in each_case(data.cases):
        if case.key.department:
            by_department.setdefault(case.key.department, set()).update(case.key.sub_departments)
        if split in (None, case.split) and (enough is None or len(cases) < enough):
            cases.append(Held.of(case))
    if data.terms is not None and not Path(data.terms).is_file():
        raise ConfigurationError(
            f"data.terms: {data.terms}: file not found; expected an .xls or .csv file of ICD-10 names"
        )
    in_split = f" (split {split!r})" if split else ""
    return Selection(_chosen(cases, data, data.cases, in_split), _own_sub_departments(by_department))


def _chosen(items: Sequence[Held], data: Data, source: str, in_split: str) -> Sequence[Held]:
    """Return the items with the given ids, or the first ``limit`` items."""
    if data.case_ids:
        by_id = {item.id: item for item in items}
        if unknown := [case_id for case_id in data.case_ids if case_id not in by_id]:
            close = difflib.get_close_matches(unknown[0], by_id, n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ConfigurationError(f"data.case_ids: no case {', '.join(unknown)} in {source}{in_split}{hint}")
        items = [by_id[case_id] for case_id in dict.fromkeys(data.case_ids)]
    if not items:
        raise ConfigurationError(f"data: no cases in {source}{in_split}")
    if data.shuffle is not None:
        items = random.Random(data.shuffle).sample(items, len(items))
    items = items[: data.limit]
    if data.sufficient:
        items = [held for held in items if not lacking(_as_note(held.item))]
        if not items:
            raise ConfigurationError(
                f"data.sufficient: nothing selected from {source} has a complaint, a history and results"
            )
    return items


def _as_note(item: Item) -> Note:
    return item if isinstance(item, Note) else note_of(item)


def _own_sub_departments(by_department: Mapping[str, Collection[str]]) -> dict[str, list[str]] | None:
    """Return a data set's own second-level departments, by department; None if all are built in.

    MedChain's list is not published, so it is collected from the answer keys of the whole file.
    """
    if all(name in SUB_DEPARTMENTS.names for names in by_department.values() for name in names):
        return None
    return {department: sorted(names) for department, names in sorted(by_department.items()) if names}
