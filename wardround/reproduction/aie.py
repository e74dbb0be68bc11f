"""AIE's Tables 2 and 3, and the cells behind its Figure 3a."""

from collections.abc import Sequence
from functools import partial

from scoring.aie.metrics import METRICS, score_aie
from scoring.aie.simulator import rounds_of, score_simulator
from scoring.aie.transcripts import AieTranscript, SimulatorTest, read_aie, read_simulator_tests
from wardround.reproduction.cells import Cell, Found, average_of, cases, cells_of, found_by_metric
from wardround.reproduction.release import Release
from wardround.tables.published import published

_ROUNDS = range(10)


def doctors(release: Release) -> list[Cell]:
    """Compute the metrics of each doctor on either data set (Tables 2 and 3)."""
    paper = published("aie")
    hospital, exam = tables = [name for name in paper if name.startswith("Table")]
    groups: dict[tuple[str, str], dict[str, AieTranscript]] = {}
    known: dict[str, set[str]] = {table: set() for table in tables}
    for file, row in release.named_files(paper, lambda first: "raw_data" in first and "history" in first):
        read = read_aie(file).records
        records = [one for one in read if one.diagnosis is not None and len(one.history) > 1]
        if not records:
            release.leave_out_file(file, f"none of its transcripts has {_lacking(read)}")
            continue
        table = exam if records[0].dataset else hospital
        if incomplete := [one.case for one in read if one not in records]:
            release.notes.append(
                f"{row}: left out of all columns, for lack of a letter or a dialogue: {cases(incomplete)}."
            )
        known[table].update(one.case for one in read)
        release.add(groups.setdefault((table, row), {}), {one.case: one for one in records}, row, file)
    cells: list[Cell] = []
    for table in tables:
        found = {
            row: found_by_metric(
                partial(score_aie, records), METRICS, release.lacking(known[table], groups[table, row])
            )
            for row in paper["doctors"]
            if (records := release.counted(groups.get((table, row), {})))
        }
        printed = {
            (row, name): pair[0]
            for name in METRICS
            for row, pair in zip(paper["doctors"], paper[table][name], strict=True)
        }
        cells += cells_of(table, printed, found)
    return cells


def _lacking(transcripts: Sequence[AieTranscript]) -> str:
    """Return what no transcript has of a diagnosis and a dialogue; both, if some have the one and some the other."""
    diagnosis, dialogue = "a diagnosis", "a dialogue of two turns or more"
    if all(one.diagnosis is None for one in transcripts):
        return diagnosis
    return dialogue if all(len(one.history) < 2 for one in transcripts) else f"both {diagnosis} and {dialogue}"


def simulators(release: Release, *, by_turn: bool) -> list[Cell]:
    """Compute the simulators of Figure 3a from their released score files, by round or as the rounds' mean."""
    paper = published("aie_simulators")
    groups: dict[str, dict[str, SimulatorTest]] = {}
    for file, row in release.named_files(paper, lambda first: "patient_test" in first):
        tests = {one.id: one for one in read_simulator_tests(file).records}
        if rounds_of(tests.values()):
            release.add(groups.setdefault(row, {}), tests, row, file)
    printed: dict[tuple[str, str], float] = {}
    found: dict[str, dict[str, Found]] = {}
    for row, metrics in paper["Figure 3a"].items():
        records = release.counted(groups.get(row, {}))
        rounds = [
            found_by_metric(partial(score_simulator, records, turn=str(turn)), metrics) if records else {}
            for turn in _ROUNDS
        ]
        for name, values in metrics.items():
            each = {f"{name}, round {turn}": one[name] for turn, one in zip(_ROUNDS, rounds, strict=True) if one}
            if by_turn:
                printed |= {(row, f"{name}, round {turn}"): value for turn, value in enumerate(values)}
                found.setdefault(row, {}).update(each)
            else:
                printed[row, name] = sum(values) / len(values)
                found.setdefault(row, {})[name] = average_of([*each.values()], sum(one.n for one in each.values()))
    return cells_of("Figure 3a", printed, found)
