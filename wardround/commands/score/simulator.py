"""``wardround score simulator``: patient systems on labelled items, AIE's tests and dialogues."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from cases import Case, load_cases
from cases.importers.source import Source
from llm import Role
from llm.specs import OFFLINE
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from scoring.aie.simulator import LENGTH, confusion
from scoring.aie.simulator_set import Played, SimulatorItem, as_tests, misfits, read_items, shipped_files
from scoring.aie.transcripts import ACTIONS
from scoring.medpmc.judges import patient_judge, persona_judge
from scoring.medpmc.patient_judgements import ASPECTS, ENDS
from scoring.metrics.samples import PERCENT, Definition, estimates
from scoring.metrics.statistics import Ends, Estimate
from scoring.mvme.reply_judges import consistency_judge, examination_judge, relevance_judge
from wardround.analysis import simulators
from wardround.analysis.simulators import Trial
from wardround.commands.exit_codes import refuse
from wardround.commands.options import RoleModels, check_known
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, judged_by_rules, refuse_records
from wardround.commands.score.simulator_tests import ByTurn, OutFolder, TestOptions, played_runs, played_tests
from wardround.commands.score.transcripts import LeaveOut, checked_models, read_files
from wardround.config.command_line import parse_models
from wardround.run.own_loop import run_alone


def kind_of_source(path: Path) -> Literal["items", "tests", "runs"]:
    """Return what a path holds for testing simulators; exits if it is a file that cannot be read."""
    if path.is_dir():
        return "runs"
    source = Source(path)
    is_test_file = "patient_test" in source.first
    refuse_records(source.problems)
    return "tests" if is_test_file else "items"


Judged = Literal["medpmc", "ai_hospital"]


@dataclass(frozen=True)
class Judgement:
    """A paper's way of judging a patient system."""

    patient: str  # the patient system tested by default
    # plays the items and fills the trial; returns the replies if they are to be shown
    of: Callable[[Trial, Sequence[SimulatorItem], str, Definition], Coroutine[Any, Any, list[Played] | None]]
    judges: tuple[Role[Any], ...] = ()  # the roles that judge the replies
    ends: Ends | Mapping[str, Ends] = PERCENT  # lowest and highest possible score, by metric if they differ


JUDGEMENTS: Mapping[Judged | None, Judgement] = {
    None: Judgement("saps", simulators.measure),
    "medpmc": Judgement("medpmc", simulators.judge_patient_actor, (patient_judge, persona_judge), ends=ENDS),
    "ai_hospital": Judgement(
        "ai_hospital", simulators.judge_replies, (relevance_judge, consistency_judge, examination_judge)
    ),
}


def simulator(
    files: Annotated[
        list[Path] | None,
        Argument(
            metavar="SRC",
            help="Files of items, AIE's test files, or run directories with dialogues; our own items if none is given.",
        ),
    ] = None,
    models: RoleModels = None,
    mode: ModeOption = "sound",
    cases: Annotated[str, Option(metavar="SRC", help="Case file that the items are about.")] = "builtin",
    patient: Annotated[
        str | None,
        Option(metavar="|".join(PATIENTS), help="Patient system to test (default: saps, or that of --judged)."),
    ] = None,
    judged: Annotated[
        Judged | None,
        Option(
            help="Judge the replies instead: patient with and without tracker and actor (medpmc), or relevance, "
            "consistency and accuracy of examinations (ai_hospital)."
        ),
    ] = None,
    tracker: Annotated[
        bool,
        Option(help="Test the patient (saps, medpmc) with its tracker, or without states and with the whole record."),
    ] = True,
    by: ByTurn = None,
    leave_out: LeaveOut = None,
    replies: Annotated[
        Path | None,
        Option("-o", "--replies", metavar="FILE", help="Write AIE's test file with the replies to this file."),
    ] = None,
    out: OutFolder = None,
) -> Scores:
    """Test a patient system on doctors' labelled turns.

    Prints action accuracy and AIE's six metrics in percent, and the tracked actions against the labelled ones; with
    --judged, a paper's judgements of the replies. The questions of AIE's test files are played one by one. For runs,
    the recorded replies are scored or, with --patient, those of that patient.
    """
    judgement = JUDGEMENTS[judged]
    _check_patient(patient, judged, judgement.patient, tracker)
    settings = checked_models({"default": OFFLINE, **parse_models(models or [])}, "--models")
    context = Context.model_validate(dict(settings)).model_copy(update={"tracker": tracker})
    options = TestOptions(by, leave_out, replies, out, cases)
    kind, *other_kinds = {kind_of_source(file) for file in files or []} or {"items"}
    if other_kinds:
        refuse("SRC: give files of items, AIE's test files or runs, not several kinds at once")
    if files and kind != "items":
        if judged is not None:
            refuse("--judged needs files of items; for runs, use `score replies` or `score medpmc`")
        if replies is not None and (kind == "runs" or len(files) > 1):
            refuse("-o: needs exactly one of AIE's test files")
        return (played_tests if kind == "tests" else played_runs)(files, patient, context, mode, options)
    if by or leave_out or replies or out:
        complaint = f"; {files[0]} has no patient_test" if files else ""
        refuse(f"--by, --leave-out, -o and --out need AIE's test files or runs{complaint}")
    items = [item for found in read_files(read_items, files or shipped_files()) for item in found]
    known = {case.id: case for case in load_cases(cases)}
    refuse_records(misfits(items, known))
    trial = Trial({item.case_id: known[item.case_id] for item in items}, context)
    played = run_alone(judgement.of, trial, items, patient or judgement.patient, mode)
    metrics = estimates(trial.samples, clustered=mode == "sound", ends=judgement.ends, neither=(LENGTH,))
    tables = [_judgement_table(metrics)] if judged == "medpmc" else _tracked(played or [], trial.cases)
    notes = judged_by_rules(judgement.judges, context, trial.cases.values())
    if not notes and patient == "medpmc":
        notes.append("Med-PMC's tracker has no action for demands, and tracks them as advice.")
    notes += trial.unanswered
    return Scores("simulator", mode, len(trial.cases), metrics, tables, notes, failed=bool(trial.failures))


def _check_patient(patient: str | None, judged: Judged | None, usual: str, tracker: bool) -> None:
    """Exit if this patient does not exist, or does not fit the judgement."""
    check_known("--patient", [patient or usual], PATIENTS)
    if judged == "medpmc" and patient is not None:
        refuse("--judged medpmc uses its own patients, medpmc and medchain; leave out --patient")
    if not tracker and (judged == "medpmc" or "tracker" not in PATIENTS[patient or usual].settings):
        refuse("--no-tracker needs a patient with a tracker: saps or medpmc")


def _tracked(played: Sequence[Played], cases: Mapping[str, Case]) -> list[ExtraTable]:
    """Tabulate labelled against tracked actions, and each miss; empty if the patient tracks none."""
    matrix = confusion(as_tests(played, cases))
    if not matrix:
        return []
    rows = [
        [f"{code} {ACTIONS[code]}", *(str(matrix[code][other]) for other in ACTIONS)]
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
        means = ["" if each is None or each.mean is None else f"{each.mean:.2f}" for each in found]
        rows.append([setting, *means, str(cases)])
    return ExtraTable("Patient (0 to 2 each) and actor (0 to 5 each)", ["", *columns, "n"], rows)
