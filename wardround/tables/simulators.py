"""Patient simulators side by side, a row per round (AIE, Figure 3a), optionally with the authors' own."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import linear_regression
from typing import Any

from scoring.aie.simulator import LENGTH, rounds_of, score_simulator
from scoring.aie.transcripts import SimulatorTest
from scoring.metrics.samples import PERCENT, Definition, Samples, estimates, mean
from wardround.analysis.published import published
from wardround.tables.figures import draw_simulators
from wardround.tables.table import SPREAD, Column, Table, measured

ALL, SLOPE = "all", "a round"
_SLOPES = f"{SLOPE.capitalize()}: slope of the line fitted to the means of the rounds."
COLUMNS = {
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


def simulators_table(
    played: Mapping[str, Sequence[SimulatorTest]], definition: Definition, *, beside: bool = False
) -> Table:
    """Tabulate each simulator over all rounds, in each round, and the slope of each metric over the rounds.

    With ``beside``, the paper's rows follow in brackets.
    """
    rows = [row for name, tests in played.items() for row in _rows(name, tests, definition)]
    published_rows = list(_published_rows()) if beside else []
    notes = [
        f"Percent, except Length. {SPREAD}.",
        *([_SLOPES] if any(row["round"] == SLOPE for row in rows) else []),
        "-: no such question was asked, or (for Tracking) no action was tracked.",
    ]
    if beside:
        notes.append(
            "Simulators in brackets: released by AIE's authors, with their patients, questions and definitions."
        )
    columns = [
        Column("simulator", "Simulator", key=True),
        Column("round", "Round", key=True),
        *(Column(name, title, mean=True) for name, title in COLUMNS.items()),
        Column("n", "Replies"),
    ]
    title = "Patient simulators by round (AIE, Figure 3a)"
    all_rows, unranked = [*rows, *published_rows], range(len(rows), len(rows) + len(published_rows))
    pictures = {"aie-figure-3a": draw_simulators}
    return Table("aie-figure-3a", title, columns, all_rows, notes, beside=unranked, pictures=pictures)


def _rows(name: str, tests: Sequence[SimulatorTest], definition: Definition) -> Iterator[dict[str, Any]]:
    yield {"simulator": name, "round": ALL, **_measured(score_simulator(tests, definition), definition)}
    rounds = [turn for turn in rounds_of(tests) if turn.isdigit()]
    by_round = {turn: score_simulator(tests, definition, turn) for turn in rounds}
    for turn, samples in by_round.items():
        yield {"simulator": name, "round": turn, **_measured(samples, definition)}
    if len(rounds) > 2:
        slopes: dict[str, float] = {}
        for metric in COLUMNS:
            means = {int(turn): mean([value for _, value in by_round[turn][metric]]) for turn in rounds}
            known = {turn: value for turn, value in means.items() if value is not None}
            if len(known) > 2:
                slopes[metric] = linear_regression(list(known), list(known.values())).slope
        yield {"simulator": name, "round": SLOPE, **_bare(slopes)}


def _published_rows() -> Iterator[dict[str, Any]]:
    for name, metrics in published("aie_simulators")["Figure 3a"].items():
        overall = {metric: mean(values) for metric, values in metrics.items()}
        yield {"simulator": f"[{name}]", "round": ALL, **_bare(overall)}
        for turn in range(10):
            means = {metric: float(values[turn]) for metric, values in metrics.items()}
            yield {"simulator": f"[{name}]", "round": str(turn), **_bare(means)}


def _measured(samples: Samples, definition: Definition) -> dict[str, Any]:
    chosen = {name: samples[name] for name in COLUMNS}
    found = estimates(chosen, clustered=definition == "sound", ends=PERCENT, neither=(LENGTH,))
    return {**measured(found), "n": len(samples[LENGTH])}


def _bare(values: Mapping[str, float | None]) -> dict[str, Any]:
    """Return means without intervals."""
    parts = {f"{name}_{part}": None for name in COLUMNS for part in ("low", "high", "n")}
    return {**{f"{name}_mean": values.get(name) for name in COLUMNS}, **parts, "n": None}
