"""Look up the case of an input: given whole, or by its id in a file of cases."""

import asyncio
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from cases import Case, load_cases
from cases.readable import state_of
from cases.validation import suggestion
from prompts import check_language


class UnknownCaseError(ValueError):
    """The case source has no case with that id. A server passes the message on, since this is a ValueError."""


async def case_given(state: Mapping[str, Any], source: str) -> Case:
    """Return the case of an input: an object, JSON as from Studio, or the one of that id in the source.

    Raises:
        UnknownCaseError: it is not a whole case, or there are no prompts in its language, or as for `find_case`.
        CaseFileError: as for `find_case`.
    """
    case = state.get("case")
    if case is None:
        case = await asyncio.to_thread(find_case, state.get("case_id"), source)
    if isinstance(case, Mapping):
        case = Case.model_validate(case)
    if not isinstance(case, Case):
        raise UnknownCaseError(f"case: expected a whole Case, not {case!r:.60}; an id is given as `case_id`")
    try:
        check_language(case.language)
    except ValueError as error:
        raise UnknownCaseError(f"case {case.id}: language: {error}") from None
    return case


def find_case(case_id: str | None, source: str) -> Case:
    """Look up a case by id.

    Raises:
        UnknownCaseError: no id given, or no such case; similar ids are suggested.
        CaseFileError: the source cannot be read.
    """
    if not case_id:
        raise UnknownCaseError("the input needs `case_id`, such as 'surgery-03', or `case`, a whole Case")
    if not isinstance(case_id, str):
        raise UnknownCaseError(f"case_id: expected the id of a case, such as 'surgery-03', not {case_id!r:.60}")
    return _find(case_id, source, state_of(Path(os.path.expanduser(source)))).model_copy(deep=True)


@lru_cache(maxsize=8)  # a server looks a case up before it starts the run, and the run again
def _find(case_id: str, source: str, state: tuple[int, int] | None) -> Case:
    cases = {case.id: case for case in load_cases(source)}
    if case_id not in cases:
        hint = suggestion(case_id, cases, f"its first case is {next(iter(cases))!r}")
        raise UnknownCaseError(f"there is no case {case_id!r:.80} in {source}; {hint}")
    return cases[case_id]
