"""Select what an experiment is run on: cases or notes, and the departments that a file of cases names."""

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
    """The selected cases or notes in file order, and the second-level departments that the whole file names.

    ``sub_departments`` is None if all of them are built in.
    """

    items: Sequence[Item]
    sub_departments: dict[str, list[str]] | None = None


def select_cases(data: Data) -> list[Case]:
    """Return the cases of an experiment; see :func:`select`.

    Raises:
        ConfigurationError: as there, or the experiment is run on notes.
    """
    if data.notes is not None:
        raise ConfigurationError(f"data.notes: {data.notes} has notes, but cases are needed; set data.cases instead")
    return [item for item in select(data).items if isinstance(item, Case)]


def select(data: Data) -> Selection:
    """Return the cases or notes of an experiment, in file order.

    Raises:
        CaseFileError: the file cannot be read or is faulty.
        ConfigurationError: nothing is left, or an id is not among the cases.
    """
    if data.notes is not None:
        source = data.notes if isinstance(data.notes, str) else ", ".join(data.notes)
        return Selection(_chosen(read_notes(data.notes), data, source, ""))
    all_cases = load_cases(data.cases)
    if data.terms is not None and not Path(data.terms).is_file():
        raise ConfigurationError(
            f"data.terms: {data.terms}: file not found; expected an .xls or .csv file of ICD-10 names"
        )
    split = data.split or ("test" if data.cases == BUILTIN and not data.case_ids else None)
    cases = [case for case in all_cases if split in (None, case.split)]
    in_split = f" (split {split!r})" if split else ""
    return Selection(_chosen(cases, data, data.cases, in_split), _own_sub_departments(all_cases))


def _chosen(items: Sequence[Item], data: Data, source: str, in_split: str) -> Sequence[Item]:
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
        items = [item for item in items if not lacking(item if isinstance(item, Note) else note_of(item))]
        if not items:
            raise ConfigurationError(
                f"data.sufficient: nothing selected from {source} has a complaint, a history and results"
            )
    return items


def _own_sub_departments(cases: Sequence[Case]) -> dict[str, list[str]] | None:
    """Return a data set's own second-level departments, by department; None if all are built in.

    MedChain's list is not published, so it is collected from the answer keys of the whole file.
    """
    by_department: dict[str, set[str]] = {}
    for case in cases:
        if case.key.department:
            by_department.setdefault(case.key.department, set()).update(case.key.sub_departments)
    if all(name in SUB_DEPARTMENTS.names for names in by_department.values() for name in names):
        return None
    return {department: sorted(names) for department, names in sorted(by_department.items()) if names}
