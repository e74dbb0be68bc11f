"""``wardround score aie-simulator``: replies in AIE's test files, beside people's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import correlation
from typing import Annotated

from typer import Argument, Option

from scoring.aie.simulator import beside_people, replies, score_simulator, unanswered
from scoring.aie.transcripts import SimulatorTest, read_simulator_tests
from scoring.metrics.correlation import spearman
from scoring.metrics.samples import Definition
from wardround.commands.exit_codes import refuse
from wardround.commands.options import separated
from wardround.commands.score.compared import cell, compared
from wardround.commands.score.output import ExtraTable, ModeOption, Scores
from wardround.commands.score.simulator_tests import ByTurn, OutFolder, TestOptions, scores_of_tests
from wardround.commands.score.transcripts import LeaveOut, names_of, read_files, without
from wardround.tables.table import P_VALUE, as_text

_NESTED = (
    "Correlations with people take every reply as independent, as AIE does, also those of one patient: their p is too "
    "small."
)


def aie_simulator(
    files: Annotated[
        list[Path], Argument(metavar="FILES", help="Simulator test files with replies, one for each simulator.")
    ],
    mode: ModeOption = "sound",
    people: Annotated[
        Path | None, Option(metavar="FILE", help="Test file with people's replies, to compare and correlate with.")
    ] = None,
    by: ByTurn = None,
    leave_out: LeaveOut = None,
    out: OutFolder = None,
) -> Scores:
    """Score patient simulators by the metrics of AIE.

    All metrics are in percent, over all files together and by simulator and round (Figure 3a). Also printed: tracked
    actions against people's, and the difference from people's replies and the correlation with them.
    """
    if folder := next(filter(Path.is_dir, files), None):
        refuse(f"{folder}: is a folder; for the dialogues of runs, run `wardround score simulator {folder}`")
    tests = without(read_files(read_simulator_tests, files), leave_out, lambda one: one.id)
    for file, records in zip(files, tests, strict=True):
        if not any(replies(records)):
            refuse(f"{file}: has no replies (prediction); to add them, run `wardround score simulator {file} -o FILE`")
    human_tests = None
    if people:
        left_out = separated(leave_out)
        human_tests = [one for one in read_files(read_simulator_tests, [people])[0] if one.id not in left_out]
    tests_by_name = dict(zip(names_of(files), tests, strict=True))
    notes = [
        f"{name}: {len(missing)} questions have no reply (prediction) and are left out, such as {missing[0]}."
        for name, records in tests_by_name.items()
        if (missing := unanswered(records))
    ]
    correlations = list(_human_correlations(tests_by_name, mode, human_tests))
    patients = [[reply.test for reply in replies(records)] for records in tests_by_name.values()]
    if correlations and any(len(each) > len({*each}) for each in patients):
        notes.append(_NESTED)
    options = TestOptions(by, leave_out, None, out)
    found = scores_of_tests("aie-simulator", tests_by_name, mode, options, beside=True, notes=notes)
    return replace(found, tables=[*_minus_people(tests_by_name, mode, human_tests or ()), *correlations])


def _minus_people(
    tests_by_name: Mapping[str, Sequence[SimulatorTest]], mode: Definition, human_tests: Sequence[SimulatorTest]
) -> Iterator[ExtraTable]:
    """Yield a table of simulators' differences from people on the questions that both answered; none without any."""
    found = {
        simulator: table
        for simulator, tests in tests_by_name.items()
        if tests != human_tests and (table := _difference(tests, human_tests, mode))
    }
    if found:
        *columns, _ = next(iter(found.values())).header  # the last counts cases, which are patients here
        title = "Simulators minus people on the same questions, paired by patient"
        rows = [[simulator, *row] for simulator, table in found.items() for row in table.rows]
        numbers = {"differences": {simulator: table.numbers["differences"] for simulator, table in found.items()}}
        yield ExtraTable(title, ["simulator", *columns, "patients"], rows, numbers)


def _difference(
    tests: Sequence[SimulatorTest], human_tests: Sequence[SimulatorTest], mode: Definition
) -> ExtraTable | None:
    """Tabulate a simulator's differences from people on the questions that both answered; None if there are none."""
    both = {reply.place for reply in replies(tests)} & {reply.place for reply in replies(human_tests)}
    if not both:
        return None
    ours, people = (score_simulator(each, mode, among=both) for each in (tests, human_tests))
    return compared({name: values for name, values in ours.items() if values and people[name]}, people)


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
