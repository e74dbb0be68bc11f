"""Recompute the published tables from the authors' released files: every printed cell, ours, and why they differ."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from cases.importers.source import Source
from scoring.aie.metrics import METRICS, score_aie
from scoring.aie.simulator import rounds_of, score_simulator
from scoring.aie.transcripts import AieTranscript, SimulatorTest, read_aie, read_simulator_tests
from scoring.medpmc.metrics import score_medpmc
from scoring.medpmc.transcripts import MedPmcTranscript, read_medpmc
from scoring.metrics.icd10 import DiseaseCase, Rule, agreement, predicted_entities
from scoring.metrics.icd10_terms import TermList, load_terms
from scoring.metrics.recall import RecallName
from scoring.metrics.samples import Definition, Sample, Samples, mean
from scoring.metrics.statistics import Estimate
from scoring.mvme.disease_entities import split_by_rule
from scoring.mvme.grades import released_grades, score_parts
from scoring.mvme.transcripts import (
    PARTS,
    Evaluation,
    Reference,
    Report,
    kind_of,
    read_evaluations,
    read_references,
    read_reports,
    sections,
)
from wardround.config.experiment import ConfigurationError
from wardround.tables.published import published
from wardround.tables.table import Column, Table

Paper = Literal["aie", "medpmc", "ai_hospital"]
_BY_MODEL = "diseases split by rule"
_TERM_COLUMNS = ("#", "R", "P", "F1")  # the columns of AI Hospital's Table 3
_DEFINITIONS = ("ours", "sound")


@dataclass(frozen=True)
class Cell:
    """One printed number, and ours."""

    table: str  # as the paper numbers it
    row: str  # the doctor
    column: str  # the metric
    paper: float  # as printed
    ours: float | None = None  # by the published computation, at full precision; None without the doctor's file
    sound: float | None = None  # by the sound definition
    n: int = 0  # number of values behind ours
    digits: int = 2  # decimals printed
    cut: bool = False  # whether the paper truncates instead of rounding
    reason: str = ""  # why ours differs, where that can be found out

    @property
    def shown(self) -> float | None:
        """Ours as the paper would print it."""
        if self.ours is None:
            return None
        scale = 10.0**self.digits
        return (math.floor(self.ours * scale + 1e-9) if self.cut else round(self.ours * scale)) / scale

    @property
    def same(self) -> bool:
        """Whether ours equals the printed number; a half may be rounded either way."""
        if self.ours is None or self.shown is None:
            return False
        return abs(self.shown - self.paper) < 1e-9 or (
            not self.cut and abs(self.ours - self.paper) <= 0.5 * 10**-self.digits + 1e-9
        )


@dataclass
class Reproduction:
    """The cells of a paper, and what its release contains: files by row, notes, and the ids of all cases."""

    cells: list[Cell] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Found:
    """What one doctor's files give for a column; for some columns, with the value of each case."""

    ours: float | None
    sound: float | None
    n: int
    samples: Sequence[Sample] = ()
    reason: str = ""
    lacking: Sequence[str] = ()  # cases that only other doctors' files have


def reproduce(
    paper: Paper, source: Path, terms: Path | None = None, *, by_turn: bool = False, leave_out: Collection[str] = ()
) -> Reproduction:
    """Compute every printed cell of a paper's tables for which a clone of its release has the files.

    Args:
        paper: whose tables.
        source: the clone; files are recognised by their form, doctors by the names in their paths.
        terms: AI Hospital's list of ICD-10 terms; the first .xls of the source if None.
        by_turn: report AIE's simulators by round instead of as means over the rounds.
        leave_out: ids of cases to leave out of ours (AIE, Med-PMC).

    Raises:
        ConfigurationError: there is no such directory, or no file in it belongs to the paper's release.
        TermListError: the list of terms cannot be read.
    """
    if leave_out and paper == "ai_hospital":
        raise ConfigurationError("--leave-out applies only to aie and medpmc")
    if by_turn and paper != "aie":
        raise ConfigurationError("--by turn applies only to aie, whose simulators are scored by round")
    if not source.is_dir():
        found_there = "is no directory" if source.exists() else "directory not found"
        raise ConfigurationError(f"{source}: {found_there}; expected a clone of the authors' repository")
    printed, found = published(paper), Reproduction()
    if paper == "aie":
        _aie(source, printed, found, leave_out)
        _simulators(source, published("aie_simulators"), found, by_turn, leave_out)
    elif paper == "medpmc":
        _medpmc(source, printed, found, leave_out)
    else:
        _ai_hospital(source, printed, found, terms)
    if not found.files:
        raise ConfigurationError(
            f"{source}: no file has the form of {paper}'s release and a path that names one of its doctors"
        )
    if paper != "ai_hospital" and (unknown := sorted(set(leave_out) - found.ids)):
        raise ConfigurationError(f"--leave-out {unknown[0]}: no file in the source has this case")
    return found


def row_of(cell: Cell) -> dict[str, Any]:
    """Return a cell as a JSON object."""
    fields = {name: getattr(cell, name) for name in ("table", "row", "column", "paper", "ours", "same", "sound", "n")}
    return {**fields, "reason": cell.reason if cell.ours is not None else "no file for this doctor"}


def reproduction_table(paper: str, found: Reproduction) -> Table:
    """Return a table of the cells that have a file, each beside the printed number."""
    ours = [cell for cell in found.cells if cell.ours is not None]
    columns = [
        Column("table", "Table", key=True),
        Column("row", "Doctor", key=True),
        Column("column", "Column", key=True),
        Column("paper", "Paper"),
        Column("shown", "Ours, as published"),
        Column("difference", "Difference", form="+.2f"),
        Column("sound", "Ours, sound", form=".2f"),
        Column("n", "n"),
        Column("reason", "Reason"),
    ]
    rows: list[Mapping[str, Any]] = [
        {
            **row_of(cell),
            "paper": f"{cell.paper:.{cell.digits}f}",
            "shown": f"{cell.shown:.{cell.digits}f}",
            "difference": 0.0 if cell.same or cell.shown is None else cell.shown - cell.paper,
        }
        for cell in ours
    ]
    same = sum(cell.same for cell in ours)
    notes = [
        f"{same} of {len(ours)} cells equal the printed ones; {len(found.cells) - len(ours)} more have no file in the "
        "source."
    ]
    for table in dict.fromkeys(cell.table for cell in found.cells):
        lacking = dict.fromkeys(cell.row for cell in found.cells if cell.table == table and cell.ours is None)
        if lacking:
            notes.append(f"{table}, without a file: {', '.join(lacking)}.")
    return Table(f"reproduction-{paper}", f"Published cells of {paper}", columns, rows, [*notes, *found.notes])


def _aie(source: Path, published: Mapping[str, Any], out: Reproduction, leave_out: Collection[str]) -> None:
    groups: dict[tuple[str, str], dict[str, AieTranscript]] = {}
    tables = list(published)[2:]
    known: dict[str, set[str]] = {table: set() for table in tables}
    for file, row in _named_files(source, published, lambda first: "raw_data" in first and "history" in first):
        read = read_aie(file).records
        records = [one for one in read if one.diagnosis is not None and len(one.history) > 1]
        if not records:
            continue
        table = tables[1] if records[0].dataset else tables[0]
        if incomplete := [one.case for one in read if one not in records]:
            out.notes.append(
                f"{row}: left out of all columns, for lack of a letter or a dialogue: {_cases(incomplete)}."
            )
            known[table].update(incomplete)
        group = groups.setdefault((table, row), {})
        known[table].update(one.case for one in records)
        _add_records(out, group, {one.case: one for one in records}, row, file, source)
    for table in tables:
        computed: dict[str, dict[str, _Found]] = {}
        for row in published["doctors"]:
            group = groups.get((table, row), {})
            if not (records := [one for case, one in group.items() if case not in leave_out]):
                continue
            lacking = sorted(known[table] - group.keys()) * (not leave_out)
            computed[row] = _by_metric(partial(score_aie, records), METRICS, lacking)
        printed = {
            (row, name): pair[0]
            for name in METRICS
            for row, pair in zip(published["doctors"], published[table][name], strict=True)
        }
        out.cells += _cells(table, printed, computed)


def _simulators(
    source: Path, published: Mapping[str, Any], out: Reproduction, by_turn: bool, leave_out: Collection[str]
) -> None:
    """Compute the simulators of AIE's Figure 3a from their released score files, by round or as the rounds' mean."""
    groups: dict[str, dict[str, SimulatorTest]] = {}
    for file, row in _named_files(source, published, lambda first: "patient_test" in first):
        tests = {one.id: one for one in read_simulator_tests(file).records}
        if rounds_of(tests.values()):
            _add_records(out, groups.setdefault(row, {}), tests, row, file, source)
    printed: dict[tuple[str, str], float] = {}
    computed: dict[str, dict[str, _Found]] = {}
    for row, metrics in published["Figure 3a"].items():
        records = [one for case, one in groups.get(row, {}).items() if case not in leave_out]
        by_round = [
            _by_metric(partial(score_simulator, records, turn=str(turn)), metrics) if records else {}
            for turn in range(10)
        ]
        for name, values in metrics.items():
            if by_turn:
                printed |= {(row, f"{name}, round {turn}"): value for turn, value in enumerate(values)}
                continue
            printed[row, name] = sum(values) / len(values)
            rounds = [found[name] for found in by_round if name in found]
            means = [
                mean([each for one in rounds if (each := getattr(one, side)) is not None]) for side in _DEFINITIONS
            ]
            if records:
                computed.setdefault(row, {})[name] = _Found(means[0], means[1], sum(one.n for one in rounds))
        if by_turn and records:
            computed[row] = {
                f"{name}, round {turn}": one for turn, found in enumerate(by_round) for name, one in found.items()
            }
    out.cells += _cells("Figure 3a", printed, computed)


def _by_metric(
    score: Callable[[Definition], Samples], names: Iterable[str], lacking: Sequence[str] = ()
) -> dict[str, _Found]:
    """Return a doctor's means by both definitions."""
    paper, sound = score("paper"), score("sound")
    return {
        name: _Found(_mean(paper[name]), _mean(sound[name]), len(paper[name]), paper[name], lacking=lacking)
        for name in names
    }


def _medpmc(source: Path, published: Mapping[str, Any], out: Reproduction, leave_out: Collection[str]) -> None:
    groups: dict[str, dict[str, MedPmcTranscript]] = {}
    # Both tables are of the standard patient; runs with an actor, or with patients of one sex, are other experiments.
    others = re.compile(r"actor|(?:^|[^a-z])(?:fe)?male|cot|shot", re.IGNORECASE)
    for file, row in _named_files(source, published, lambda first: "Text" in first and "diagnosis_self" in first):
        if not others.search(str(file.relative_to(source))):
            _add_records(
                out, groups.setdefault(row, {}), {one.id: one for one in read_medpmc(file).records}, row, file, source
            )
    columns = published["columns"]
    recalls: Mapping[str, RecallName] = dict(
        zip((key for key in published if key.startswith("Table")), ("rouge1", "rougeL"), strict=True)
    )
    for table, recall in recalls.items():
        computed: dict[str, dict[str, _Found]] = {}
        for row, group in groups.items():
            cases = [one for case, one in group.items() if case not in leave_out]
            lacking = sorted(out.ids - group.keys()) * (not leave_out)
            own = _by_metric(partial(score_medpmc, cases, recall), columns[:4], lacking)
            components = [own["Diagnosis"], own["Treatment"]]
            own[columns[4]] = _Found(
                mean([one.ours for one in components if one.ours is not None]),
                mean([one.sound for one in components if one.sound is not None]),
                own["Diagnosis"].n,
            )
            computed[row] = own
        printed = {
            (row, name): value
            for row in published["names"]
            for name, value in zip(columns, published[table][row], strict=True)
        }
        out.cells += _cells(table, printed, computed, cut=True, halves=(columns[4], columns[2], columns[3]))
    out.notes.append("Examination and the average of gathering depend on spaCy's entities and are not computed here.")


def _ai_hospital(source: Path, published: Mapping[str, Any], out: Reproduction, terms: Path | None) -> None:
    graded: dict[str, dict[str, _Found]] = {}
    linked: dict[str, dict[str, _Found]] = {}
    forms = {"doctor_diagnosis", "dialog_history", "final_turn"}
    kinds = [
        (*each, kind_of(each[0])) for each in _named_files(source, published, lambda first: bool(forms & {*first}))
    ]
    references: dict[str, Reference] = {}
    for file in _files(source):
        if {"medical_record", "doctor_diagnosis"} & _first(file).keys():
            references |= read_references(file)[0]
    terms = terms or next(iter(sorted(source.rglob("*.xls"))), None)
    listed = load_terms(terms) if terms else None
    out.notes += [
        "Diseases are split by rule here; the authors had a model split them and name them in standard terms."
    ]
    if listed is None:
        out.notes += ["Table 3 is not computed: the source has no list of ICD-10 terms (.xls); name one with --terms."]
    for file, row, kind in sorted(kinds, key=lambda each: each[2] is Evaluation):
        out.files.setdefault(row, []).append(str(file.relative_to(source)))
        if kind is Evaluation:
            graded[row] = _graded_parts(file)
        if listed is None or row in linked:
            continue
        reports = [(one, one.reference or references.get(one.patient_id)) for one in read_reports(file).records]
        if any(wanted is None for _, wanted in reports):
            out.notes.append(
                f"{file.name}: Table 3 is not computed: the source does not have a reference for every patient."
            )
            continue
        linked[row] = _linked_terms([(one, wanted) for one, wanted in reports if wanted], listed)
    for table, columns, computed, digits in (("Table 2", PARTS, graded, 3), ("Table 3", _TERM_COLUMNS, linked, 2)):
        printed = {
            (row, name): value
            for row, values in published[table].items()
            for name, value in zip(columns, values, strict=True)
            if not math.isnan(value)
        }
        out.cells += _cells(table, printed, computed, digits=digits)


def _graded_parts(file: Path) -> dict[str, _Found]:
    """Return the means of each part as the director graded it (Table 2)."""
    records = read_evaluations(file).records
    paper, sound = (
        score_parts([released_grades(one, published=mode) for one in records], published=mode) for mode in (True, False)
    )
    return {part: _Found(one.mean, sound[part].mean, one.n) for part, one in paper.items()}


def _linked_terms(reports: Sequence[tuple[Report, Reference]], terms: TermList) -> dict[str, _Found]:
    """Link the diagnoses of reports to terms (Table 3); like the authors, leave out reports without both headings."""

    def measured(chosen: Iterable[tuple[Report, Reference]], rule: Rule) -> tuple[Estimate, ...]:
        cases = [
            DiseaseCase(
                one.patient_id,
                split_by_rule(sections(one.report).get("diagnosis", ""), terms),
                split_by_rule(wanted.diagnosis or "", terms),
            )
            for one, wanted in chosen
        ]
        return predicted_entities(cases), *agreement(cases, terms, rule).columns.values()

    complete = [each for each in reports if all(head in each[0].report for head in ("#诊断结果#", "#诊断依据#"))]
    columns = zip(_TERM_COLUMNS, measured(complete, "published"), measured(reports, "code"), strict=True)
    return {name: _Found(ours.mean, sound.mean, len(complete), (), _BY_MODEL) for name, ours, sound in columns}


def _cells(
    table: str,
    printed: Mapping[tuple[str, str], float],
    computed: Mapping[str, Mapping[str, _Found]],
    *,
    digits: int = 2,
    cut: bool = False,
    halves: tuple[str, str, str] | None = None,
) -> list[Cell]:
    """Return the cells of a table, with the reason for a difference where the numbers show it."""
    nothing = _Found(None, None, 0)
    found = {key: computed.get(key[0], {}).get(key[1], nothing) for key in printed}
    cells = {
        (row, name): Cell(table, row, name, value, one.ours, one.sound, one.n, digits, cut)
        for (row, name), value in printed.items()
        for one in [found[row, name]]
    }

    def reason(cell: Cell) -> str:
        one = found[cell.row, cell.column]
        if cell.same or cell.shown is None:
            return ""
        texts = f"{cell.paper:.{digits}f}", f"{cell.shown:.{digits}f}"
        differing = [place for place, (a, b) in enumerate(zip(*texts, strict=False)) if a != b]
        if len(texts[0]) == len(texts[1]) and len(differing) == 2 and sorted(texts[0]) == sorted(texts[1]):
            return "two digits are swapped in print"
        for other in cells.values():
            adjacent = (other.row == cell.row) != (other.column == cell.column)
            if adjacent and other.shown == cell.paper and other.paper == cell.shown:
                return f"swapped in print with {other.row if other.column == cell.column else other.column}"
        if halves and cell.column == halves[0]:
            parts = [printed[cell.row, half] for half in halves[1:]]
            if abs(sum(parts) / 2 - cell.paper) > 0.0101:
                return "not the mean of its own printed columns"
        total, n = math.fsum(value for _, value in one.samples), len(one.samples)
        for case, value in one.samples if n > 2 else ():
            left = Cell(table, cell.row, cell.column, cell.paper, (total - value) / (n - 1), digits=digits, cut=cut)
            if left.same:
                return f"as printed without case {case}"
        if lacking := one.lacking:  # the mean they would need for the printed number
            needed = (cell.paper * (n + len(lacking)) - total) / len(lacking)
            mean_needed = f"as printed if the mean of the missing cases is {needed:.{cell.digits}f}"
            return f"over {n}, without {_cases(lacking)}; {mean_needed}"
        return one.reason or "not known"

    return [replace(cell, reason=reason(cell)) for cell in cells.values()]


def _cases(ids: Sequence[str]) -> str:
    return f"case{'s' * (len(ids) > 1)} {', '.join(ids)}"


def _mean(samples: Sequence[Sample]) -> float | None:
    return mean([one.value for one in samples])


def _files(source: Path) -> list[Path]:
    return sorted(
        file
        for file in source.rglob("*.json*")
        if file.suffix in (".json", ".jsonl")
        and not any(part.startswith(".") for part in file.relative_to(source).parts)
    )


def _named_files(
    source: Path, published: Mapping[str, Any], fits: Callable[[Mapping[str, Any]], bool]
) -> Iterator[tuple[Path, str]]:
    """Yield the files that fit, each with the doctor named in its path, or else in its first record."""
    names = {row: re.compile(pattern, re.IGNORECASE) for row, pattern in published["names"].items()}
    patients = re.compile(published.get("patients", "(?!)"), re.IGNORECASE)
    for file in _files(source):
        first = _first(file)
        texts = [patients.sub("", str(file.relative_to(source)))]
        texts += [str(first.get(key, "")) for key in ("doctor_engine_name", "doctor_name")]
        row = next((row for text in texts for row, name in names.items() if name.search(text)), None)
        if row and first and fits(first):
            yield file, row


def _first(file: Path) -> dict[str, Any]:
    """Return the first record of a file; empty if it cannot be read."""
    try:
        return Source(file).first
    except (OSError, ValueError):
        return {}


def _add_records(
    out: Reproduction, group: dict[str, Any], records: Mapping[str, Any], row: str, file: Path, source: Path
) -> None:
    """Add a file's records to the doctor's; a file that repeats cases is another run, and left out."""
    name = str(file.relative_to(source))
    if group.keys() & records.keys():
        out.notes.append(f"{name} is left out: {row} already has these cases from {', '.join(out.files[row])}.")
        return
    group.update(records)
    out.ids |= records.keys()
    out.files.setdefault(row, []).append(name)
