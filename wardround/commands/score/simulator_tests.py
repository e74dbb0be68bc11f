"""What commands for patient simulators share: AIE's tests, from files or played, and the scores of their replies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from cases import Case, load_cases
from cases.grouping import repetitions
from cases.text.words import language_of
from nodes.context import Context
from scoring.aie.simulator import LENGTH, keyword_precision, replies, score_simulator
from scoring.aie.transcripts import SimulatorTest, each_test, read_simulator_tests
from scoring.metrics.samples import PERCENT, Definition, case_of, estimates, of_epoch
from scoring.metrics.statistics import Estimate
from wardround.analysis.simulator_tests import (
    cases_of,
    lacking_dialogue,
    play_tests,
    questions_of,
    tests_of_run,
    write_tests,
)
from wardround.analysis.simulators import Trial
from wardround.commands.exit_codes import refuse
from wardround.commands.options import check_file, check_folder
from wardround.commands.score.output import DrawnFolder, Scores, of_each, refuse_records, write_drawn
from wardround.commands.score.transcripts import counts, read_files, without
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import find_runs
from wardround.tables.aie_simulators import (
    ALL,
    LABELLED_BY_RULES,
    LabelledBy,
    confusion_tables,
    simulators_table,
    tracking_table,
)
from wardround.tables.scores import failed_notes
from wardround.tables.table import Table

WITHOUT_TRACKER = " without tracker"


ByTurn = Annotated[Literal["turn"] | None, Option(help="Also print a row for each round (turn).")]
OutFolder = Annotated[
    DrawnFolder,
    Option(
        metavar="DIR",
        help="Write the rows for each round to this directory, as CSV, LaTeX and figure (AIE, Figure 3a).",
    ),
]


@dataclass(frozen=True)
class TestOptions:
    """What to leave out of tests, what to print and write, and where their cases are."""

    by: Literal["turn"] | None = None
    leave_out: Sequence[str] | None = None
    replies: Path | None = None
    out: Path | None = None
    cases: str = "builtin"


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
        found, problems = cases_of(file, records, known)
        refuse_records(problems)
        cases |= found
    if len(cases) < len(tests):
        repeated = next(iter(repetitions(test.id for test in tests)))
        refuse(f"{', '.join(map(str, files))}: patient {repeated} occurs twice; give each patient once")
    if not questions_of(tests):
        refuse(f"{files[0]}: no test has a question (patient_test.ROUND.ACTION.question) to ask")
    trial = Trial(cases, context)
    name = patient or "saps"
    played = run_alone(play_tests, trial, tests, name)
    name += "" if context.tracker else WITHOUT_TRACKER
    notes = trial.unanswered
    if short := lacking_dialogue(tests):
        patient_id, turn, _ = short[0]
        notes.append(
            f"{len(short)} questions are asked after a shorter dialogue than their round implies, because `history` is "
            f"shorter or missing; the first is for patient {patient_id} in round {turn}."
        )
    asked = [one for test in tests for *_, one in each_test(test.patient_test) if one.question]
    if drafts := sum(one.human_state is one.human_answer is None for one in asked):
        notes.append(f"{drafts} questions are a model's drafts that no person has checked (`wardround cases confirm`).")
    scores = scores_of_tests(
        "simulator", {name: played}, mode, options, beside=True, notes=notes, failed=bool(trial.failures)
    )

    def write() -> None:
        if options.replies is not None:
            write_tests(options.replies, files[0], played)
        scores.write()

    return replace(scores, write=write)


def played_runs(
    paths: Sequence[Path], patient: str | None, context: Context, mode: Definition, options: TestOptions
) -> Scores:
    """Score the doctor's turns in runs' dialogues with the recorded replies, or with those of another patient."""
    runs = find_runs(paths)
    recorded = without([tests_of_run(run) for run in runs], options.leave_out, lambda one: case_of(one.id))
    tests_by_name: dict[str, Sequence[SimulatorTest]] = {}
    notes: list[str] = []
    for run, tests in zip(runs, recorded, strict=True):
        if patient is not None:
            cases = {of_epoch(*result.key): run.case_of(*result.key) for result in run.results}
            trial = Trial({test.id: cases[test.id] for test in tests}, context)
            tests = run_alone(play_tests, trial, tests, patient)
            notes += [f"{run.name}, {each}" for each in trial.unanswered]
        if tests:
            player = patient if patient is None or context.tracker else f"{patient}{WITHOUT_TRACKER}"
            tests_by_name[run.name if player is None else f"{player}, {run.name}"] = tests
    if not tests_by_name:
        refuse(f"{paths[0]}: has no dialogue with a reply; expected a run of graph consultation or dispute_resolution")
    return scores_of_tests(
        "simulator",
        tests_by_name,
        mode,
        options,
        labelled_by="rules",
        notes=[*failed_notes(runs), *notes],
        failed=bool(notes),
    )


def scores_of_tests(
    suite: str,
    tests_by_name: Mapping[str, Sequence[SimulatorTest]],
    mode: Definition,
    options: TestOptions,
    *,
    beside: bool = False,
    labelled_by: LabelledBy = "people",
    notes: Sequence[str] = (),
    failed: bool = False,
) -> Scores:
    """Return the metrics over all simulators, and a table by simulator and round."""
    tests = [test for records in tests_by_name.values() for test in records]
    by_rules = [LABELLED_BY_RULES] if labelled_by == "rules" else []
    all_notes = [*by_rules, *notes]
    if mode == "sound":
        all_notes.append(
            "PRECISION is our addition: of the replies with a metric's keyword, the share that should have it."
        )
    else:
        texts = [reply.text for reply in replies(tests) if reply.text.strip()]
        if other := sum(language_of(text) != "zh" for text in texts):
            all_notes.append(
                f"{other} of {len(texts)} replies are not Chinese, and mean nothing here: paper mode computes as "
                "published, with jieba's words and Chinese keywords; use --mode sound."
            )
    metrics, files = _simulator_metrics(tests, mode), of_each(tests_by_name, partial(_simulator_metrics, mode=mode))
    if empty := [name for name, one in metrics.items() if one.mean is None]:
        all_notes.append(
            f"{', '.join(empty)}: unscored, because no such question was asked or, for TRACKING, no action was tracked."
        )
    figure = simulators_table(tests_by_name, mode, beside=beside)
    agreement = tracking_table(tests_by_name, labelled_by)
    tracked = [table for table in (agreement, *confusion_tables(tests_by_name, labelled_by)) if table]
    write = partial(write_drawn, [figure, *tracked], options.out, by_rules)
    n, more = counts({test.id for test in tests})
    drawn = [figure if options.by else _over_rounds(figure), *tracked]
    return Scores(suite, mode, n, metrics, (), all_notes, failed, drawn=drawn, files=files, more=more, write=write)


def _simulator_metrics(tests: Sequence[SimulatorTest], mode: Definition) -> dict[str, Estimate]:
    """Return AIE's metrics; in sound mode, with the precision of the keywords."""
    is_sound = mode == "sound"
    samples = score_simulator(tests, mode) | (keyword_precision(tests) if is_sound else {})
    return estimates(samples, clustered=is_sound, ends=PERCENT, neither=(LENGTH,))


def _over_rounds(table: Table) -> Table:
    """Return only the rows over all rounds."""
    rows = [(row, place in table.beside) for place, row in enumerate(table.rows) if row["round"] == ALL]
    beside = [place for place, (_, is_published) in enumerate(rows) if is_published]
    columns = [column for column in table.columns if column.name != "round"]
    notes = [note for note in table.notes if not note.startswith("A round:")]
    return Table(table.name, table.title.replace(" by round", ""), columns, [row for row, _ in rows], notes, "", beside)
