"""``wardround reconstruct``: turn clinical notes into interview dialogues (CliniChat's Clini-Recon)."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from wardround.commands.dry_run import DryRun, Like, check_like, tell_projection
from wardround.commands.exit_codes import fail_if, refuse
from wardround.commands.options import Address, Concurrency, CsvFolder, Engine, Models, Progress, Settings
from wardround.commands.plugin_options import PluginOption, PromptsOption
from wardround.printing import counted, echo, printable

if TYPE_CHECKING:
    from cases.problems import Problem
    from scoring.clini_eval.data_sheet import DataSheet
    from wardround.config.experiment import Experiment
    from wardround.config.selection import Selection
    from wardround.store.dialogue_files import DialogueFiles

_SETTING_PREFIXES = ("workflow.", "model.", "run.", "limits.")


def reconstruct(
    sources: Annotated[
        list[str],
        Argument(
            metavar="SRC",
            help="Notes: a folder of .txt files, JSON lines, MTS-Dialog, MedQA, AgentClinic, cases, or 'builtin'.",
        ),
    ],
    out: Annotated[Path, Option("--out", "-o", help="JSON-lines file of dialogues to write.")],
    limit: Annotated[int | None, Option(min=1, metavar="N", help="Use only the first N notes.")] = None,
    shuffle: Annotated[
        int | None, Option(metavar="SEED", help="Shuffle the notes with this seed; with --limit, draw a random sample.")
    ] = None,
    sufficient: Annotated[
        bool, Option("--sufficient", help="Of these, use only notes with a complaint, a history and results.")
    ] = False,
    models: Models = None,
    strategy: Annotated[
        Literal["clini_recon", "direct", "interactive"] | None,
        Option(help="Use Clini-Recon, or one of the two role-plays.", show_default="clini_recon"),
    ] = None,
    set_: Settings = None,
    concurrency: Concurrency = None,
    engine: Engine = None,
    address: Address = None,
    dry_run: DryRun = False,
    like: Like = None,
    csv: CsvFolder = None,
    plugin: PluginOption = None,
    prompts: PromptsOption = None,
    progress: Progress = "auto",
) -> None:
    """Turn clinical notes into interview dialogues.

    The dialogues are written as chat messages, as training libraries read them; dialogues that fail a gate go to a file
    of their own, with the reasons. Run the same command again to resume.
    """
    options = {
        "data.limit": limit,
        "data.shuffle": shuffle,
        "data.sufficient": sufficient or None,
        "workflow.reconstruction": strategy,
        "run.concurrency": concurrency,
        "run.engine": engine or ("ray" if address else None),
        "run.address": address,
        "prompts": prompts,
    }
    from wardround.config.command_line import parse_models, parse_settings
    from wardround.config.experiment_file import read_experiment
    from wardround.config.selection import select
    from wardround.store.dialogue_files import DialogueFiles

    settings = parse_settings(set_ or [])
    for key in settings:
        if not key.startswith(_SETTING_PREFIXES) and key != "seed":
            refuse(f"--set {key}: not a setting of a reconstruction; select notes with SRC and --limit")
    source = sources[0] if len(sources) == 1 else sources
    fixed = {"graph": "reconstruction", "suite": "gates", "data.notes": source}
    set_options = {key: value for key, value in options.items() if value is not None}
    experiment = read_experiment(None, {**fixed, **settings, **set_options}, parse_models(models or []), plugin or [])
    warnings: list[Problem] = []
    selection = select(experiment.data, warnings)
    left_out = [str(replace(warning, file=Path(warning.file).name)) for warning in warnings]
    files = DialogueFiles(out, left_out)
    check_like(dry_run, like)
    if dry_run:
        for reason in left_out:
            echo(reason)
        tell_projection(experiment, files.directory.path, like, selection=selection)
        return
    left = _run(experiment, selection, files, progress)
    sheet = files.write()
    if csv and sheet.dialogues:
        from wardround.tables.clinichat import departments
        from wardround.tables.making import write_tables

        write_tables([departments(sheet)], csv)
    _print_sheet(sheet)
    for reason in sheet.left_out:
        echo(reason)
    echo(f"Dialogues: {out}")
    if csv and not sheet.dialogues:
        echo("Table departments left out: no dialogue was written")
    if sheet.failed:
        echo(f"Notes without a dialogue: {sum(sheet.failed.values())}, listed in {files.failed.name}")
    if left:
        echo(f"{counted(left, 'note')} not attempted: the run reached its limits; raise them and run it again")
    fail_if(sheet.failed or left)


def _run(experiment: "Experiment", selection: "Selection", files: "DialogueFiles", progress: Progress) -> int:
    """Reconstruct what is left of the notes; return how many were not started because of the run's limits."""
    import asyncio

    from rich.console import Console

    from wardround.run.live_view import live_view
    from wardround.run.runner import run_experiment
    from wardround.store.dialogue_files import GATES, Failure
    from wardround.store.result import Result

    console = Console(stderr=True)
    with live_view(console, progress=progress):

        def keep(result: Result, done: int, total: int) -> None:
            outcome = files.add(result)
            if isinstance(outcome, Failure) and outcome.termination == GATES:
                console.print(printable(f"{outcome.id}: failed, {outcome.reason}"), markup=False, soft_wrap=True)

        summary = asyncio.run(run_experiment(experiment, files.directory.path, keep, selection))
    return int(summary["not_attempted"])


def _print_sheet(sheet: "DataSheet") -> None:
    from wardround.tables.table import as_text
    from wardround.tables.terminal import print_rows

    rows = {
        "Dialogues": sheet.dialogues,
        "Most turns": sheet.max_turns,
        "Fewest turns": sheet.min_turns,
        "Mean turns": sheet.average_turns,
        "Mean words of a patient's utterance": sheet.average_words_patient,
        "Mean words of a physician's utterance": sheet.average_words_physician,
        "Diseases": len(set(sheet.diseases) - {"not recorded"}),
        "Calls": sheet.calls,
        "Tokens": sheet.tokens,
        "US dollars": None if sheet.cost is None else f"{sheet.cost:.2f}",
    }
    for model, use in sheet.models.items() if len(sheet.models) > 1 else ():
        used = use.calls, use.input_tokens + use.output_tokens, "-" if use.cost is None else f"{use.cost:.2f}"
        rows[f"Calls, tokens, US dollars of {model}"] = ", ".join(map(str, used))
    print_rows("Dialogues", ["", "value"], [[name, as_text(value, ".1f")] for name, value in rows.items()])
    for title, counts in (("Departments", sheet.departments), ("Notes without a dialogue", sheet.failed)):
        if counts:
            unit = max(counts.values()) / 30
            bars = [[name, str(count), "█" * max(1, round(count / unit))] for name, count in counts.items()]
            print_rows(title, ["", "number", ""], bars)
    if sheet.rare:
        echo(f"Under 2 % of the dialogues, too few for training: {', '.join(sheet.rare)}")
