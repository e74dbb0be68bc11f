"""``wardround score simulator``: a patient system on our labelled set."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import typer
from pydantic import ValidationError

from cases import Case, load_cases
from cases.registry import nearest
from cases.validation import in_a_line
from llm import ModelSpecError, Role
from llm.specs import OFFLINE, model_of
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from scoring.aie.simulator import LENGTH, confusion
from scoring.aie.simulator_set import Played, SimulatorItem, as_tests, misfits, read_items, shipped_files
from scoring.aie.transcripts import ACTIONS
from scoring.medpmc.judges import patient_judge, persona_judge
from scoring.medpmc.patient_judgements import ASPECTS
from scoring.metrics.samples import PERCENT, Definition, estimates
from scoring.metrics.statistics import Ends, Estimate
from scoring.mvme.reply_judges import consistency_judge, examination_judge, relevance_judge
from wardround.analysis.simulators import Trial, judge_patient_actor, judge_replies, measure
from wardround.commands.exit_codes import refuse
from wardround.commands.score.aie_simulator import (
    ByTurn,
    OutFolder,
    TestOptions,
    kind_of_source,
    played_runs,
    played_tests,
)
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, refuse_records
from wardround.commands.score.transcripts import LeaveOut, read_files
from wardround.config.experiment_file import parse_models
from wardround.tables.table import as_markdown

Judged = Literal["medpmc", "ai_hospital"]


@dataclass(frozen=True)
class Judgement:
    """A paper's method to evaluate a patient system."""

    region: str  # name of the region with its tables in a page of the docs
    patient: str  # patient system if none is named
    # plays the items and fills the trial; returns the replies if they are to be shown
    of: Callable[[Trial, Sequence[SimulatorItem], str, Definition], Awaitable[list[Played] | None]]
    judges: tuple[Role[Any], ...] = ()  # roles that judge the replies
    ends: Ends | None = PERCENT  # lowest and highest score


JUDGEMENTS: Mapping[Judged | None, Judgement] = {
    None: Judgement("simulator scores", "saps", measure),
    "medpmc": Judgement(
        "patient and actor judgements", "medpmc", judge_patient_actor, (patient_judge, persona_judge), ends=None
    ),
    "ai_hospital": Judgement(
        "reply judgements", "ai_hospital", judge_replies, (relevance_judge, consistency_judge, examination_judge)
    ),
}


def simulator(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILES...|RUNS...]",
            help="Files of items, AIE's test files, or runs with dialogues; our own set if none is named.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]SPEC", help="A model for all roles of patient and judges, or for one; else offline."
        ),
    ] = None,
    mode: ModeOption = "sound",
    cases: Annotated[str, typer.Option(metavar="SRC", help="The cases that the items are about.")] = "builtin",
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the tables between the marks of this Markdown page.")
    ] = None,
    patient: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(PATIENTS), help="Who is tried; else SAPS, and where AI Hospital judges, its own."
        ),
    ] = None,
    judged: Annotated[
        Judged | None,
        typer.Option(
            help="Have the replies judged instead: patient and actor with and without tracker and actor (Med-PMC), "
            "or relevance, consistency and examination accuracy (AI Hospital)."
        ),
    ] = None,
    tracker: Annotated[
        bool, typer.Option(help="Off: the same patient (saps, medpmc) without states, holding the whole record.")
    ] = True,
    by: ByTurn = None,
    leave_out: LeaveOut = None,
    replies: Annotated[
        Path | None,
        typer.Option("-o", "--replies", metavar="FILE", help="Of AIE's test file: write it here with the replies."),
    ] = None,
    out: OutFolder = None,
) -> Scores:
    """A patient system on labelled doctors' words.

    Action accuracy and AIE's six metrics, in percent. Also printed: the tracked actions against the labelled ones. With
    --judged, a paper's judgements of the replies. AIE's test file is played question by question; of runs the recorded
    replies are scored, and of --patient its own.
    """
    judgement = JUDGEMENTS[judged]
    _check_patient(patient, judged, judgement.patient, tracker, on_page=page is not None)
    region = _region(page, judgement.region) if page is not None else None
    try:
        context = Context(models={"default": OFFLINE, **parse_models(models or [])})
    except (ModelSpecError, ValidationError) as error:
        refuse(f"--models: {in_a_line(error)}")
    context = context.model_copy(update={"tracker": tracker})
    options = TestOptions(by, leave_out, replies, out, cases)
    kinds = {kind_of_source(file) for file in files or []} or {"items"}
    if len(kinds) > 1:
        refuse("name files of items, AIE's test files or runs, not several kinds at once")
    if files and kinds != {"items"}:
        if judged is not None or page is not None:
            refuse("--judged and --page are for files of items; of runs, see `score replies` and `score medpmc`")
        if replies is not None and (kinds == {"runs"} or len(files) > 1):
            refuse("-o: the replies to one of AIE's test files are written; name one")
        return (played_tests if kinds == {"tests"} else played_runs)(files, patient, context, mode, options)
    if by or leave_out or replies or out:
        prefix = f"{files[0]}: has no patient_test; " if files else ""
        refuse(f"{prefix}--by, --leave-out, -o and --out are for AIE's test files and for runs")
    items = [item for found in read_files(read_items, files or shipped_files()) for item in found]
    trial = Trial(_cases_of(items, cases), context)
    played = anyio.run(judgement.of, trial, items, patient or judgement.patient, mode)
    tables = _confusion_tables(played or [], trial.cases)
    metrics = estimates(trial.samples, clustered=mode == "sound", ends=judgement.ends, neither=(LENGTH,))
    rows = [[name, _cell(found, 1), str(found.n)] for name, found in metrics.items() if name != LENGTH]
    shown = [ExtraTable("Scores", ["metric", "percent", "n"], rows), *tables[:1]]
    if judged == "medpmc":
        shown = tables = [_judgement_table(metrics)]
    if page is not None and region is not None:
        _write_page(page, region, shown)
    notes = _notes(patient, judgement, context)
    notes += [f"{item}: no answer: {reason}" for item, reason in trial.failures.items()]
    return Scores("simulator", mode, len(trial.cases), metrics, tables, notes, failed=bool(trial.failures))


def _check_patient(patient: str | None, judged: Judged | None, default: str, tracker: bool, *, on_page: bool) -> None:
    """End the command if the patient is unknown, or does not fit the judgement or the page."""
    if patient is not None and patient not in PATIENTS:
        refuse(f"--patient {patient}: {nearest(patient, PATIENTS)}")
    if judged == "medpmc" and patient is not None:
        refuse("--judged medpmc plays its own patients, medpmc and medchain: leave out --patient")
    if on_page and patient not in (None, default):
        refuse(f"--page shows the figures of {default}: leave out --patient {patient}")
    if not tracker and (judged == "medpmc" or "tracker" not in PATIENTS[patient or default].settings):
        refuse("--no-tracker is for patients that have a tracker, saps and medpmc")


def _notes(patient: str | None, judgement: Judgement, context: Context) -> list[str]:
    rules = [role.name for role in judgement.judges if model_of(role.name, role.stage, context.models) == OFFLINE]
    if rules:
        return [f"By rules that compare words and facts, for ranking similar systems only: {', '.join(rules)}."]
    if patient == "medpmc":
        return ["Med-PMC's tracker knows no demands: what is to be done on the spot is advice to it."]
    return []


def _cases_of(items: Sequence[SimulatorItem], source: str) -> dict[str, Case]:
    found = {case.id: case for case in load_cases(source)}
    refuse_records(misfits(items, found))
    return {item.case_id: found[item.case_id] for item in items}


def _confusion_tables(played: Sequence[Played], cases: Mapping[str, Case]) -> list[ExtraTable]:
    """Return the confusion of labelled and tracked actions, and each miss; nothing if the patient tracks none."""
    matrix = confusion(as_tests(played, cases))
    if not matrix:
        return []
    rows = [
        [f"{code} {ACTIONS[code]}", *(str(matrix[code].get(other, 0)) for other in ACTIONS)]
        for code in ACTIONS
        if code in matrix
    ]
    missed = [
        [one.item.id, one.item.action, one.action, one.item.doctor]
        for one in played
        if one.action not in ("", one.item.action)
    ]
    tables = [ExtraTable("Tracked actions (columns) by the labelled ones (rows)", ["", *ACTIONS], rows)]
    if missed:
        tables.append(ExtraTable("Tracked as another action", ["item", "labelled", "tracked", "doctor"], missed))
    return tables


def _judgement_table(metrics: Mapping[str, Estimate]) -> ExtraTable:
    """Return Med-PMC's Tables 4 and 5 in one: a row per setting, a column per aspect."""
    columns = [*ASPECTS, "Total", "Semantic Consistency", "Character Feature"]
    rows = []
    for setting in ("w S-T", "w/o S-T", "w Actor", "w/o Actor"):
        found = [metrics.get(f"{column} {setting}") for column in columns]
        cases = max((each.n for each in found if each), default=0)
        rows.append([setting, *("" if each is None else _cell(each, 2) for each in found), str(cases)])
    return ExtraTable("Patient (0 to 2 each) and actor (0 to 5 each)", ["", *columns, "n"], rows)


def _region(page: Path, name: str) -> re.Pattern[str]:
    """Return the pattern of a page's tables; ends the command if the page is unreadable or lacks the marks."""
    opening, closing = f"<!-- {name} -->", f"<!-- end of {name} -->"
    region = re.compile(f"({re.escape(opening)}\n).*?({re.escape(closing)})", re.DOTALL)
    try:
        text = page.read_text("utf-8")
    except UnicodeDecodeError as error:
        refuse(f"{page} is not text in UTF-8 ({error.reason} at byte {error.start})")
    if not region.search(text):
        refuse(f"{page} lacks the marks {opening} and {closing}")
    return region


def _write_page(page: Path, region: re.Pattern[str], tables: Sequence[ExtraTable]) -> None:
    """Write tables into a region of a Markdown page."""
    markdown = "\n\n".join(as_markdown(table.header, table.rows) for table in tables)
    text = page.read_text("utf-8")
    page.write_text(region.sub(lambda match: f"{match[1]}\n{markdown}\n\n{match[2]}", text), "utf-8")


def _cell(found: Estimate, digits: int) -> str:
    return "" if found.mean is None else f"{found.mean:.{digits}f}"
