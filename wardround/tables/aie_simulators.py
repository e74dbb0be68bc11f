"""AIE's tables of simulators: scores by round (Figure 3a), and tracked actions beside people's labels (Figure 3c)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import linear_regression
from typing import Any, Literal

from scoring.aie.simulator import LENGTH, confusion, replies, rounds_of, score_simulator
from scoring.aie.transcripts import ACTIONS, SimulatorTest
from scoring.metrics.agreement import cohen_kappa
from scoring.metrics.samples import PERCENT, Definition, Samples, case_of, estimates, mean, over_cases
from wardround.analysis.simulator_tests import tests_of_run
from wardround.rating.agreement import narrow_notes, resampled_interval
from wardround.store.recorded_run import RecordedRun
from wardround.tables import figures
from wardround.tables.published import published
from wardround.tables.table import IN_WORDS, Column, Table, key_columns, measured

LabelledBy = Literal["people", "rules"]  # who says which actions the doctor's words are

ALL, SLOPE = "all", "a round"
_SLOPES = f"{SLOPE.capitalize()}: slope of the line fitted to the means of the rounds."
_BESIDE = "Simulators in brackets: released by AIE's authors, with their patients, questions and definitions."
LABELLED_BY_RULES = (
    "Actions and expected answers were found in the doctor's words by rules, not labelled by people. "
    "For a tracker that uses the same rules, TRACKING and kappa are meaningless."
)
SIMULATOR_COLUMNS = {
    "TRACKING": "Tracking",
    "ACCURACY": "Accuracy",
    "PASSIVE": "Passive",
    "HONEST": "Honest",
    "CAUTIOUS_INEFFECTIVE": "Cautious (ineffective)",
    "GUIDANCE": "Guidance",
    "CAUTIOUS_AMBIGUOUS": "Cautious (ambiguous)",
    "FOCUS": "Focus",
    LENGTH: "Length",
}


def build_simulators(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build Figure 3a for the patients in the runs' dialogues; the rules find the actions in the doctor's words."""
    played = {run.name: tests for run in runs if (tests := tests_of_run(run))}
    figure = simulators_table(played, "sound", beside=True)
    return [replace(figure, notes=[*figure.notes, LABELLED_BY_RULES])] if played else []


def simulators_table(
    played: Mapping[str, Sequence[SimulatorTest]], definition: Definition, *, beside: bool = False
) -> Table:
    """Tabulate each simulator over all rounds, in each round, and the slope of each metric over the rounds.

    With ``beside``, the paper's rows follow in brackets.
    """
    rows = [row for name, tests in played.items() for row in _simulator_rows(name, tests, definition)]
    published_rows = list(_published_rows()) if beside else []
    notes = [
        f"Percent, except Length ({IN_WORDS}).",
        *([_SLOPES] if any(row["round"] == SLOPE for row in rows) else []),
        "-: no such question was asked, or (for Tracking) no action was tracked.",
        *([_BESIDE] if beside else []),
    ]
    columns = [
        *key_columns("simulator", "round"),
        *(
            Column(name, title, mean=True, ends=None if name == LENGTH else PERCENT)
            for name, title in SIMULATOR_COLUMNS.items()
        ),
        Column("n", "Replies"),
    ]
    title = "Patient simulators by round (AIE, Figure 3a)"
    all_rows, unranked = [*rows, *published_rows], range(len(rows), len(rows) + len(published_rows))
    pictures = {"aie-figure-3a": figures.draw_simulators}
    return Table("aie-figure-3a", title, columns, all_rows, notes, beside=unranked, pictures=pictures)


def _simulator_rows(name: str, tests: Sequence[SimulatorTest], definition: Definition) -> Iterator[dict[str, Any]]:
    yield {"simulator": name, "round": ALL, **_simulator_means(score_simulator(tests, definition), definition)}
    rounds = [turn for turn in rounds_of(tests) if turn.isdigit()]
    by_round = {turn: score_simulator(tests, definition, turn) for turn in rounds}
    for turn, samples in by_round.items():
        yield {"simulator": name, "round": turn, **_simulator_means(samples, definition)}
    if len(rounds) > 2:
        slopes: dict[str, float] = {}
        for metric in SIMULATOR_COLUMNS:
            means = {int(turn): mean(value for _, value in by_round[turn][metric]) for turn in rounds}
            known = {turn: value for turn, value in means.items() if value is not None}
            if len(known) > 2:
                slopes[metric] = linear_regression(list(known), list(known.values())).slope
        yield {"simulator": name, "round": SLOPE, **_bare(slopes)}


def _published_rows() -> Iterator[dict[str, Any]]:
    for name, metrics in published("aie_simulators")["Figure 3a"].items():
        yield {"simulator": f"[{name}]", "round": ALL, **_bare({key: mean(values) for key, values in metrics.items()})}
        for turn in range(10):
            means = {key: float(values[turn]) for key, values in metrics.items()}
            yield {"simulator": f"[{name}]", "round": str(turn), **_bare(means)}


def _simulator_means(samples: Samples, definition: Definition) -> dict[str, Any]:
    chosen = {name: samples[name] for name in SIMULATOR_COLUMNS}
    found = estimates(chosen, clustered=definition == "sound", ends=PERCENT, neither=(LENGTH,))
    return {**measured(found), "n": len(samples[LENGTH])}


def _bare(values: Mapping[str, float | None]) -> dict[str, Any]:
    """Return means without intervals."""
    parts = {f"{name}_{part}": None for name in SIMULATOR_COLUMNS for part in ("low", "high", "n")}
    return {**{f"{name}_mean": values.get(name) for name in SIMULATOR_COLUMNS}, **parts, "n": None}


def tracking_table(played: Mapping[str, Sequence[SimulatorTest]], labelled_by: LabelledBy = "people") -> Table | None:
    """Tabulate how far each simulator's (or person's) actions agree with the labels; None if none were tracked."""
    rows: list[dict[str, Any]] = []
    patients: dict[str, int] = {}
    for name, tests in played.items():
        labelled: dict[str, list[tuple[str, str]]] = {}
        for reply in replies(tests):
            if reply.tracked is not None:
                labelled.setdefault(case_of(reply.test), []).append((reply.action, reply.tracked))
        if not labelled:
            continue
        same = [(test, 100.0 * (one == other)) for test, pairs in labelled.items() for one, other in pairs]
        found = over_cases(same, PERCENT)
        pairs = [labelled[test] for test in sorted(labelled)]
        low, high = resampled_interval(pairs, lambda resampled: cohen_kappa(list(chain(*resampled))))
        patients |= {} if low is None else {f"Kappa of {name}": len(pairs)}
        kappa = {"kappa_mean": cohen_kappa(list(chain(*pairs))), "kappa_low": low, "kappa_high": high}
        rows.append({"simulator": name, **measured({"accuracy": found}), **kappa, "n": found.n})
    columns = [
        Column("simulator", "Simulator", key=True),
        Column("accuracy", f"Agreement with {labelled_by}", mean=True, ends=PERCENT),
        Column("kappa", "Cohen's kappa", mean=True),
        Column("n", "Questions"),
    ]
    notes = ["Percent, except kappa. Intervals: 95 %, over patients; for kappa, by resampling patients."]
    notes += narrow_notes(patients)
    title = f"Tracked actions compared with labels by {labelled_by} (AIE, Figure 3c)"
    return Table("aie-figure-3c", title, columns, rows, notes) if rows else None


def confusion_tables(played: Mapping[str, Sequence[SimulatorTest]], labelled_by: LabelledBy = "people") -> list[Table]:
    """Tabulate each simulator's tracked actions as shares of a label's questions: rows are labels, columns actions."""
    tables = []
    for name, tests in played.items():
        # Labels that are not actions have no row.
        if (matrix := confusion(tests)).keys() & ACTIONS.keys():
            codes = [code for code in ACTIONS if code in matrix or any(code in row for row in matrix.values())]
            rows = [
                {"label": code, **{other: matrix[code][other] / matrix[code].total() for other in codes}}
                for code in codes
                if code in matrix
            ]
            columns = [Column("label", "", key=True), *(Column(code, code) for code in codes)]
            title = f"Tracked actions (columns) by labels of {labelled_by} (rows): {name}"
            file = f"aie-figure-3c-{name.replace('/', '-')}"
            tables.append(Table(file, title, columns, rows, pictures={file: figures.draw_shares}))
    return tables
