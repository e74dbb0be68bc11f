"""``wardround score simulator`` and ``aie-simulator``: patient systems on labelled items, AIE's tests and dialogues."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import correlation
from typing import Annotated, Any, Literal

import typer

from cases import Case, load_cases
from cases.importers.source import Source
from cases.validation import nearest
from llm import Role
from llm.specs import OFFLINE
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from scoring.aie.simulator import (
    LENGTH,
    beside_people,
    confusion,
    keyword_precision,
    replies,
    score_simulator,
    unanswered,
)
from scoring.aie.simulator_set import Played, SimulatorItem, as_tests, misfits, read_items, shipped_files
from scoring.aie.transcripts import ACTIONS, SimulatorTest, read_simulator_tests
from scoring.medpmc.judges import patient_judge, persona_judge
from scoring.medpmc.patient_judgements import ASPECTS
from scoring.metrics.comparison import spearman
from scoring.metrics.samples import PERCENT, Definition, case_of, estimates
from scoring.metrics.statistics import Ends, Estimate
from scoring.mvme.reply_judges import consistency_judge, examination_judge, relevance_judge
from wardround.analysis import simulators
from wardround.analysis.simulators import Trial
from wardround.commands.exit_codes import refuse
from wardround.commands.options import RoleModels, a_folder, check_file, check_folder
from wardround.commands.score.output import (
    ExtraTable,
    ModeOption,
    Scores,
    judged_by_rules,
    of_each,
    refuse_records,
    write_drawn,
)
from wardround.commands.score.transcripts import LeaveOut, asking, cell, counts, names_of, read_files, without
from wardround.config.experiment_file import parse_models
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import find_runs
from wardround.tables.aie import ALL, confusion_tables, simulators_table, tracking_table
from wardround.tables.table import P_VALUE, Table, as_text

ByTurn = Annotated[Literal["turn"] | None, typer.Option("--by", help="Also print a row for each round (turn).")]
OutFolder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the rows for each round to this directory, as CSV, LaTeX and figure (AIE, Figure 3a).",
        callback=a_folder,
    ),
]
WITHOUT_TRACKER = " without tracker"
BY_RULE = (
    "Actions and expected answers were found in the doctor's words by rules, not labelled by people. "
    "For a tracker that uses the same rules, TRACKING and kappa are meaningless."
)


@dataclass(frozen=True)
class TestOptions:
    """What to leave out of tests, what to print and write, and where their cases are."""

    by: Literal["turn"] | None = None
    leave_out: Sequence[str] | None = None
    replies: Path | None = None
    out: Path | None = None
    cases: str = "builtin"


def aie_simulator(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES", help="Simulator test files with replies, one for each simulator.")
    ],
    mode: ModeOption = "sound",
    people: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Test file with people's replies, to correlate with.")
    ] = None,
    by: ByTurn = None,
    leave_out: LeaveOut = None,
    out: OutFolder = None,
) -> Scores:
    """Score patient simulators by the metrics of AIE.

    All metrics are in percent, over all files together and by simulator and round (Figure 3a). Also printed: tracked
    actions against people's, and the correlation with people's replies.
    """
    if folder := next(filter(Path.is_dir, files), None):
        refuse(f"{folder}: is a folder; for the dialogues of runs, run `wardround score simulator {folder}`")
    tests = without(read_files(read_simulator_tests, files), leave_out, lambda one: one.id)
    for file, records in zip(files, tests, strict=True):
        if not any(replies(records)):
            refuse(f"{file}: has no replies (prediction); to add them, run `wardround score simulator {file} -o FILE`")
    human_tests = read_files(read_simulator_tests, [people])[0] if people else None
    tests_by_name = dict(zip(names_of(files), tests, strict=True))
    notes = [
        f"{name}: {len(missing)} questions have no reply (prediction) and are left out, such as {missing[0]}."
        for name, records in tests_by_name.items()
        if (missing := unanswered(records))
    ]
    options = TestOptions(by, leave_out, None, out)
    found = _simulator_scores("aie-simulator", tests_by_name, mode, options, beside=True, notes=notes)
    return replace(found, tables=list(_human_correlations(tests_by_name, mode, human_tests)))


def kind_of_source(path: Path) -> Literal["items", "tests", "runs"]:
    """Return what a path holds for testing simulators; exits if it is a file that cannot be read."""
    if path.is_dir():
        return "runs"
    source = Source(path)
    is_test_file = "patient_test" in source.first
    refuse_records(source.problems)
    return "tests" if is_test_file else "items"


def played_tests(
    files: Sequence[Path], patient: str | None, context: Context, mode: Definition, options: TestOptions
) -> Scores:
    """Play AIE's test files with a patient, and score its replies."""
    if options.replies is not None:
        check_folder("-o", options.replies.parent)
        check_file(options.replies)
    read = without(read_files(read_simulator_tests, files), options.leave_out, lambda one: one.id)
    tests = [test for records in read for test in records]
    cases: dict[str, Case] = {}
    known = {case.id: case for case in load_cases(options.cases)}
    if options.cases != "builtin" and tests and not known.keys() & {test.id for test in tests}:
        refuse(
            f"--cases {options.cases}: has no case of {files[0]} ({tests[0].id}, ...); name the file that it is about"
        )
    for file, records in zip(files, read, strict=True):
        found, problems = simulators.cases_of(file, records, known)
        refuse_records(problems)
        cases |= found
    if len(cases) < len(tests):
        repeated = next(name for name, count in Counter(test.id for test in tests).items() if count > 1)
        refuse(f"{', '.join(map(str, files))}: patient {repeated} occurs twice; give each patient once")
    if not simulators.questions_of(tests):
        refuse(f"{files[0]}: no test has a question (patient_test.ROUND.ACTION.question) to ask")
    trial = Trial(cases, context)
    name = patient or "saps"
    played = run_alone(simulators.play_tests, trial, tests, name)
    name += "" if context.tracker else WITHOUT_TRACKER
    if options.replies is not None:
        simulators.write_tests(options.replies, files[0], played)
    notes = [f"{place}: no answer: {reason}" for place, reason in trial.failures.items()]
    if short := simulators.lacking_dialogue(tests):
        patient_id, turn, _ = short[0]
        notes.append(
            f"{len(short)} questions are asked after a shorter dialogue than their round implies, because `history` is "
            f"shorter or missing; the first is for patient {patient_id} in round {turn}."
        )
    asked = [
        one for test in tests for by_kind in test.patient_test.values() for one in by_kind.values() if one.question
    ]
    if drafts := sum(one.human_state is one.human_answer is None for one in asked):
        notes.append(f"{drafts} questions are a model's drafts that no person has checked (`wardround cases confirm`).")
    return _simulator_scores(
        "simulator", {name: played}, mode, options, beside=True, notes=notes, failed=bool(trial.failures)
    )


def played_runs(
    paths: Sequence[Path], patient: str | None, context: Context, mode: Definition, options: TestOptions
) -> Scores:
    """Score the doctor's turns in runs' dialogues with the recorded replies, or with those of another patient."""
    runs = find_runs(paths)
    recorded = without([simulators.tests_of_run(run) for run in runs], options.leave_out, lambda one: case_of(one.id))
    tests_by_name: dict[str, Sequence[SimulatorTest]] = {}
    notes = [BY_RULE]
    for run, tests in zip(runs, recorded, strict=True):
        if patient is not None:
            trial = Trial({test.id: run.cases[case_of(test.id)] for test in tests}, context)
            tests = run_alone(simulators.play_tests, trial, tests, patient)
            notes += [f"{run.name}, {place}: no answer: {reason}" for place, reason in trial.failures.items()]
        if tests:
            player = patient if patient is None or context.tracker else f"{patient}{WITHOUT_TRACKER}"
            tests_by_name[run.name if player is None else f"{player}, {run.name}"] = tests
    if not tests_by_name:
        refuse(f"{paths[0]}: has no dialogue with a reply; expected a run of graph consultation or dispute_resolution")
    return _simulator_scores("simulator", tests_by_name, mode, options, notes=notes, failed=len(notes) > 1)


def _simulator_scores(
    suite: str,
    tests_by_name: Mapping[str, Sequence[SimulatorTest]],
    mode: Definition,
    options: TestOptions,
    *,
    beside: bool = False,
    notes: Sequence[str] = (),
    failed: bool = False,
) -> Scores:
    """Return the metrics over all simulators, and a table by simulator and round."""
    tests = [test for records in tests_by_name.values() for test in records]
    all_notes = list(notes)
    if mode == "sound":
        all_notes.append(
            "PRECISION is our addition: of the replies with a metric's keyword, the share that should have it."
        )
    metrics, files = _simulator_metrics(tests, mode), of_each(tests_by_name, partial(_simulator_metrics, mode=mode))
    if empty := [name for name, one in metrics.items() if one.mean is None]:
        all_notes.append(
            f"{', '.join(empty)}: unscored, because no such question was asked or, for TRACKING, no action was tracked."
        )
    figure = simulators_table(tests_by_name, mode, beside=beside)
    tracked = [table for table in (tracking_table(tests_by_name), *confusion_tables(tests_by_name)) if table]
    write_drawn([figure, *tracked], options.out)
    n, more = counts({test.id for test in tests})
    drawn = [figure if options.by else _over_rounds(figure), *tracked]
    return Scores(suite, mode, n, metrics, notes=all_notes, failed=failed, drawn=drawn, files=files, more=more)


def _simulator_metrics(tests: Sequence[SimulatorTest], mode: Definition) -> dict[str, Estimate]:
    """Return AIE's metrics; in sound mode, with the precision of the keywords."""
    is_sound = mode == "sound"
    samples = score_simulator(tests, mode) | (keyword_precision(tests) if is_sound else {})
    return estimates(samples, clustered=is_sound, ends=PERCENT, neither=(LENGTH,))


def _human_correlations(
    tests_by_name: Mapping[str, Sequence[SimulatorTest]], mode: Definition, human_tests: Sequence[SimulatorTest] | None
) -> Iterator[ExtraTable]:
    """Yield a table of correlations between simulators and people; none if there is nothing of people."""
    rows = []
    for simulator, tests in tests_by_name.items():
        if tests == human_tests:  # the people's own file
            continue
        for name, pairs in beside_people(tests, mode, human_tests).items():
            one = spearman(pairs)
            pearson = None if one.rho is None else correlation(*zip(*pairs, strict=True))
            cells = [name, cell(one.rho), as_text(one.p, P_VALUE), cell(pearson), str(one.n)]
            rows.append([simulator, *cells] if len(tests_by_name) > 1 else cells)
    if rows:
        header = [*(["simulator"] if len(tests_by_name) > 1 else []), "", "Spearman's rho", "p", "Pearson's r", "n"]
        yield ExtraTable("Correlation with people, reply by reply (AIE, Figure 3b)", header, rows)


def _over_rounds(table: Table) -> Table:
    """Return only the rows over all rounds."""
    rows = [(row, place in table.beside) for place, row in enumerate(table.rows) if row["round"] == ALL]
    beside = [place for place, (_, is_published) in enumerate(rows) if is_published]
    columns = [column for column in table.columns if column.name != "round"]
    notes = [note for note in table.notes if not note.startswith("A round:")]
    return Table(table.name, table.title.replace(" by round", ""), columns, [row for row, _ in rows], notes, "", beside)


Judged = Literal["medpmc", "ai_hospital"]


@dataclass(frozen=True)
class Judgement:
    """A paper's way of judging a patient system."""

    patient: str  # the patient system tested by default
    # plays the items and fills the trial; returns the replies if they are to be shown
    of: Callable[[Trial, Sequence[SimulatorItem], str, Definition], Awaitable[list[Played] | None]]
    judges: tuple[Role[Any], ...] = ()  # the roles that judge the replies
    ends: Ends | None = PERCENT  # lowest and highest possible score


JUDGEMENTS: Mapping[Judged | None, Judgement] = {
    None: Judgement("saps", simulators.measure),
    "medpmc": Judgement("medpmc", simulators.judge_patient_actor, (patient_judge, persona_judge), ends=None),
    "ai_hospital": Judgement(
        "ai_hospital", simulators.judge_replies, (relevance_judge, consistency_judge, examination_judge)
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
    models: RoleModels = None,
    mode: ModeOption = "sound",
    cases: Annotated[str, typer.Option(metavar="SRC", help="Case file that the items are about.")] = "builtin",
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
    _check_patient(patient, judged, judgement.patient, tracker)
    settings = asking({"default": OFFLINE, **parse_models(models or [])}, "--models")
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
    notes = judged_by_rules(judgement.judges, context, trial.cases.values()) or _notes(patient)
    notes += [f"{item}: no answer: {reason}" for item, reason in trial.failures.items()]
    return Scores("simulator", mode, len(trial.cases), metrics, tables, notes, failed=bool(trial.failures))


def _check_patient(patient: str | None, judged: Judged | None, usual: str, tracker: bool) -> None:
    """Exit if this patient does not exist, or does not fit the judgement."""
    if patient is not None and patient not in PATIENTS:
        refuse(f"--patient {patient}: {nearest(patient, PATIENTS)}")
    if judged == "medpmc" and patient is not None:
        refuse("--judged medpmc uses its own patients, medpmc and medchain; leave out --patient")
    if not tracker and (judged == "medpmc" or "tracker" not in PATIENTS[patient or usual].settings):
        refuse("--no-tracker needs a patient with a tracker: saps or medpmc")


def _notes(patient: str | None) -> list[str]:
    return ["Med-PMC's tracker has no action for demands, and tracks them as advice."] * (patient == "medpmc")


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
