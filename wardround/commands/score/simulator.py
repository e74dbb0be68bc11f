"""``wardround score simulator``: test a patient system on labelled items."""

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
from wardround.commands.printing import reason
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
    """A paper's way of judging a patient system."""

    region: str  # the name of its tables' region in the docs page
    patient: str  # the patient system tested by default
    # plays the items and fills the trial; returns the replies if they are to be shown
    of: Callable[[Trial, Sequence[SimulatorItem], str, Definition], Awaitable[list[Played] | None]]
    judges: tuple[Role[Any], ...] = ()  # the roles that judge the replies
    ends: Ends | None = PERCENT  # lowest and highest possible score


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
            metavar="SRC",
            help="Files of items, AIE's test files, or run directories with dialogues; our own items if none is given.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]SPEC",
            help="Model for all roles of patient and judges, or for one (offline rules if not given).",
        ),
    ] = None,
    mode: ModeOption = "sound",
    cases: Annotated[str, typer.Option(metavar="SRC", help="Case file that the items are about.")] = "builtin",
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the tables into this Markdown page, between its markers."),
    ] = None,
    patient: Annotated[
        str | None,
        typer.Option(metavar="|".join(PATIENTS), help="Patient system to test (default: saps, or that of --judged)."),
    ] = None,
    judged: Annotated[
        Judged | None,
        typer.Option(
            help="Judge the replies instead: patient with and without tracker and actor (medpmc), or relevance, "
            "consistency and accuracy of examinations (ai_hospital)."
        ),
    ] = None,
    tracker: Annotated[
        bool,
        typer.Option(
            help="Test the patient (saps, medpmc) with its tracker, or without states and with the whole record."
        ),
    ] = True,
    by: ByTurn = None,
    leave_out: LeaveOut = None,
    replies: Annotated[
        Path | None,
        typer.Option("-o", "--replies", metavar="FILE", help="Write AIE's test file with the replies to this file."),
    ] = None,
    out: OutFolder = None,
) -> Scores:
    """Test a patient system on doctors' labelled turns.

    Prints action accuracy and AIE's six metrics in percent, and the tracked actions against the labelled ones; with
    --judged, a paper's judgements of the replies. The questions of AIE's test files are played one by one. For runs,
    the recorded replies are scored or, with --patient, those of that patient.
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
        refuse("SRC: give files of items, AIE's test files or runs, not several kinds at once")
    if files and kinds != {"items"}:
        if judged is not None or page is not None:
            refuse("--judged and --page need files of items; for runs, use `score replies` or `score medpmc`")
        if replies is not None and (kinds == {"runs"} or len(files) > 1):
            refuse("-o: needs exactly one of AIE's test files")
        return (played_tests if kinds == {"tests"} else played_runs)(files, patient, context, mode, options)
    if by or leave_out or replies or out:
        complaint = f"; {files[0]} has no patient_test" if files else ""
        refuse(f"--by, --leave-out, -o and --out need AIE's test files or runs{complaint}")
    items = [item for found in read_files(read_items, files or shipped_files()) for item in found]
    trial = Trial(_cases_of(items, cases), context)
    played = anyio.run(judgement.of, trial, items, patient or judgement.patient, mode)
    tables = _tracked(played or [], trial.cases)
    metrics = estimates(trial.samples, clustered=mode == "sound", ends=judgement.ends, neither=(LENGTH,))
    rows = [[name, _cell(found, 1), str(found.n)] for name, found in metrics.items() if name != LENGTH]
    page_tables = [ExtraTable("Scores", ["metric", "percent", "n"], rows), *tables[:1]]
    if judged == "medpmc":
        page_tables = tables = [_judgement_table(metrics)]
    if page is not None and region is not None:
        _write_page(page, region, page_tables)
    notes = _notes(patient, judgement, context)
    notes += [f"{item}: no answer: {reason}" for item, reason in trial.failures.items()]
    return Scores("simulator", mode, len(trial.cases), metrics, tables, notes, failed=bool(trial.failures))


def _check_patient(patient: str | None, judged: Judged | None, usual: str, tracker: bool, *, on_page: bool) -> None:
    """Exit if this patient does not exist, or does not fit the judgement or the page."""
    if patient is not None and patient not in PATIENTS:
        refuse(f"--patient {patient}: {nearest(patient, PATIENTS)}")
    if judged == "medpmc" and patient is not None:
        refuse("--judged medpmc uses its own patients, medpmc and medchain; leave out --patient")
    if on_page and patient not in (None, usual):
        refuse(f"--page shows the figures of {usual}; leave out --patient {patient}")
    if not tracker and (judged == "medpmc" or "tracker" not in PATIENTS[patient or usual].settings):
        refuse("--no-tracker needs a patient with a tracker: saps or medpmc")


def _notes(patient: str | None, judgement: Judgement, context: Context) -> list[str]:
    rules = [role.name for role in judgement.judges if model_of(role.name, role.stage, context.models) == OFFLINE]
    if rules:
        return [f"Judged by rules that compare words and facts ({', '.join(rules)}); use only to rank similar systems."]
    if patient == "medpmc":
        return ["Med-PMC's tracker has no action for demands, and tracks them as advice."]
    return []


def _cases_of(items: Sequence[SimulatorItem], source: str) -> dict[str, Case]:
    found = {case.id: case for case in load_cases(source)}
    refuse_records(misfits(items, found))
    return {item.case_id: found[item.case_id] for item in items}


def _tracked(played: Sequence[Played], cases: Mapping[str, Case]) -> list[ExtraTable]:
    """Tabulate labelled against tracked actions, and each miss; empty if the patient tracks none."""
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
    tables = [ExtraTable("Tracked actions (columns) against labelled actions (rows)", ["", *ACTIONS], rows)]
    if missed:
        tables.append(ExtraTable("Tracked as another action", ["item", "labelled", "tracked", "doctor"], missed))
    return tables


def _judgement_table(metrics: Mapping[str, Estimate]) -> ExtraTable:
    """Return Med-PMC's Tables 4 and 5 as one: settings as rows, aspects as columns."""
    columns = [*ASPECTS, "Total", "Semantic Consistency", "Character Feature"]
    rows = []
    for setting in ("w S-T", "w/o S-T", "w Actor", "w/o Actor"):
        found = [metrics.get(f"{column} {setting}") for column in columns]
        cases = max((each.n for each in found if each), default=0)
        rows.append([setting, *("" if each is None else _cell(each, 2) for each in found), str(cases)])
    return ExtraTable("Patient (0 to 2 each) and actor (0 to 5 each)", ["", *columns, "n"], rows)


def _region(page: Path, name: str) -> re.Pattern[str]:
    """Return a pattern for a region of a Markdown page; exits if the page cannot be read, or lacks the markers."""
    opening, closing = f"<!-- {name} -->", f"<!-- end of {name} -->"
    marked = re.compile(f"({re.escape(opening)}\n).*?({re.escape(closing)})", re.DOTALL)
    try:
        text = page.read_text("utf-8")
    except UnicodeDecodeError as error:
        refuse(f"--page {page}: {reason(error)}")
    if not marked.search(text):
        refuse(f"--page {page}: the markers {opening} and {closing} are missing; add them")
    return marked


def _write_page(page: Path, region: re.Pattern[str], tables: Sequence[ExtraTable]) -> None:
    """Write tables into a region of a Markdown page."""
    drawn = "\n\n".join(as_markdown(table.header, table.rows) for table in tables)
    text = page.read_text("utf-8")
    page.write_text(region.sub(lambda marks: f"{marks[1]}\n{drawn}\n\n{marks[2]}", text), "utf-8")


def _cell(found: Estimate, digits: int) -> str:
    return "" if found.mean is None else f"{found.mean:.{digits}f}"
