"""``wardround run``: run many cases through a workflow, into a run directory."""

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wardround.commands.dry_run import DryRun, Like, check_like, tell_projection, tell_total
from wardround.commands.exit_codes import fail_if, refuse
from wardround.commands.options import Address, Concurrency, Engine, Models, Progress, Settings
from wardround.commands.plugin_options import PluginOption, PromptsOption
from wardround.printing import counted, echo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wardround.config.experiment import Experiment
    from wardround.config.experiment_file import Sweep


def run(
    experiment: Annotated[
        Path | None,
        Argument(
            metavar="EXPERIMENT.toml",
            help="Experiment file, or the name of a built-in one (see `wardround experiments list`).",
        ),
    ] = None,
    cases: Annotated[str | None, Option(help="Case file, or 'builtin'.", show_default="builtin")] = None,
    limit: Annotated[int | None, Option(min=1, metavar="N", help="Run only the first N cases.")] = None,
    case_id: Annotated[list[str] | None, Option(help="Run only the case with this id; may be repeated.")] = None,
    models: Models = None,
    set_: Settings = None,
    concurrency: Concurrency = None,
    epochs: Annotated[int | None, Option(min=1, help="Number of times to run each case.", show_default="1")] = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="Run directory to create or resume.", show_default="runs/<name>-<fingerprint>"),
    ] = None,
    engine: Engine = None,
    address: Address = None,
    tracing: Annotated[bool, Option(help="Send prompts and answers to LangSmith; answer keys are never sent.")] = False,
    retry_failed: Annotated[bool, Option("--retry-failed", help="Also rerun cases that failed permanently.")] = False,
    fail_on_error: Annotated[bool, Option("--fail-on-error", help="Stop at the first case that fails.")] = False,
    dry_run: DryRun = False,
    like: Like = None,
    plugin: PluginOption = None,
    prompts: PromptsOption = None,
    progress: Progress = "auto",
) -> None:
    """Run an experiment, or the built-in test cases offline.

    The scores are printed at the end.

    A file with [grid] or [variants] is a sweep: each combination is a run with its own directory.

    Run the same command again to resume a run that was stopped.
    """
    options: dict[str, Any] = {
        "data.cases": cases,
        "data.limit": limit,
        "data.case_ids": case_id,
        "run.concurrency": concurrency,
        "run.engine": engine or ("ray" if address else None),
        "run.address": address,
        "run.retry_failed": retry_failed or None,
        "run.fail_on_error": fail_on_error or None,
        "epochs": epochs,
        "prompts": prompts,
    }
    from wardround.config.command_line import parse_models, parse_settings
    from wardround.config.experiment_file import read_sweep
    from wardround.library import find_file
    from wardround.run.sweep import default_directory

    overrides = {key: value for key, value in options.items() if value is not None} | parse_settings(set_ or [])
    sweep = read_sweep(find_file(experiment), overrides, parse_models(models or []), plugin or [])
    root = out or default_directory(sweep)
    check_like(dry_run, like)
    if dry_run:
        projected = [tell_projection(one, root / name, like, name) for name, one in sweep.runs.items()]
        if len(projected) > 1:
            tell_total(projected)
        return
    with _tracing(sweep) if tracing else nullcontext():
        failed = _run(sweep, root, progress)
    fail_if(failed)


@contextmanager
def _tracing(sweep: "Sweep") -> "Iterator[None]":
    """Trace the runs to LangSmith, if that cannot leak the answer key."""
    import os

    from llm.tracing import left_unsent, switch_on

    if not os.environ.get("LANGSMITH_API_KEY"):
        refuse("--tracing needs a LangSmith account; set LANGSMITH_API_KEY")
    for one in sweep.runs.values():
        if one.run.engine == "ray":
            refuse("--tracing: workers of a Ray cluster are not traced; use --engine local")
        context = one.context
        if not context.sequential or context.pictures_in_dialogue == "report":
            refuse(
                "--tracing: with sequential = false or pictures_in_dialogue = 'report', prompts contain reference "
                "answers, which would be sent to LangSmith; remove these settings"
            )
    switch_on()
    try:
        yield
    finally:
        if left := left_unsent():
            records = counted(left, "record")
            echo(
                f"LangSmith did not take the last {records} of calls and nodes; the traces in --out have all", err=True
            )


def _run(sweep: "Sweep", root: Path, progress: Progress) -> int:
    """Run every run of the file, one after the other; return how many cases and judgements failed."""
    import asyncio

    from rich.console import Console

    from wardround.commands.tables import tell_tables
    from wardround.run.live_view import live_view
    from wardround.run.runner import run_experiment
    from wardround.run.whole_sweep import check_all, make_and_write_tables, shared_cluster, warnings_of

    for warning in warnings_of(sweep):
        echo(warning, err=True)
    check_all(sweep, root)
    failed = 0
    with shared_cluster(sweep):
        for name, experiment in sweep.runs.items():  # a single run has no name
            with live_view(Console(stderr=True), f"{name}: " if name else "", progress):
                summary = asyncio.run(run_experiment(experiment, root / name))
            if name:
                echo(f"\n{name}")
            failed += _tell_end(summary, experiment, root / name)
    if made := make_and_write_tables(sweep, root):
        echo("")
        tell_tables(made, root / "tables")
        for one in made:
            if one.reason:
                echo(f"Table {one.name} left out: {one.reason}")
    return failed


def _tell_end(summary: dict[str, Any], experiment: "Experiment", directory: Path) -> int:
    """Print the scores of a run and what it lacks; return how many cases and judgements it lacks."""
    from rich.console import Console

    from scoring.suite import SUITES
    from wardround.analysis.summary import scores_without_judgement
    from wardround.commands.summary_table import summary_table
    from wardround.store.result import LIMIT_OF_RUN

    Console().print(summary_table(summary, SUITES[experiment.scored_by]))
    echo(f"Run directory: {directory}")
    left = summary["not_attempted"]
    stopped = sum(count for end, count in summary["terminations"].items() if end.startswith(LIMIT_OF_RUN))
    if left or stopped:
        cases = f"{counted(left, 'case')} not attempted, {stopped} stopped"
        echo(f"{cases}: the run reached its limits; raise them and run it again")
    if unjudged := scores_without_judgement(summary):
        echo(f"{counted(unjudged, 'score')} missing because a judge failed; --retry-failed asks it again")
    return int(summary["failed"] + left + stopped + unjudged)


def known_names() -> "Mapping[str, Sequence[str]]":
    """Return the names that settings of a run accept, including those of plug-ins."""
    from graphs.catalogue import SERVED
    from nodes.patients.systems import PATIENTS
    from nodes.strategies.registry import STRATEGIES
    from scoring.suite import SUITES

    return {"Graphs": list(SERVED), "Suites": list(SUITES), "patient": list(PATIENTS), "strategy": list(STRATEGIES)}
