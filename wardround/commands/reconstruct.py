"""``wardround reconstruct``: clinical notes in, interview dialogues out (CliniChat's Clini-Recon)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from cases.dialogues import Dialogue
    from scoring.clini_eval.data_sheet import DataSheet
    from wardround.run.reconstruction_record import Failure

SOME_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


def reconstruct(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC",
            help="Notes: a folder of .txt, JSON lines, MTS-Dialog, MedQA, AgentClinic, a case file, or 'builtin'.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSON-lines file of dialogues.", show_default=False)],
    limit: Annotated[int | None, typer.Option(min=1, help="Reconstruct the first so many notes.")] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=SPEC", help="The model of a role, or of all (default=SPEC); may be repeated."),
    ] = None,
    strategy: Annotated[
        Literal["clini_recon", "direct", "interactive"] | None,
        typer.Option(help="Clini-Recon, or one of the two role-plays.", show_default="clini_recon"),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, such as whole_dialogue=true; may be repeated."),
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Notes at once.", show_default="4")] = None,
) -> None:
    """Turn clinical notes into interview dialogues, as chat messages that trainers read.

    Running the same command again goes on where it stopped. What fails a gate stands apart, with its reasons.
    """
    import asyncio

    from cases import CaseFileError
    from cases.note_files import read_notes
    from llm import ModelSpecError
    from wardround.commands.printing import printable
    from wardround.config.experiment import ConfigurationError
    from wardround.config.experiment_file import parse_models, parse_settings, read_experiment
    from wardround.store.durable_lines import RunStoppedError

    try:
        settings = parse_settings(set_ or [])
        for key in settings:
            if not key.startswith(("workflow.", "run.")) and key != "seed":
                raise ConfigurationError(f"--set {key}: no setting of a reconstruction; SRC and --limit name the notes")
        if strategy:
            settings["workflow.reconstruction"] = strategy
        if concurrency:
            settings["run.concurrency"] = concurrency
        experiment = read_experiment(None, settings, parse_models(models or []))
        if Path(source).resolve() == out.resolve():
            raise ConfigurationError(f"{out} would be overwritten while it is read; name another file with -o")
        notes = read_notes(source)[:limit]

        from wardround.run.reconstruction import reconstruct_notes

        sheet = asyncio.run(reconstruct_notes(experiment, notes, out, _report))
    except (ConfigurationError, CaseFileError, ModelSpecError) as error:
        typer.echo(printable(f"error: {error}"), err=True)
        raise typer.Exit(BAD_INPUT) from None
    except RunStoppedError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(SOME_FAILED) from None
    except KeyboardInterrupt:
        typer.echo("interrupted; run the same command again to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _print_sheet(sheet)
    typer.echo(f"Dialogues: {out}")
    if sheet.failed:
        typer.echo(f"{sum(sheet.failed.values())} notes without a dialogue: {out.stem}.failed{out.suffix or '.jsonl'}")
        raise typer.Exit(SOME_FAILED)


def _report(outcome: "Dialogue | Failure", done: int, total: int) -> None:
    from cases.dialogues import Dialogue
    from wardround.commands.printing import printable

    how = f"{len(outcome.spoken)} messages" if isinstance(outcome, Dialogue) else f"failed, {outcome.reason}"
    typer.echo(printable(f"{done}/{total} {outcome.id}: {how}"), err=True)


def _print_sheet(sheet: "DataSheet") -> None:
    from rich.console import Console
    from rich.table import Table

    def shown(value: Any) -> str:
        return "-" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)

    console = Console(highlight=False)
    table = Table(title="Dialogues", title_justify="left", show_header=False)
    rows = {
        "Dialogues": sheet.dialogues,
        "Most turns": sheet.max_turns,
        "Fewest turns": sheet.min_turns,
        "Turns on average": sheet.average_turns,
        "Words in a patient's utterance": sheet.average_words_patient,
        "Words in a physician's utterance": sheet.average_words_physician,
        "Diseases": len(set(sheet.diseases) - {"not recorded"}),
    }
    for name, value in rows.items():
        table.add_row(name, shown(value))
    console.print(table)
    for title, counts in (("Departments", sheet.departments), ("Notes without a dialogue", sheet.failed)):
        if counts:
            bars = Table(title=title, title_justify="left", show_header=False)
            most = max(counts.values())
            for name, count in counts.items():
                bars.add_row(name, str(count), "█" * max(1, round(30 * count / most)))
            console.print(bars)
