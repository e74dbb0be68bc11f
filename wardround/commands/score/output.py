"""The driver of the score commands: prints a suite's scores as tables and writes them as JSON."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from llm.specs import OFFLINE
from scoring.metrics.samples import Definition
from scoring.metrics.statistics import INTERVALS, Estimate
from wardround.commands.exit_codes import SOME_FAILED, refuse
from wardround.commands.options import JsonScores
from wardround.commands.printing import counted, printable
from wardround.store.durable_lines import RunStoppedError
from wardround.store.provenance import write_json
from wardround.tables.table import Table
from wardround.tables.terminal import print_rows, print_table

if TYPE_CHECKING:
    from cases import Problem

Source = TypeVar("Source")


ModeOption = Annotated[
    Definition, typer.Option("--mode", help="The sound definitions, or the published computation with its faults.")
]


@dataclass(frozen=True)
class ExtraTable:
    """An additional table, which is printed but not written."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Scores:
    """The result of a score command."""

    suite: str  # name on the command line
    mode: Definition  # definitions used
    n: int  # cases read
    metrics: Mapping[str, Estimate]  # scores by their name in the paper, in display order
    tables: Sequence[ExtraTable] = ()  # further tables to print
    notes: Sequence[str] = ()  # what is needed to read the numbers, one sentence each
    failed: bool = False  # whether a question has no answer: the command ends with 1
    # for metrics that count a missing answer as wrong: the mean over the answered; empty if all were answered
    answered: Mapping[str, Estimate] = field(default_factory=dict)
    drawn: Sequence[Table] = ()  # the papers' tables, which can also be written
    # the metrics of each file or run, if there are several
    files: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    # whether to print the scores as a list; otherwise ``drawn`` contains them, and is printed first
    listed: bool = True
    more: Sequence[str] = ()  # further counts in words, if cases occur several times
    # further settings that affect the metrics, by name; printed in the title, and written
    how: Mapping[str, str] = field(default_factory=dict)

    def share(self, name: str) -> float:
        """Return the share of a metric's values that were answered, in [0, 1]."""
        return self.answered[name].n / self.metrics[name].n


def command(score: Callable[..., Scores]) -> Callable[..., None]:
    """Make a command of a scoring function, with the function's arguments and ``--json``.

    An unusable input (file, model, run, list of terms) ends it with code 2 before anything is printed.
    """
    signature = inspect.signature(score)
    written = inspect.Parameter("json_file", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=JsonScores)
    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*signature.parameters.values(), written)
    ]

    @functools.wraps(score)
    def run(*, json_file: Path | None, **options: Any) -> None:
        try:
            scores = score(**options)
        except RunStoppedError as error:  # a judge's server rejects requests
            refuse(str(error))
        show(scores, json_file)
        if scores.failed:
            raise typer.Exit(SOME_FAILED)

    run.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def show(scores: Scores, json_file: Path | None = None) -> None:
    """Print the scores, and write them to ``json_file`` first if one is given.

    The file is written atomically: ``{"suite", "mode", "n", "metrics": {name: {"mean", "se", "ci95", "n"}}}``. It also
    has ``files``, the metrics of each of several files; ``answered``, the mean over answered cases and its ``share``,
    if answers are missing; and the settings in ``how``.

    Raises:
        OSError: the file cannot be written; then nothing is printed.
    """
    if json_file is not None:
        content: dict[str, object] = {"suite": scores.suite, "mode": scores.mode, **scores.how, "n": scores.n}
        content["metrics"] = _as_json(scores.metrics)
        if scores.files:
            content["files"] = {name: _as_json(metrics) for name, metrics in scores.files.items()}
        if answered := _as_json(scores.answered):
            content["answered"] = {name: {**one, "share": scores.share(name)} for name, one in answered.items()}
        write_json(json_file, content)
    _print(scores)


def of_each(
    named: Mapping[str, Source], estimated: Callable[[Source], dict[str, Estimate]]
) -> dict[str, dict[str, Estimate]]:
    """Return the metrics of each file or run by name, if there are several; otherwise nothing."""
    return {name: estimated(source) for name, source in named.items()} if len(named) > 1 else {}


def _as_json(metrics: Mapping[str, Estimate]) -> dict[str, dict[str, object]]:
    return {name: one.model_dump(mode="json") for name, one in metrics.items()}


def refuse_records(problems: "Iterable[Problem]") -> None:
    """End the command with code 2, listing the problems, if there are any."""
    from cases.files import shortened

    if found := list(problems):
        refuse(*map(str, shortened(found)), f"nothing scored: {counted(len(found), 'problem')}")


def _print(scores: Scores) -> None:
    console = Console(highlight=False)
    how = (f"{name} {chosen}" for name, chosen in scores.how.items())
    title = ", ".join([scores.suite, f"{scores.mode} mode", *how, counted(scores.n, "case"), *scores.more])
    rows = {name: _cells(found) for name, found in scores.metrics.items()}
    shown = [place for place in range(5) if place != 1 or any(cells[place] for cells in rows.values())]
    if scores.listed:
        headings = ["metric", *(("mean", "±", "95 % interval", "se", "n")[place] for place in shown)]
        print_rows(title, headings, [[name, *(cells[place] for place in shown)] for name, cells in rows.items()])
    else:
        console.print(Text(title))
        for paper in scores.drawn:
            print_table(paper)
    kinds = [words for how, words in INTERVALS.items() if any(one.interval == how for one in scores.metrics.values())]
    if kinds:
        console.print(Text(f"95 % intervals: {'; '.join(kinds)}."))
    for extra in [*_answered_table(scores), *scores.tables]:
        print_rows(extra.title, extra.header, extra.rows)
    for paper in scores.drawn if scores.listed else ():
        print_table(paper)
    for note in scores.notes:
        console.print(Text(printable(note)))


def _answered_table(scores: Scores) -> list[ExtraTable]:
    """Return a table of the means over answered cases, for metrics that count a missing answer as wrong."""
    rows = []
    for name, found in scores.answered.items():
        mean, _, interval, _, n = _cells(found)
        rows.append([name, mean, interval, n, f"{scores.share(name):.3f}"])
    header = ["metric", "mean", "95 % interval", "answered", "share"]
    title = "Over what was answered alone; above, what was not counts as wrong"
    return [ExtraTable(title, header, rows)] if rows else []


def _cells(found: Estimate) -> tuple[str, str, str, str, str]:
    """Return a row's numbers; ± is half the interval's width, if the interval is symmetric or a percentile one."""
    mean = "unscored" if found.mean is None else f"{found.mean:z.3f}"
    half = interval = ""
    if found.ci95 is not None:
        low, high = found.ci95
        below, above = f"{(found.mean or 0) - low:z.3f}", f"{high - (found.mean or 0):z.3f}"
        half = f"{(high - low) / 2:z.3f}" if below == above or found.interval == "percentile" else ""
        interval = f"{low:z.3f} to {high:z.3f}"
    return mean, half, interval, "" if found.se is None else f"{found.se:z.3f}", str(found.n)


def writable(folder: Path | None) -> None:
    """Create the folder of ``--out`` before any model is asked.

    Raises:
        OSError: it cannot be created.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)


def asked_of_rules(*asked: tuple[str, str | None]) -> list[str]:
    """Return a sentence naming the options that were answered by rules instead of a model, if any."""
    from wardround.tables.scores import said_by_rules

    options = dict.fromkeys(option for option, spec in asked if spec == OFFLINE)
    return [said_by_rules("Answered", options)] if options else []


def write_drawn(tables: Iterable[Table], folder: Path, by_rules: Sequence[str] = ()) -> None:
    """Write tables with their figures, each with notes on what rules answered.

    Raises:
        OSError: they cannot be written.
    """
    from wardround.tables.making import write_tables

    write_tables([replace(each, notes=[*each.notes, *by_rules], by_rules=by_rules) for each in tables], folder)
