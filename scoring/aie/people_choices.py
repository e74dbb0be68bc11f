"""People's choices between two doctors on a case, as files have them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cases import Problem
from cases.importers.source import Source
from scoring.aie.pairwise import ASPECTS, View
from scoring.aie.tournament import Verdict
from scoring.records import read_sheet

_OUTCOMES = {"win": 1, "lose": -1, "tie": 0}
_AUTHORS = {"model1": 1, "model2": -1, "tie": 0}
_COLUMNS = ("case", "one", "other")
_RENAMED = {"professional": "total"}  # the name in the authors' form for patients
_KNOWN = {aspect for aspects in ASPECTS.values() for aspect in aspects} | {"doctor_total", "patient_total"}


def read_choices(path: str | Path) -> tuple[list[Verdict], list[Problem]]:
    """Read people's choices from a file; return them and the problems.

    JSON, the authors' format: ``{id, model1: {model}, model2: {model}, result: {aspect: winner}}``, where the winner is
    model1, model2 or tie. CSV: columns case, one, other, and one per aspect with win, lose or tie from the side of
    ``one``; rater is optional.
    """
    source = Source(path := Path(path))
    found: list[Verdict] = []
    problems = source.problems
    entries: Sequence[tuple[str, Any]]
    if source.is_table:
        columns, entries, problems = read_sheet(path, _COLUMNS)
        problems += [
            Problem(str(path), "header", title, f"is not an aspect; known aspects: {', '.join(sorted(_KNOWN))}")
            for title in columns
            if title not in (*_COLUMNS, "rater") and _aspect(title) not in _KNOWN
        ]
    else:
        entries = [(record.name, record.value) for record in source.records()]
    for name, value in entries:
        made = _of_row(value) if source.is_table else _of_record(value)
        if isinstance(made, tuple):
            problems.append(Problem(str(path), name, *made))
        elif made is not None:
            found += made
    if not (found or problems):
        problems.append(
            Problem(str(path), "", "", "contains no choices; expected pairs of doctors with win, lose or tie")
        )
    return found, problems


def verdicts_by_view(case: str, one: str, other: str, outcomes: Mapping[str, int], rater: str = "") -> list[Verdict]:
    """Return a choice as verdicts, one for each view that it covers."""
    return [Verdict(case, one, other, of_view, view, rater) for view, of_view in by_view(outcomes).items()]


def by_view(outcomes: Mapping[str, int]) -> dict[View, dict[str, int]]:
    """Group outcomes by view; a plain ``total`` belongs to the view of the other aspects."""
    found: dict[View, dict[str, int]] = {}
    views: tuple[View, ...] = ("doctor", "patient")
    for view in views:
        own = {name: outcomes[name] for name in ASPECTS[view] if name in outcomes and name != "total"}
        total = outcomes.get(f"{view}_total", outcomes.get("total") if own and not found else None)
        if own or f"{view}_total" in outcomes:
            found[view] = own | ({} if total is None else {"total": total})
    return found or ({"doctor": dict(outcomes)} if outcomes else {})


def named(given: Sequence[Verdict], doctors: Sequence[str]) -> tuple[list[Verdict], list[str]]:
    """Return the choices with names replaced by those of the given doctors, and the unknown names.

    A name means the doctor with that name, or else the only one whose name begins with it.
    """
    names = {name for verdict in given for name in (verdict.one, verdict.other)}
    meant: dict[str, str] = {}
    for name in names:
        matches = [doctor for doctor in doctors if doctor.casefold().startswith(name.casefold())]
        if name in doctors or len(matches) == 1:
            meant[name] = name if name in doctors else matches[0]
    known = [
        replace(each, one=meant[each.one], other=meant[each.other])
        for each in given
        if each.one in meant and each.other in meant
    ]
    return known, sorted(names - meant.keys())


def _of_row(row: Mapping[str, str]) -> list[Verdict] | tuple[str, str]:
    outcomes = {}
    for title, cell in row.items():
        if (aspect := _aspect(title)) in _KNOWN and cell:
            if cell.lower() not in _OUTCOMES:
                return title, f"expected win, lose or tie, found {cell!r}"
            outcomes[aspect] = _OUTCOMES[cell.lower()]
    case, one, other = (row[name] for name in _COLUMNS)
    if not (case and one and other) or one == other:
        return "one", "expected a case and two different doctors"
    return verdicts_by_view(case, one, other, outcomes, row.get("rater", ""))


def _of_record(value: Any) -> list[Verdict] | tuple[str, str] | None:
    """Read an entry of the authors' file; None if it is not judged yet."""
    if not isinstance(value, Mapping) or "id" not in value:
        return "id", "expected an object with id, model1, model2 and result"
    doctors = [_model(value.get(side)) for side in ("model1", "model2")]
    if not all(doctors) or doctors[0] == doctors[1]:
        return "model1.model", "expected the names of two different doctors in model1.model and model2.model"
    if value.get("result") is None:
        return None
    if not isinstance(value["result"], Mapping):
        return "result", f"expected an object of aspects, found {value['result']!r}"
    outcomes = {}
    for aspect, given in value["result"].items():
        chosen = next((outcome for word, outcome in _AUTHORS.items() if word in str(given)), None)
        if chosen is None:
            return f"result.{aspect}", f"expected model1, model2 or tie, found {given!r}"
        if (name := _aspect(aspect)) in _KNOWN:
            outcomes[name] = chosen
    return verdicts_by_view(str(value["id"]), doctors[0], doctors[1], outcomes, str(value.get("rater") or ""))


def _aspect(title: object) -> str:
    """Return an aspect by its title in a file: "Inquiry", or the authors' name for it."""
    name = str(title).strip().lower()
    return _RENAMED.get(name, name)


def _model(value: Any) -> str:
    return str(value.get("model") or "") if isinstance(value, Mapping) else ""
