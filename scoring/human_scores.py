"""People's scores of cases, from a CSV file, for correlation with ours."""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from cases import Problem
from scoring.metrics.statistics import Ends
from scoring.records import read_sheet

_DECIMAL_COMMA = re.compile(r"([-+]?\d+),(\d{1,2})")  # 1,000 may be a thousand, and stays no number


def read_human_scores(
    path: str | Path, ends: Mapping[str, Ends | None] = MappingProxyType({})
) -> tuple[dict[str, dict[str, float]], list[Problem]]:
    """Read people's scores from a CSV file: a ``case`` column, and one column per thing scored.

    An empty cell is no score, nor is NA, as R writes it. Decimals may have a comma, as where Excel parts cells by
    semicolons. A case with several rows (several people) gets the mean of its scores. ``ends`` gives the lowest and
    highest score of a column, where known; a score beyond is a problem.

    Returns:
        The score of each case by column, and the problems; faulty cells are left out.
    """
    columns, rows, problems = read_sheet(Path(path), ("case",))
    found: dict[str, dict[str, list[float]]] = {name: {} for name in columns if name != "case"}
    for line, row in rows:
        if not row["case"]:
            problems.append(Problem(str(path), line, "case", "expected the id of the scored case"))
            continue
        for name, by_case in found.items():
            if (cell := row[name]) in ("", "NA"):
                continue
            if (value := _number_in(cell)) is None:
                problems.append(Problem(str(path), line, name, f"expected a number, such as 3 or 3.5, found {cell!r}"))
            elif (scale := ends.get(name)) and not scale[0] <= value <= scale[1]:
                problems.append(Problem(str(path), line, name, f"expected {scale[0]:g} to {scale[1]:g}, found {cell}"))
            else:
                by_case.setdefault(row["case"], []).append(value)
    return {
        name: {case: fmean(values) for case, values in by_case.items()} for name, by_case in found.items()
    }, problems


def _number_in(cell: str) -> float | None:
    """Return the finite number in a cell, with a decimal point or comma; None if there is none."""
    comma = _DECIMAL_COMMA.fullmatch(cell)
    try:
        number = float(f"{comma[1]}.{comma[2]}" if comma else cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def unknown_cases(path: str | Path, judged: Iterable[str], known: Iterable[str]) -> str:
    """Return a sentence on the cases of people's scores that are not among those here; empty if there are none."""
    cases = {*judged}
    if not (unknown := sorted(cases - {*known})):
        return ""
    listed = ", ".join([*unknown[:3], *(["..."] if len(unknown) > 3 else [])])
    return f"{path}: left out, as they are not among the cases here: {len(unknown)} of {len(cases)} ({listed})"
