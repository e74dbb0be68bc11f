"""What an experiment is run on: cases or notes, and the departments that a file of cases names."""

import difflib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cases import Case, load_cases
from cases.files import BUILTIN
from cases.note_files import read_notes
from cases.notes import Note, lacking, note_of
from cases.vocabulary import SUB_DEPARTMENTS
from wardround.config.experiment import ConfigurationError, Data

Item = Case | Note  # what a run puts through its graph


@dataclass(frozen=True)
class Selection:
    """The chosen cases or notes in the order of their file, and the second-level departments that the whole file names.

    ``sub_departments`` is None if all of them are ours.
    """

    items: Sequence[Item]
    sub_departments: dict[str, list[str]] | None = None


def select_cases(data: Data) -> list[Case]:
    """The cases of an experiment; see :func:`select`.

    Raises:
        ConfigurationError: as there, or the experiment is run on notes.
    """
    if data.notes is not None:
        raise ConfigurationError(f"data.notes: {data.notes} holds notes and no cases")
    return [item for item in select(data).items if isinstance(item, Case)]


def select(data: Data) -> Selection:
    """The cases or notes of an experiment, in the order of the file.

    Raises:
        CaseFileError: the file cannot be read or is faulty.
        ConfigurationError: nothing is left, or an id is not among the cases.
    """
    if data.notes is not None:
        named = data.notes if isinstance(data.notes, str) else ", ".join(data.notes)
        return Selection(_chosen(read_notes(data.notes), data, named, ""))
    everything = load_cases(data.cases)
    if data.terms is not None and not Path(data.terms).is_file():
        raise ConfigurationError(f"data.terms: {data.terms} is not there; expected an .xls or .csv file of names")
    split = data.split or ("test" if data.cases == BUILTIN and not data.case_ids else None)
    cases = [case for case in everything if split in (None, case.split)]
    of_split = f" of split {split!r}" if split else ""
    return Selection(_chosen(cases, data, data.cases, of_split), _own_sub_departments(everything))


def _chosen(items: Sequence[Item], data: Data, source: str, of_split: str) -> Sequence[Item]:
    """The items that are named, or the first so many."""
    if data.case_ids:
        by_id = {item.id: item for item in items}
        if unknown := [case_id for case_id in data.case_ids if case_id not in by_id]:
            close = difflib.get_close_matches(unknown[0], by_id, n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ConfigurationError(f"data.case_ids: {', '.join(unknown)} not in {source}{of_split}{hint}")
        items = [by_id[case_id] for case_id in dict.fromkeys(data.case_ids)]
    if not items:
        raise ConfigurationError(f"data: {source} has no case{of_split}")
    if data.shuffle is not None:
        items = random.Random(data.shuffle).sample(items, len(items))
    items = items[: data.limit]
    if data.sufficient:
        items = [item for item in items if not lacking(item if isinstance(item, Note) else note_of(item))]
        if not items:
            raise ConfigurationError(f"data.sufficient: nothing in {source} tells a complaint, a history and results")
    return items


def _own_sub_departments(cases: Sequence[Case]) -> dict[str, list[str]] | None:
    """The second-level departments of a data set that has its own, by department.

    MedChain's list is printed nowhere: it is what the answer keys of the whole file name.
    """
    named: dict[str, set[str]] = {}
    for case in cases:
        if case.key.department:
            named.setdefault(case.key.department, set()).update(case.key.sub_departments)
    if all(name in SUB_DEPARTMENTS.names for names in named.values() for name in names):
        return None
    return {department: sorted(names) for department, names in sorted(named.items()) if names}
