"""``wardround export``: runs in the formats of others."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wardround.commands.exits import exits
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wardround.analysis.training_sets import Line

Sources = Annotated[
    list[Path],
    typer.Argument(metavar="SRC...", help="Dialogue files, run directories, or sweeps'.", show_default=False),
]
Marks = Annotated[
    list[Path] | None,
    typer.Option("--marks", metavar="FILE", help="Judgements of pairs of these runs (`wardround rate`); repeatable."),
]

export_app = typer.Typer(no_args_is_help=True, help="Runs in the formats of other tools.")


@export_app.command()
def transcripts(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or a sweep's.", show_default=False)],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The JSON list to write.")],
    format: Annotated[Literal["aie", "medpmc"], typer.Option("--format", help="Whose transcript files.")] = "aie",
) -> None:
    """Write the consultations of a run as AIE's or Med-PMC's authors release theirs.

    `score aie` and `score medpmc` read the file as they read the run.
    """
    from wardround.analysis.transcripts import transcripts_of
    from wardround.store.provenance import write_whole

    with exits(OSError):
        records = list(transcripts_of(run, format))
        write_whole(out, json.dumps(records, ensure_ascii=False, indent=1) + "\n")
    echo(f"{len(records)} transcript{'s' * (len(records) != 1)}: {out}")


@export_app.command()
def sft(
    sources: Sources,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The JSON lines to write.")],
    by_turn: Annotated[
        bool, typer.Option("--by-turn", help="A prompt with its completion for each turn of the physician.")
    ] = False,
    role: Annotated[
        str | None,
        typer.Option(metavar="ROLE", help="Instead: prompt and answer of each call of this role: dialogue_writer, ..."),
    ] = None,
) -> None:
    """Write interviews as TRL's SFTTrainer reads them: a dialogue a line, for a loss on the assistant's words.

    Of a reconstruction, only what passed the gates.
    """
    from wardround.analysis.training_sets import answers_of, dialogues_in, interviews
    from wardround.config.experiment import ConfigurationError
    from wardround.store.recorded_run import find_runs

    with exits(OSError):
        if role and by_turn:
            raise ConfigurationError("--by-turn: parts dialogues; --role has a line for each call already")
        lines = answers_of(find_runs(sources), role) if role else interviews(dialogues_in(sources), by_turn)
        count = _write_lines(out, lines, f"no answer of the role {role!r}" if role else "no turn of a physician")
    echo(f"{count} lines: {out}")


@export_app.command()
def preference(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run directories, or sweeps'.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The JSON lines to write.")],
    marks: Marks = None,
) -> None:
    """Write what was preferred to what, as TRL's DPOTrainer reads it.

    Drafts that the gates kept against those that they sent back, decisions that were accepted against those objected
    to, and of pairs that were judged the better consultation against the other.
    """
    with exits(OSError):
        count = _write_lines(out, _preferences(runs, marks), "no preference: nothing was sent back or objected to")
    echo(f"{count} pairs: {out}")


@export_app.command()
def dataset(
    sources: Sources,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="The folder to write.")],
    license: Annotated[
        str, typer.Option(metavar="ID", help="Of the notes and the dialogues, as the Hub calls it: cc-by-4.0, ...")
    ] = "unknown",
    held_out: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of the dialogues that is the split `validation`.")
    ] = 0.0,
    marks: Marks = None,
) -> None:
    """Write dialogues as a Hugging Face data set folder with its card; nothing is uploaded.

    Preferences of the runs among the sources stand in a configuration of their own.
    """
    from wardround.analysis.hub_folder import write_folder
    from wardround.analysis.training_sets import dialogues_in

    with exits(OSError):
        runs = [source for source in sources if source.is_dir()]
        preferred = list(_preferences(runs, marks)) if runs else []
        counts = write_folder(out, dialogues_in(sources), preferred, license, held_out)
    for name, count in counts.items():
        echo(f"{out / name}: {count} lines")
    echo(f"Load it: datasets.load_dataset({str(out)!r}, 'sft')")


def _preferences(runs: "list[Path]", marks: "list[Path] | None") -> "Iterable[Line]":
    from wardround.analysis.training_sets import preferences
    from wardround.rating.marks import read_marks
    from wardround.store.recorded_run import find_runs

    return preferences(find_runs(runs), [mark for file in marks or [] for mark in read_marks(file)])


def _write_lines(out: Path, lines: "Iterable[Line]", nothing: str) -> int:
    """Write one JSON object a line; how many there are.

    Raises:
        ConfigurationError: none.
    """
    from wardround.config.experiment import ConfigurationError
    from wardround.store.provenance import write_whole

    written = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]
    if not written:
        raise ConfigurationError(nothing)
    write_whole(out, "".join(written))
    return len(written)
