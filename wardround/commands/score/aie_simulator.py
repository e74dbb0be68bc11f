"""``wardround score aie-simulator``, and AIE's simulator metrics for ``score simulator``."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import correlation
from typing import Annotated, Literal

import anyio
import typer

from cases import Case, load_cases
from cases.importers.source import Source
from nodes.context import Context
from scoring.aie.simulator import LENGTH, beside_people, keyword_precision, replies, score_simulator
from scoring.aie.transcripts import SimulatorTest, read_simulator_tests
from scoring.metrics.comparison import spearman
from scoring.metrics.samples import PERCENT, Definition, estimates
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
from wardround.commands.case_files import not_over
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import (
    ExtraTable,
    ModeOption,
    Scores,
    of_each,
    refuse_records,
    writable,
    write_drawn,
)
from wardround.commands.score.transcripts import LeaveOut, cell, names_of, p_cell, read_files, without
from wardround.store.recorded_run import find_runs
from wardround.tables.simulators import ALL, simulators_table
from wardround.tables.table import Table
from wardround.tables.tracking import confusion_tables, tracking_table

ByTurn = Annotated[Literal["turn"] | None, typer.Option("--by", help="Print each round's row too.")]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write the rounds here, as CSV, LaTeX and figure (AIE, Figure 3a)."),
]
WITHOUT_TRACKER = " without tracker"
BY_RULE = (
    "Actions and expected answers are what rules find in the doctor's words: nobody has labelled them. "
    "Of a tracker that goes by the same rules, TRACKING and kappa say nothing."
)


@dataclass(frozen=True)
class TestOptions:
    """What to leave out of tests, to print and to write, and where to find their cases."""

    by: Literal["turn"] | None = None
    leave_out: Sequence[str] | None = None
    replies: Path | None = None
    out: Path | None = None
    cases: str = "builtin"


def aie_simulator(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES...", help="Simulator test files with replies, a simulator each.")
    ],
    mode: ModeOption = "sound",
    people: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A test file whose replies people gave, to correlate with.")
    ] = None,
    by: ByTurn = None,
    leave_out: LeaveOut = None,
    out: OutFolder = None,
) -> Scores:
    """The patient simulator metrics of AIE.

    In percent, of all files together and by simulator and round (Figure 3a). Also printed: tracked actions against
    people's, and the correlation with people's replies.
    """
    tests = without(read_files(read_simulator_tests, files), leave_out, lambda one: one.id)
    for file, records in zip(files, tests, strict=True):
        if not any(replies(records)):
            refuse(f"{file}: holds no reply (prediction); `wardround score simulator {file} -o FILE` plays it")
    acted = [test for records in read_files(read_simulator_tests, [people]) for test in records] if people else None
    named = dict(zip(names_of(files), tests, strict=True))
    return _scores("aie-simulator", named, mode, TestOptions(by, leave_out, None, out), acted, beside=True)


def kind_of_source(path: Path) -> Literal["items", "tests", "runs"]:
    """Return what kind of simulator input a path holds; ends the command if the file cannot be read."""
    if path.is_dir():
        return "runs"
    source = Source(path)
    of_tests = "patient_test" in source.first
    refuse_records(source.problems)
    return "tests" if of_tests else "items"


def played_tests(
    files: Sequence[Path], patient: str | None, context: Context, mode: Definition, options: TestOptions
) -> Scores:
    """Score AIE's test files as played by a patient."""
    writable(options.out)
    if options.replies is not None:
        not_over(options.replies, *files, options.cases)
    read = without(read_files(read_simulator_tests, files), options.leave_out, lambda one: one.id)
    tests = [test for records in read for test in records]
    cases: dict[str, Case] = {}
    known = {case.id: case for case in load_cases(options.cases)}
    for file, records in zip(files, read, strict=True):
        found, problems = cases_of(file, records, known)
        refuse_records(problems)
        cases |= found
    if len(cases) < len(tests):
        duplicate = next(name for name, count in Counter(test.id for test in tests).items() if count > 1)
        refuse(f"patient {duplicate} stands twice in {', '.join(map(str, files))}; give each patient once")
    if not questions_of(tests):
        refuse(f"{files[0]}: no test has a question (patient_test.ROUND.ACTION.question) that could be put")
    trial = Trial(cases, context)
    name = patient or "saps"
    played = anyio.run(play_tests, trial, tests, name)
    name += "" if context.tracker else WITHOUT_TRACKER
    if options.replies is not None:
        write_tests(options.replies, files[0], played)
    notes = [f"{place}: no answer: {reason}" for place, reason in trial.failures.items()]
    if shorter := lacking_dialogue(tests):
        patient_id, turn, _ = shorter[0]
        notes.append(
            f"{len(shorter)} questions are put with less said before than their round says, the first to patient "
            f"{patient_id} in round {turn}: `history` is shorter, as where the authors' file has none."
        )
    put = [one for test in tests for by_kind in test.patient_test.values() for one in by_kind.values() if one.question]
    if unchecked := sum(one.human_state is one.human_answer is None for one in put):
        notes.append(f"{unchecked} questions are a model's drafts that nobody has checked (`wardround cases confirm`).")
    return _scores("simulator", {name: played}, mode, options, beside=True, notes=notes, failed=bool(trial.failures))


def played_runs(
    paths: Sequence[Path], patient: str | None, context: Context, mode: Definition, options: TestOptions
) -> Scores:
    """Score the replies to the doctor's turns in recorded dialogues, or those of another patient to the same turns."""
    runs = find_runs(paths)
    recorded = without([tests_of_run(run) for run in runs], options.leave_out, lambda one: one.id)
    named: dict[str, Sequence[SimulatorTest]] = {}
    notes = [BY_RULE]
    for run, tests in zip(runs, recorded, strict=True):
        if patient is not None:
            trial = Trial({test.id: run.cases[test.id.partition("/epoch")[0]] for test in tests}, context)
            tests = anyio.run(play_tests, trial, tests, patient)
            notes += [f"{run.name}, {place}: no answer: {reason}" for place, reason in trial.failures.items()]
        if tests:
            player = patient if patient is None or context.tracker else f"{patient}{WITHOUT_TRACKER}"
            named[run.name if player is None else f"{player}, {run.name}"] = tests
    if not named:
        refuse(f"{paths[0]}: holds no dialogue with a reply (graphs consultation and dispute_resolution)")
    return _scores("simulator", named, mode, options, notes=notes, failed=len(notes) > 1)


def _scores(
    suite: str,
    named: Mapping[str, Sequence[SimulatorTest]],
    mode: Definition,
    options: TestOptions,
    acted: Sequence[SimulatorTest] | None = None,
    *,
    beside: bool = False,
    notes: Sequence[str] = (),
    failed: bool = False,
) -> Scores:
    """Score all simulators together, with people's replies beside them and a table by simulator and round."""
    tests = [test for records in named.values() for test in records]
    tables = list(_beside_people(named, mode, acted)) if suite == "aie-simulator" else []
    all_notes = list(notes)
    if mode == "sound":
        all_notes.append("PRECISION, ours: of the replies with a metric's keyword, the share that were to have it.")
    metrics, files = _metrics(tests, mode), of_each(named, partial(_metrics, mode=mode))
    if empty := [name for name, one in metrics.items() if one.mean is None]:
        all_notes.append(f"{', '.join(empty)}: unscored, as nothing of the kind was asked or, for TRACKING, tracked.")
    figure = simulators_table(named, mode, beside=beside)
    tracked = [*([] if (tracking := tracking_table(named)) is None else [tracking]), *confusion_tables(named)]
    if options.out is not None:
        write_drawn([figure, *tracked], options.out)
    shown = figure if options.by else _over_rounds(figure)
    n = len({test.id for test in tests})
    return Scores(suite, mode, n, metrics, tables, all_notes, failed, drawn=[shown, *tracked], files=files)


def _metrics(tests: Sequence[SimulatorTest], mode: Definition) -> dict[str, Estimate]:
    """Return AIE's metrics; in sound mode, also the precision of the keywords."""
    is_sound = mode == "sound"
    samples = score_simulator(tests, mode) | (keyword_precision(tests) if is_sound else {})
    return estimates(samples, clustered=is_sound, ends=PERCENT, neither=(LENGTH,))


def _beside_people(
    named: Mapping[str, Sequence[SimulatorTest]], mode: Definition, acted: Sequence[SimulatorTest] | None
) -> Iterator[ExtraTable]:
    """Yield the correlation of simulators with people; nothing if people gave no replies."""
    rows = []
    for simulator, tests in named.items():
        if tests == acted:  # the people's own file
            continue
        for name, pairs in beside_people(tests, mode, acted).items():
            one = spearman(pairs)
            pearson = None if one.rho is None else correlation(*zip(*pairs, strict=True))
            cells = [name, cell(one.rho), p_cell(one.p), cell(pearson), str(one.n)]
            rows.append([simulator, *cells] if len(named) > 1 else cells)
    if rows:
        header = [*(["simulator"] if len(named) > 1 else []), "", "Spearman's rho", "p", "Pearson's r", "n"]
        yield ExtraTable("Correlation with people, reply by reply (AIE, Figure 3b)", header, rows)


def _over_rounds(table: Table) -> Table:
    """Keep only the rows over all rounds."""
    rows = [(row, place in table.beside) for place, row in enumerate(table.rows) if row["round"] == ALL]
    beside = [place for place, (_, is_beside) in enumerate(rows) if is_beside]
    columns = [column for column in table.columns if column.name != "round"]
    notes = [note for note in table.notes if not note.startswith("A round:")]
    return Table(table.name, table.title.replace(" by round", ""), columns, [row for row, _ in rows], notes, "", beside)
