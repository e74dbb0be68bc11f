"""The cases of an experiment, and what they bring along."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cases import Case, load_cases
from cases.files import BUILTIN
from cases.vocabulary import SUB_DEPARTMENTS
from wardround.config.experiment import ConfigurationError, Data


@dataclass(frozen=True)
class Selection:
    """The chosen cases in the order of their file, and the second-level departments that the whole file names.

    ``sub_departments`` is None if all of them are ours.
    """

    cases: list[Case]
    sub_departments: dict[str, list[str]] | None


def select_cases(data: Data) -> list[Case]:
    """The cases of an experiment; see :func:`select`."""
    return select(data).cases


def select(data: Data) -> Selection:
    """The cases of an experiment, in the order of the file.

    Raises:
        CaseFileError: the file cannot be read or is faulty.
        ConfigurationError: nothing is left, or an id is not among the cases.
    """
    everything = load_cases(data.cases)
    if data.terms is not None and not Path(data.terms).is_file():
        raise ConfigurationError(f"data.terms: {data.terms} is not there; expected an .xls or .csv file of names")
    split = data.split or ("test" if data.cases == BUILTIN and not data.case_ids else None)
    cases = [case for case in everything if split in (None, case.split)]
    of_split = f" of split {split!r}" if split else ""
    if data.case_ids:
        by_id = {case.id: case for case in cases}
        if unknown := [case_id for case_id in data.case_ids if case_id not in by_id]:
            close = difflib.get_close_matches(unknown[0], by_id, n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ConfigurationError(f"data.case_ids: {', '.join(unknown)} not in {data.cases}{of_split}{hint}")
        cases = [by_id[case_id] for case_id in dict.fromkeys(data.case_ids)]
    if not cases:
        raise ConfigurationError(f"data: {data.cases} has no case{of_split}")
    return Selection(cases[: data.limit], _own_sub_departments(everything))


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
