"""The driver shared by the score commands: prints a suite's result as tables, and writes it as JSON."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import AfterValidator, validate_call
from rich.console import Console
from rich.text import Text
from typer import Option

from cases import Case, Problem
from cases.problems import shortened
from llm import Role
from llm.limits import Spent
from llm.specs import OFFLINE
from nodes.context import Context
from scoring.metrics.samples import Definition
from scoring.metrics.statistics import INTERVALS, Estimate
from wardround.analysis.notes import few_cases_note, said_by_rules, used, used_notes
from wardround.analysis.rescoring import judged_with
from wardround.commands.exit_codes import INTERRUPTED, fail_if, refuse
from wardround.commands.options import CallSettings, JsonNumbers, a_folder
from wardround.commands.plugin_options import declare
from wardround.config.command_line import parse_call_settings
from wardround.printing import counted, echo, printable
from wardround.store.durable_lines import RunStoppedError
from wardround.store.provenance import write_json
from wardround.tables.making import write_tables
from wardround.tables.table import Table
from wardround.tables.terminal import print_rows, print_table

Source = TypeVar("Source")


ModeOption = Annotated[
    Definition, Option(help="Use our sound definitions, or compute as published, with known faults (paper).")
]

DrawnFolder = Annotated[Path | None, AfterValidator(a_folder("--out"))]  # the folder of `write_drawn`

_ASKING = {"judge", "models", "mcq", "diagnose"}  # parameters of scoring functions that name a model


@dataclass(frozen=True)
class ExtraTable:
    """A table besides the scores: it is printed, and of it only ``numbers`` are written, under their names."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scores:
    """The result of a suite."""

    suite: str  # its name on the command line
    mode: Definition  # the definitions that were used
    n: int  # cases read
    metrics: Mapping[str, Estimate]  # the scores by the names that the papers print, in display order
    tables: Sequence[ExtraTable] = ()  # further tables to print
    notes: Sequence[str] = ()  # what a reader must know to read the numbers, one sentence each
    failed: bool = False  # whether something asked has no answer: the command then exits with 1
    # for metrics that count unanswered cases as wrong: the mean over answered ones; empty if all were answered
    answered: Mapping[str, Estimate] = field(default_factory=dict)
    drawn: Sequence[Table] = ()  # tables of the papers, which can also be written
    # the same metrics for each file or run, if there are several
    files: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    # the same, for each run with failed cases, with these counted as wrong
    files_failed_as_wrong: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    # whether the scores are printed as a list; otherwise `drawn` contains them, and is printed first
    listed: bool = True
    more: Sequence[str] = ()  # other counts in words, if cases occur several times
    # further choices that the metrics depend on, by name; printed in the title, and written
    how: Mapping[str, str] = field(default_factory=dict)
    # groups of cases: the level of each factor, "n", "metrics", and what else is to be written
    groups: Sequence[Mapping[str, Any]] = ()
    # by which keys a run was scored, if not by its own: their file, and the ids of the cases whose keys have changed
    keys: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # settings of calls that the judges were given
    # by doctor and case, the option that was chosen from the record; None without an answer
    mcq_chosen: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)  # what the models that were asked used
    write: Callable[[], None] = lambda: None  # writes the files besides --json; called when the scores were printed

    def share(self, name: str) -> float:
        """Return the share of a metric's values that were answered."""
        return self.answered[name].n / max(self.metrics[name].n, 1)


def scored(score: Callable[..., Scores], settings: Sequence[str] | Mapping[str, Any], /, **options: Any) -> Scores:
    """Call a scoring function; its scores also say with which settings of calls models were asked, and what they used.

    Raises:
        ValidationError: an option has another type.
    """
    with judged_with(asked_with := parse_call_settings(settings)) as meter:
        scores: Scores = validate_call(score)(**options)
    return replace(scores, settings=asked_with, spent=meter.spent)


def command(score: Callable[..., Scores]) -> Callable[..., None]:
    """Make a command of a scoring function: its parameters become options, and ``--json`` and ``--set`` are added.

    ``--set`` is of the functions that may ask a model.

    Unusable input (a file, model, run or term list) exits with code 2 before anything is printed.
    """

    @functools.wraps(score)
    def run(*, json_file: Path | None, settings: list[str] | None = None, **options: Any) -> None:
        try:
            scores = scored(score, settings or (), **options)
        except RunStoppedError as error:  # there is no run to resume: a judge's server refuses all questions
            refuse(str(error))
        except KeyboardInterrupt:
            kept = "what neither a cache nor options.jsonl holds is asked again next time"
            echo(f"interrupted; no scores were written, and {kept}", err=True)
            raise typer.Exit(INTERRUPTED) from None
        show(scores, json_file)
        fail_if(scores.failed)

    asks = inspect.signature(score).parameters.keys() & _ASKING
    declare(run, score, {**({"settings": CallSettings} if asks else {}), "json_file": JsonNumbers})
    return run


def show(scores: Scores, json_file: Path | None = None) -> None:
    """Print the scores, and write them to ``json_file``, if given, whole or not at all, and their other files.

    Raises:
        OSError: a file cannot be written.
    """
    with ExitStack() as then:  # also if the reader of the output (`head`) has gone, or one file finds no room
        then.callback(scores.write)
        if json_file is not None:
            then.callback(write_json, json_file, content_of(scores))
        _print(scores)  # first: a full disk takes the files, and not what was paid for


def content_of(scores: Scores) -> dict[str, Any]:
    """Return what ``--json`` writes: ``{"suite", "mode", "n", "metrics": {name: {"mean", "se", "ci95", "n"}}}``.

    The choices besides the mode that the metrics depend on stand beside it. With several files there is also ``files``,
    with the metrics of each (and ``files_failed_as_wrong`` of the runs with failed cases); with groups,
    ``groups``, with theirs; with unanswered questions, ``answered``, with the mean over answered ones and their
    ``share``; of a run that was scored by the ``keys`` of another file, this ``file`` and the ids of the cases whose
    keys have ``changed`` (None if not known); with questions about records, the options ``mcq_chosen``; if judges were
    given settings of their own, ``settings``; if models were asked, the ``spent`` calls, tokens and US dollars (None if
    no server told them or a price is unknown); and the ``numbers`` of further tables: ``differences`` to other
    transcripts or to people, ``correlations`` with people, the options ``chosen`` from dialogues, and of a run with
    failed cases ``failed_as_wrong``, with the metrics if these count as wrong.
    """
    content: dict[str, Any] = {"suite": scores.suite, "mode": scores.mode, **scores.how, "n": scores.n}
    content["metrics"] = _written(scores.metrics)
    if scores.files:
        content["files"] = {name: _written(metrics) for name, metrics in scores.files.items()}
    if bounds := scores.files_failed_as_wrong:
        content["files_failed_as_wrong"] = {name: _written(metrics) for name, metrics in bounds.items()}
    if scores.groups:
        content["groups"] = [{**group, "metrics": _written(group["metrics"])} for group in scores.groups]
    if answered := _written(scores.answered):
        content["answered"] = {name: {**one, "share": scores.share(name)} for name, one in answered.items()}
    if scores.keys:
        content["keys"] = dict(scores.keys)
    if scores.mcq_chosen:
        content["mcq_chosen"] = scores.mcq_chosen
    if scores.settings:
        content["settings"] = dict(scores.settings)
    if scores.spent.calls:
        content["spent"] = used(scores.spent)
    for table in scores.tables:
        content |= table.numbers
    return content


def of_each(
    named: Mapping[str, Source], estimated: Callable[[Source], dict[str, Estimate]]
) -> dict[str, dict[str, Estimate]]:
    """Return the metrics of each file or run by name; empty if there is only one."""
    return {name: estimated(source) for name, source in named.items()} if len(named) > 1 else {}


def _written(metrics: Mapping[str, Estimate]) -> dict[str, dict[str, object]]:
    return {name: one.model_dump(mode="json") for name, one in metrics.items()}


def refuse_records(problems: Iterable[Problem]) -> None:
    """Exit with code 2 if there are problems, printing them; otherwise do nothing."""
    if found := list(problems):
        refuse(*map(str, shortened(found)), f"nothing was scored: {counted(len(found), 'problem')}")


def _print(scores: Scores) -> None:
    console = Console(highlight=False)
    choices = (f"{name} {chosen}" for name, chosen in scores.how.items())
    title = ", ".join([scores.suite, f"{scores.mode} mode", *choices, counted(scores.n, "case"), *scores.more])
    if scores.listed and scores.metrics:
        rows = [(name, *_cells(found)) for name, found in scores.metrics.items()]
        shown = [place for place in range(6) if place != 2 or any(row[place] for row in rows)]
        headings = [("metric", "mean", "±", "95 % interval", "se", "n")[place] for place in shown]
        print_rows(title, headings, [[row[place] for place in shown] for row in rows])
    else:
        console.print(Text(title))
    for table in () if scores.listed else scores.drawn:
        print_table(table)
    methods = {one.interval for one in scores.metrics.values()}
    if explanations := [words for method, words in INTERVALS.items() if method in methods]:
        console.print(Text(f"95 % intervals: {'; '.join(explanations)}."))
    if scores.listed and (narrow := [name for name, one in scores.metrics.items() if one.narrow]):
        console.print(Text(printable(few_cases_note(narrow))))
    for extra in [*_answered_tables(scores), *scores.tables]:
        print_rows(extra.title, extra.header, extra.rows)
    for table in scores.drawn if scores.listed else ():
        print_table(table)
    for note in [*scores.notes, *used_notes(scores.spent)]:
        console.print(Text(printable(note)))


def _answered_tables(scores: Scores) -> list[ExtraTable]:
    """Return a table of the means over answered cases; the main scores count unanswered ones as wrong."""
    cells = {name: _cells(found) for name, found in scores.answered.items()}
    rows = [[name, mean, ci95, n, f"{scores.share(name):.3f}"] for name, (mean, _, ci95, _, n) in cells.items()]
    header = ["metric", "mean", "95 % interval", "answered", "share"]
    title = "Over answered cases only (above, unanswered cases count as wrong)"
    return [ExtraTable(title, header, rows)] if rows else []


def _cells(found: Estimate) -> tuple[str, str, str, str, str]:
    """Format a row; ± is half the interval's width, if the interval is symmetric or computed as in the papers."""
    mean = "unscored" if found.mean is None else f"{found.mean:z.3f}"
    half_width = interval = ""
    if found.ci95 is not None:
        low, high = found.ci95
        below, above = f"{(found.mean or 0) - low:z.3f}", f"{high - (found.mean or 0):z.3f}"
        half_width = f"{(high - low) / 2:z.3f}" if below == above or found.interval == "percentile" else ""
        interval = f"{low:z.3f} to {high:z.3f}"
    return mean, half_width, interval, "" if found.se is None else f"{found.se:z.3f}", str(found.n)


def as_wrong_table(bounds: Mapping[str, Estimate]) -> list[ExtraTable]:
    """Tabulate the means with failed cases counted as wrong; empty if none failed."""
    rows = [(name, *_cells(found)[::4]) for name, found in bounds.items()]
    title, numbers = "Failed as wrong (a lower bound)", {"failed_as_wrong": _written(bounds)}
    return [ExtraTable(title, ("metric", "mean", "n"), rows, numbers)] if rows else []


def unanswered(reasons: Sequence[str], thing: str = "question", what: str = "without an answer") -> list[str]:
    """Note how many questions got no answer (or other things lack what), with the first reason; empty if none."""
    return [f"Left out: {counted(len(reasons), thing)} {what} ({reasons[0]})."] if reasons else []


def asked_of_rules(*asked: tuple[str, str | None]) -> list[str]:
    """Note which of these options, each with its model, were answered by rules; empty if none."""
    options = dict.fromkeys(option for option, spec in asked if spec == OFFLINE)
    return [said_by_rules("Answered", options)] if options else []


def judged_by_rules(judges: Iterable[Role[Any]], context: Context, cases: Iterable[Case]) -> list[str]:
    """Note which of these judges are rules, and in which of the cases' languages they read little; empty if none."""
    rules = [role.name for role in judges if context.is_by_rule(role)]
    said = said_by_rules("Judged", rules, languages=sorted({case.language for case in cases}))
    return [f"{said} They are good for ranking similar systems only."] if rules else []


def write_drawn(tables: Iterable[Table], folder: Path | None, by_rules: Sequence[str] = ()) -> None:
    """Write tables with their figures to the folder of ``--out``, each with the notes on what was answered by rules.

    Raises:
        OSError: they cannot be written.
    """
    if folder is not None:
        write_tables([replace(each, notes=[*each.notes, *by_rules], by_rules=by_rules) for each in tables], folder)
