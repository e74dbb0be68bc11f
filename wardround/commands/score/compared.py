"""Tables of the score commands: means of each file, differences to other transcripts, correlations with people."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from scoring.metrics.comparison import holm, paired_difference
from scoring.metrics.correlation import spearman_matrix
from scoring.metrics.samples import Samples, by_case, case_means
from scoring.metrics.statistics import Estimate
from wardround.commands.score.output import ExtraTable
from wardround.tables.table import P_VALUE, as_text


def by_file(files: Mapping[str, Mapping[str, Estimate]]) -> list[ExtraTable]:
    """Tabulate the means of each file with standard errors, in the order of the metrics; empty without files."""
    if not files:
        return []
    names = list(dict.fromkeys(name for metrics in files.values() for name in metrics))
    rows = []
    for file, metrics in files.items():
        found = [metrics.get(name, Estimate(n=0)) for name in names]
        rows.append([file, *(cell(one.mean) + ("" if one.se is None else f" ± {one.se:.3f}") for one in found)])
    return [ExtraTable("Means of each file ± standard error", ["file", *names], rows)]


def compared(
    samples: Samples,
    others: Samples,
    title: str = "Difference to the other transcripts (these minus those), paired by case",
    written: str = "differences",
) -> ExtraTable:
    """Tabulate the differences to another run (or format), paired by case, and write them under a name."""
    differences = {
        name: paired_difference(by_case(values), by_case(others.get(name, []))) for name, values in samples.items()
    }
    corrected = holm({name: found.permutation_p for name, found in differences.items()})
    rows = []
    numbers: dict[str, dict[str, Any]] = {}
    for name, found in differences.items():
        one = found.difference
        tests = {"permutation_p": found.permutation_p, "holm_p": corrected[name], "wilcoxon_p": found.wilcoxon_p}
        numbers[name] = {**one.model_dump(mode="json"), **tests}
        p_values = [as_text(p, P_VALUE) for p in tests.values()]
        rows.append([name, cell(one.mean), interval_cell(one.ci95), *p_values, str(one.n)])
    header = ["metric", "difference", "95 % interval", "permutation p", "after Holm", "Wilcoxon p", "cases"]
    return ExtraTable(title, header, rows, {written: numbers})


def correlated(samples: Samples, judgements: Mapping[str, Mapping[str, float]]) -> ExtraTable:
    """Correlate all metrics and people's scores (Spearman) over cases; epochs are averaged.

    Each correlation is written with its p, interval and number of cases, for which the table has no room.
    """
    columns = {name: case_means(values) for name, values in samples.items()} | dict(judgements)
    matrix = spearman_matrix(columns)
    numbers = [{"one": one, "other": other, **asdict(found)} for (one, other), found in matrix.items()]
    rho = {pair: cell(found.rho) for pair, found in matrix.items()}
    rho |= {(other, name): found for (name, other), found in rho.items()} | {(name, name): "1" for name in columns}
    rows = [[name, *(rho[name, other] for other in columns)] for name in columns]
    return ExtraTable("Spearman correlation over cases", ["", *columns], rows, {"correlations": numbers})


def cell(value: float | None) -> str:
    """Format a number, or a dash."""
    return as_text(value, ".3f")


def interval_cell(interval: tuple[float, float] | None) -> str:
    """Format an interval, or nothing."""
    return "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
