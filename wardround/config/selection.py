"""Select what an experiment is run on: cases or notes, and the departments that a file of cases names."""

import random
import tempfile
import weakref
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from cases import Case, Problem
from cases.case import Split
from cases.files import BUILTIN, each_case
from cases.note_files import read_notes
from cases.notes import Note, lacking, note_of
from cases.validation import suggestion
from cases.vocabulary import SECOND_LEVEL, SUB_DEPARTMENTS
from wardround.config.experiment import ConfigurationError, Data

Item = Case | Note  # what a run puts through its graph


_FEW_KEYS = 10  # fewer answer keys of a department are too few to take its list of second-level departments from
_IN_MEMORY = 8 * 2**20  # bytes: 2,000 cases of 4 kB


class TextStore:
    """Keeps texts until they are needed: a few in memory, those of thousands of cases in a temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # for as long as anything is in it
        self._lock = Lock()
        weakref.finalize(self, self._file.close)

    def put(self, text: bytes) -> int:
        """Store a text, and return its place.

        Raises:
            OSError: the disk is full, or there is no folder for temporary files.
        """
        with self._lock:
            place = self._file.seek(0, 2)
            self._file.write(text)
            return place

    def get(self, place: int, length: int) -> bytes:
        """Return the text of this length at a place."""
        with self._lock:
            self._file.seek(place)
            return self._file.read(length)


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A selected case or note, stored as JSON until its turn comes."""

    id: str
    language: str
    split: Split | None
    folder: str
    pictures: tuple[Path, ...]
    is_note: bool
    texts: TextStore
    place: int
    length: int

    @classmethod
    def of(cls, item: Item, texts: TextStore | None = None) -> "StoredItem":
        """Store a case or a note, in the given store or one of its own."""
        json, texts = item.model_dump_json().encode(), texts or TextStore()
        position = (texts, texts.put(json), len(json))
        if isinstance(item, Note):
            return cls(item.id, item.language, None, "", (), True, *position)
        pictures = tuple(Path(item.folder, image.file) for image in item.examinations.images)
        return cls(item.id, item.language, item.split, item.folder, pictures, False, *position)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the item alone, without the other texts of its store."""
        return StoredItem.of, (self.item,)

    @property
    def json(self) -> bytes:
        """The case or note as JSON."""
        return self.texts.get(self.place, self.length)

    @property
    def item(self) -> Item:
        """The case or note."""
        if self.is_note:
            return Note.model_validate_json(self.json)
        return Case.model_validate_json(self.json).model_copy(update={"folder": self.folder})


@dataclass(frozen=True)
class Selection:
    """The selected cases or notes in file order, and the second-level departments that the whole file names.

    ``sub_departments`` is None if all of them are built in.
    """

    items: Sequence[StoredItem]
    sub_departments: dict[str, list[str]] | None = None


def select_cases(data: Data) -> list[Case]:
    """Return the cases of an experiment; see :func:`select`.

    Raises:
        ConfigurationError: as there, or the experiment is run on notes.
    """
    refuse_notes(data)
    return [item for stored in select(data).items if isinstance(item := stored.item, Case)]


def refuse_notes(data: Data) -> None:
    """Raise ConfigurationError if the experiment is run on notes."""
    if data.notes is not None:
        raise ConfigurationError(f"data.notes: {data.notes} has notes, but cases are needed; set data.cases instead")


def select(data: Data, warnings: list[Problem] | None = None) -> Selection:
    """Return the cases or notes of an experiment, in file order; ``warnings`` is extended by those of reading notes.

    Raises:
        CaseFileError: the file cannot be read or is faulty.
        ConfigurationError: nothing is left, or an id is not among the cases.
    """
    texts = TextStore()
    if data.notes is not None:
        notes = [StoredItem.of(note, texts) for note in read_notes(data.notes, warnings)]
        return Selection(_chosen(notes, data, data.source, ""))
    split = data.split or ("test" if data.cases == BUILTIN and not data.case_ids else None)
    enough = data.limit if data.shuffle is None and not data.case_ids else None  # the first are taken
    cases: list[StoredItem] = []
    names: defaultdict[str, set[str]] = defaultdict(set)
    keys: Counter[str] = Counter()
    for case in each_case(data.cases):
        if case.key.department:
            names[case.key.department].update(case.key.sub_departments)
            keys[case.key.department] += bool(case.key.sub_departments)
        if split in (None, case.split) and (enough is None or len(cases) < enough):
            cases.append(StoredItem.of(case, texts))
    if data.terms is not None and not Path(data.terms).is_file():
        raise ConfigurationError(
            f"data.terms: {data.terms}: file not found; expected an .xls or .csv file of ICD-10 names"
        )
    in_split = f" (split {split!r})" if split else ""
    return Selection(_chosen(cases, data, data.cases, in_split), _own_sub_departments(names, keys))


def _chosen(items: Sequence[StoredItem], data: Data, source: str, in_split: str) -> Sequence[StoredItem]:
    """Return the items with the given ids, or the first ``limit`` items."""
    if data.case_ids:
        by_id = {item.id: item for item in items}
        if unknown := [case_id for case_id in data.case_ids if case_id not in by_id]:
            hint = suggestion(unknown[0], by_id, f"its first case is {items[0].id!r}" if items else "it has none")
            raise ConfigurationError(f"data.case_ids: no case {', '.join(unknown)} in {source}{in_split}; {hint}")
        items = [by_id[case_id] for case_id in dict.fromkeys(data.case_ids)]
    if not items:
        raise ConfigurationError(f"data: no cases in {source}{in_split}")
    if data.shuffle is not None:
        items = random.Random(data.shuffle).sample(items, len(items))
    items = items[: data.limit]
    if data.sufficient:
        notes = ((stored, one if isinstance(one := stored.item, Note) else note_of(one)) for stored in items)
        items = [stored for stored, note in notes if not lacking(note)]
        if not items:
            raise ConfigurationError(
                f"data.sufficient: nothing selected from {source} has a complaint, a history and results"
            )
    return items


def _own_sub_departments(names: Mapping[str, set[str]], keys: Mapping[str, int]) -> dict[str, list[str]] | None:
    """Return a data set's own second-level departments, by department; None if all are built in.

    MedChain's list is not published, so it is collected from the answer keys of the whole file. For a department with
    few ``keys`` it would be little more than the answers, so the built-in names are added.

    Args:
        names: the second-level departments that the file's keys name, by department.
        keys: how many keys name any, by department.
    """
    if all(name in SUB_DEPARTMENTS.names for named in names.values() for name in named):
        return None
    return {
        department: sorted(named.union(SECOND_LEVEL[department].names if keys[department] < _FEW_KEYS else ()))
        for department, named in sorted(names.items())
        if named
    }
