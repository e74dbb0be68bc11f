"""Make tables by name, and write them to files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cases.validation import InputError
from wardround.store.provenance import write_whole
from wardround.store.recorded_run import RecordedRun
from wardround.tables import (
    ai_hospital,
    aie,
    aie_simulators,
    clinichat,
    contrasts,
    ends,
    leakage,
    medchain,
    medpmc,
    models,
    scores,
)
from wardround.tables.drawing import as_png, as_svg, figures_of
from wardround.tables.latex import as_latex
from wardround.tables.names import TABLE_NAMES, USUAL
from wardround.tables.table import Table


class Kind(NamedTuple):
    """A kind of table: its build function, and why there is none if it has no rows."""

    build: Callable[[Sequence[RecordedRun]], list[Table]]
    nothing: str = ""
    scored_only: bool = False  # whether no row says how many cases failed
    by_epoch: bool = True  # whether each epoch of a case counts in it


_MVME = "no run was scored by suite mvme, whose director grades diagnoses"
_DIALOGUE = "no run recorded a dialogue (graphs consultation and dispute_resolution)"
_STAGES = "no run was scored stage by stage (suite medchain)"
_ALIKE = "no two runs of the same suite differ in only one setting"
_PERSONA = "no patient spoke as a persona (patient = 'medpmc', actor on)"

KINDS: Mapping[str, Kind] = {
    "scores": Kind(scores.build),
    "icd10": Kind(ai_hospital.build_icd10, scored_only=True),
    "orders": Kind(medchain.build_orders, "no run decided on examinations (graph clinical_workflow)", scored_only=True),
    "error_types": Kind(ai_hospital.build_error_types, _MVME, scored_only=True),
    "dialogues": Kind(ai_hospital.build_dialogues, _DIALOGUE, scored_only=True),
    "consensus": Kind(ai_hospital.build_consensus, ai_hospital.NO_DISCUSSION, scored_only=True),
    "error_propagation": Kind(medchain.build_error_propagation, _STAGES, scored_only=True),
    "learning_curve": Kind(medchain.build_learning_curve, scored_only=True),
    "information": Kind(medpmc.build_information, "no run recorded a dialogue (graph consultation)", scored_only=True),
    "contrasts": Kind(contrasts.build_contrasts, _ALIKE),
    "ends": Kind(ends.build, "no case has ended yet"),
    "roles": Kind(models.build_roles, "no calls are recorded"),
    "models": Kind(models.build_models, "no model has answered yet", by_epoch=False),
    "leakage": Kind(leakage.build, "no run recalls earlier cases (workflow.retrieval)", by_epoch=False),
    "aie": Kind(aie.build_paper, scored_only=True),
    "actions": Kind(aie.build_actions, scored_only=True),
    "simulators": Kind(aie_simulators.build_simulators, "no run recorded a dialogue with a reply", scored_only=True),
    "medpmc": Kind(medpmc.build_doctors, "no run with dialogues was scored by suite medpmc", scored_only=True),
    "personas": Kind(medpmc.build_personas, _PERSONA, scored_only=True),
    "leaves": Kind(clinichat.build_leaves, "no run was scored by suite clini_eval", scored_only=True),
}
assert tuple(KINDS) == TABLE_NAMES


class Made(NamedTuple):
    """A kind of table for some runs: the tables, or why there are none."""

    name: str
    tables: Sequence[Table] = ()
    reason: str = ""


def make_tables(runs: Sequence[RecordedRun], names: Sequence[str] = USUAL) -> list[Made]:
    """Make each kind of table of these runs, or say why it cannot be made.

    Raises:
        ConfigurationError: the results of a run are damaged, which concerns all tables.
    """
    results: list[Made] = []
    _ = [run.results for run in runs]
    epochs, unfinished = scores.epoch_notes(runs), scores.unfinished_notes(runs)
    for name in names:
        try:
            kind = KINDS[name]
            failed = scores.failed_notes(runs) if kind.scored_only else []
            further = [*failed, *(epochs if kind.by_epoch else ()), *unfinished]
            tables = [_noted(table, further, runs) for table in kind.build(runs) if table.rows]
            results.append(Made(name, tables, "" if tables else kind.nothing))
        except InputError as error:
            results.append(Made(name, reason=str(error)))
    return results


def _noted(table: Table, further: Sequence[str], runs: Sequence[RecordedRun]) -> Table:
    """Return a table with further notes, and those on rules of the runs in its rows (of all if these name none)."""
    named = {row.get(key) for row in table.rows for key in ("run", "baseline")}
    rule_notes = scores.offline_notes([run for run in runs if run.name in named] or runs)
    return replace(table, notes=list(dict.fromkeys([*table.notes, *further, *rule_notes])), by_rules=rule_notes)


def write_tables(tables: Iterable[Table], folder: Path) -> None:
    """Write each table as NAME.csv and NAME.tex, and its figures as NAME.svg and NAME.png.

    Raises:
        OSError: the folder cannot be written.
    """
    for table in tables:
        write_whole(folder / f"{table.name}.csv", table.csv)
        write_whole(folder / f"{table.name}.tex", as_latex(table))
        for name, figure in figures_of(table):
            write_whole(folder / f"{name}.svg", as_svg(figure))
            write_whole(folder / f"{name}.png", as_png(figure))
