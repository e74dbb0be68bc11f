"""The one driver of the commands: what a suite's function finds is printed as tables and written as JSON."""

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
    """A table beside the scores, for people only: it is printed, not written."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Scores:
    """What a suite found."""

    suite: str  # its name on the command line
    mode: Definition  # the definitions that were used
    n: int  # cases read
    metrics: Mapping[str, Estimate]  # the scores under the names that the papers print, in the order to show them
    tables: Sequence[ExtraTable] = ()  # further tables to print
    notes: Sequence[str] = ()  # what a reader must know to read the numbers, one sentence each
    failed: bool = False  # whether something that was asked has no answer: the command ends with 1
    # of the metrics that count what was not answered as wrong, the mean over what was answered; empty if everything was
    answered: Mapping[str, Estimate] = field(default_factory=dict)
    drawn: Sequence[Table] = ()  # tables of the papers, which can also be written
    # the same metrics of each file or run, if there are several
    files: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    # whether the scores are printed one below the other; if not, what is drawn holds them, and comes first
    listed: bool = True
    more: Sequence[str] = ()  # what else was counted, in words, where a case stands several times
    # further choices that the metrics depend on, by name; printed with the title, and written
    how: Mapping[str, str] = field(default_factory=dict)

    def share(self, name: str) -> float:
        """Of the values of such a metric, how many were answered."""
        return self.answered[name].n / self.metrics[name].n


def command(score: Callable[..., Scores]) -> Callable[..., None]:
    """A command of what scores a source: its arguments are the function's, and ``--json``.

    What cannot be used (a file, a model, a run, a list of terms) ends it with code 2, before anything is printed.
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
        except RunStoppedError as error:  # no run to go on with: a judge's server takes no question
            refuse(str(error))
        show(scores, json_file)
        if scores.failed:
            raise typer.Exit(SOME_FAILED)

    run.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def show(scores: Scores, json_file: Path | None = None) -> None:
    """Write the scores to ``json_file``, if one is named, and print them.

    Written is ``{"suite", "mode", "n", "metrics": {name: {"mean", "se", "ci95", "n"}}}``, whole or not at all; of
    several files also ``files``, with the metrics of each; where something was not answered, also ``answered``, with
    the mean over what was and its ``share``; and the choices beside the mode that the metrics depend on.

    Raises:
        OSError: the file cannot be written; then nothing is printed.
    """
    if json_file is not None:
        content: dict[str, object] = {"suite": scores.suite, "mode": scores.mode, **scores.how, "n": scores.n}
        content["metrics"] = _written(scores.metrics)
        if scores.files:
            content["files"] = {name: _written(metrics) for name, metrics in scores.files.items()}
        if answered := _written(scores.answered):
            content["answered"] = {name: {**one, "share": scores.share(name)} for name, one in answered.items()}
        write_json(json_file, content)
    _print(scores)


def of_each(
    named: Mapping[str, Source], estimated: Callable[[Source], dict[str, Estimate]]
) -> dict[str, dict[str, Estimate]]:
    """The metrics of each file or run by its name, if there are several; of one they are those of all."""
    return {name: estimated(source) for name, source in named.items()} if len(named) > 1 else {}


def _written(metrics: Mapping[str, Estimate]) -> dict[str, dict[str, object]]:
    return {name: one.model_dump(mode="json") for name, one in metrics.items()}


def refuse_records(problems: "Iterable[Problem]") -> None:
    """End with code 2 if there are problems, named in lines; go on if there are none."""
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
    used = [words for how, words in INTERVALS.items() if any(one.interval == how for one in scores.metrics.values())]
    if used:
        console.print(Text(f"95 % intervals: {'; '.join(used)}."))
    for extra in [*_answered(scores), *scores.tables]:
        print_rows(extra.title, extra.header, extra.rows)
    for paper in scores.drawn if scores.listed else ():
        print_table(paper)
    for note in scores.notes:
        console.print(Text(printable(note)))


def _answered(scores: Scores) -> list[ExtraTable]:
    """The means over what was answered, beside which what was not counts as wrong."""
    rows = []
    for name, found in scores.answered.items():
        mean, _, interval, _, n = _cells(found)
        rows.append([name, mean, interval, n, f"{scores.share(name):.3f}"])
    header = ["metric", "mean", "95 % interval", "answered", "share"]
    title = "Over what was answered alone; above, what was not counts as wrong"
    return [ExtraTable(title, header, rows)] if rows else []


def _cells(found: Estimate) -> tuple[str, str, str, str, str]:
    """A row's numbers; ± is half the interval's width, where it is as wide on both sides or made as the papers' is."""
    mean = "unscored" if found.mean is None else f"{found.mean:z.3f}"
    half = interval = ""
    if found.ci95 is not None:
        low, high = found.ci95
        below, above = f"{(found.mean or 0) - low:z.3f}", f"{high - (found.mean or 0):z.3f}"
        half = f"{(high - low) / 2:z.3f}" if below == above or found.interval == "percentile" else ""
        interval = f"{low:z.3f} to {high:z.3f}"
    return mean, half, interval, "" if found.se is None else f"{found.se:z.3f}", str(found.n)


def writable(folder: Path | None) -> None:
    """Make the folder of ``--out`` before anybody is asked for what will be written there.

    Raises:
        OSError: it cannot be made.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)


def asked_of_rules(*asked: tuple[str, str | None]) -> list[str]:
    """Which options, each with the model that it named, had rules asked and no model: a sentence, if any had."""
    from wardround.tables.scores import said_by_rules

    options = dict.fromkeys(option for option, spec in asked if spec == OFFLINE)
    return [said_by_rules("Answered", options)] if options else []


def write_drawn(tables: Iterable[Table], folder: Path, by_rules: Sequence[str] = ()) -> None:
    """Write tables with their figures; sentences on what rules answered and no model go with each of them.

    Raises:
        OSError: they cannot be written.
    """
    from wardround.tables.making import write_tables

    write_tables([replace(each, notes=[*each.notes, *by_rules], by_rules=by_rules) for each in tables], folder)
