"""``wardround score simulator``: a patient system on our labelled set."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wardround.commands.score.output import (
    ExtraTable,
    JsonOption,
    Mode,
    ModeOption,
    Scores,
    refuse,
    refuse_records,
    show,
)
from wardround.commands.score.simulator_page import REGIONS, judgement_table, matrix_table, scores_table, write_page
from wardround.commands.score.transcripts import read_files

if TYPE_CHECKING:
    from cases import Case
    from nodes.context import Context
    from scoring.aie.simulator_set import Played, SimulatorItem
    from scoring.metrics.samples import Definition, Sample

_JUDGES = {
    "medpmc": ("patient_judge", "persona_judge"),
    "ai_hospital": ("relevance_judge", "consistency_judge", "examination_judge"),
}
Patient = Literal["saps", "ai_hospital", "medpmc", "medchain"]


def simulator(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILES...]", help="Files of items; our own set if none is named.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]SPEC", help="A model for all roles of patient and judges, or for one; else offline."
        ),
    ] = None,
    mode: ModeOption = Mode.SOUND,
    json_file: JsonOption = None,
    cases: Annotated[str, typer.Option(metavar="SRC", help="The cases that the items are about.")] = "builtin",
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the tables between the marks of this Markdown page."),
    ] = None,
    patient: Annotated[
        Patient | None,
        typer.Option(help="Who is tried; else SAPS, and where AI Hospital judges, its own.", show_default=False),
    ] = None,
    judged: Annotated[
        Literal["medpmc", "ai_hospital"] | None,
        typer.Option(
            help="Have the replies judged instead: patient and actor with and without tracker and actor (Med-PMC), "
            "or relevance, consistency and examination accuracy (AI Hospital).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """A patient system on labelled doctors' words: action accuracy and AIE's six metrics (percent).

    Also printed: the tracked actions against the labelled ones. With --judged, a paper's judgements of the replies.
    """
    import anyio

    from scoring.aie.simulator_set import read_items, shipped_files
    from scoring.metrics.samples import estimates
    from wardround.analysis.simulators import judge_patient_actor, judge_replies

    definition: Definition = mode.value
    if judged == "medpmc" and patient is not None:
        refuse("--judged medpmc plays its own patients, medpmc and medchain: leave out --patient")
    default: Patient = "ai_hospital" if judged else "saps"
    if page is not None and patient not in (None, default):
        refuse(f"--page shows the figures of {default}: leave out --patient {patient}")
    context = _context(models or [])
    items: list[SimulatorItem] = [item for found in read_files(read_items, files or shipped_files()) for item in found]
    known = _cases_of(items, cases)
    notes = _notes(patient, judged, context)
    if judged is None:
        samples, tables, failures = _scored(items, known, context, patient or default, definition)
    else:
        tables = []
        found = (
            anyio.run(judge_patient_actor, items, known, context)
            if judged == "medpmc"
            else anyio.run(judge_replies, items, known, context, patient or default)
        )
        samples, failures = found.samples, found.failures
    metrics = estimates(samples, clustered=definition == "sound")
    if judged == "medpmc":
        tables = [judgement_table(metrics)]
    if page is not None:
        write_page(page, REGIONS[judged], tables if judged == "medpmc" else [scores_table(metrics), *tables[:1]])
    notes += [f"{item}: no answer: {reason}" for item, reason in failures.items()]
    show(Scores("simulator", mode, len(known), metrics, tables, notes), json_file)


def _scored(
    items: "Sequence[SimulatorItem]",
    known: "Mapping[str, Case]",
    context: "Context",
    patient: "Patient",
    definition: "Definition",
) -> "tuple[dict[str, list[Sample]], list[ExtraTable], dict[str, str]]":
    """AIE's metrics; the tracked actions beside the labelled ones, where the patient tracks any; and the failures."""
    import anyio

    from scoring.aie.simulator import confusion, score_simulator
    from scoring.aie.simulator_set import as_tests, tracking_by_part
    from wardround.analysis.simulator_trial import play_all

    played, failures = anyio.run(play_all, items, known, context, patient)
    tests = as_tests(played, known)
    samples = score_simulator(tests, definition) | tracking_by_part(played, known)
    matrix = confusion(tests)
    return samples, [matrix_table(matrix), *_missed(played)] if matrix else [], failures


def _notes(patient: "Patient | None", judged: str | None, context: "Context") -> list[str]:
    from llm.specs import OFFLINE, model_of

    if judged is not None:
        rules = [role for role in _JUDGES[judged] if model_of(role, "evaluation", context.models) == OFFLINE]
        names = ", ".join(rules)
        return [f"By rules that compare words and facts, for ranking similar systems only: {names}."] if rules else []
    if patient == "medpmc":
        return ["Med-PMC's tracker knows no demands: what is to be done on the spot is advice to it."]
    return []


def _context(models: Sequence[str]) -> "Context":
    from pydantic import ValidationError

    from llm import ModelSpecError
    from nodes.context import Context

    pairs = [spec.partition("=") if re.match(r"[a-z_.]+=", spec) else ("default", "=", spec) for spec in models]
    try:
        return Context(models={"default": "offline"} | {role: spec for role, _, spec in pairs})
    except (ModelSpecError, ValidationError) as error:
        refuse(f"--models: {error}")


def _cases_of(items: "Sequence[SimulatorItem]", source: str) -> "dict[str, Case]":
    from cases import CaseFileError, load_cases
    from scoring.aie.simulator_set import misfits

    try:
        found = {case.id: case for case in load_cases(source)}
    except CaseFileError as error:
        refuse(*map(str, error.problems))
    refuse_records(misfits(items, found))
    return {item.case_id: found[item.case_id] for item in items}


def _missed(played: "Sequence[Played]") -> list[ExtraTable]:
    rows = [
        [one.item.id, one.item.action, one.action, one.item.doctor]
        for one in played
        if one.action not in ("", one.item.action)
    ]
    return [ExtraTable("Tracked as another action", ["item", "labelled", "tracked", "doctor"], rows)] if rows else []
