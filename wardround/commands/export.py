"""``wardround export``: runs in the formats of other tools."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wardround.commands.exit_codes import Commands, refuse
from wardround.commands.printing import counted, echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wardround.analysis.training_sets import Line

Sources = Annotated[list[Path], typer.Argument(metavar="SRC...", help="Dialogue files, run directories, or sweeps'.")]
Marks = Annotated[
    list[Path] | None,
    typer.Option("--marks", metavar="FILE", help="Judgements of pairs of these runs (`wardround rate`); repeatable."),
]

export_app = typer.Typer(cls=Commands, no_args_is_help=True, help="Runs in the formats of other tools.")
Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories, or sweeps'.")]


@contextmanager
def _needs_extra(extra: str) -> Iterator[None]:
    """Exit naming the extra to install if an export's package is missing."""
    try:
        yield
    except ImportError as error:
        refuse(f"export {extra} needs the extra `{extra}` ({error}): pip install 'wardround[{extra}]'")


@export_app.command()
def transcripts(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or a sweep's.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The JSON list to write.")],
    format: Annotated[Literal["aie", "medpmc"], typer.Option("--format", help="Whose transcript files.")] = "aie",
) -> None:
    """Write consultations as AIE's or Med-PMC's authors do.

    `score aie` and `score medpmc` read the file as they read the run, whoever plays the patient. A run with another
    patient than the authors' is said to be one.
    """
    from wardround.analysis.transcripts import FORMS, transcripts_of
    from wardround.store.provenance import write_json
    from wardround.store.recorded_run import find_runs

    records = list(transcripts_of(run, format))
    write_json(out, records)
    echo(f"{counted(len(records), 'transcript')}: {out}")
    others = {one.experiment.context.patient for one in find_runs([run])} - {FORMS[format].patient}
    if others:
        own_form = next(
            (f"; {name} is the form of its authors" for name, one in FORMS.items() if one.patient in others), ""
        )
        mismatch = f"The patient is {', '.join(sorted(others))}, not {FORMS[format].patient}"
        echo(f"{mismatch}: only the form is theirs{own_form}.")


@export_app.command()
def example(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run of consultations.")],
    case_id: Annotated[str, typer.Option("--case-id", metavar="ID", help="Whose consultation; no case to be played.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The text; its pictures lie beside it.")],
) -> None:
    """Write a consultation as the example that a doctor is shown.

    `doctor_mode = "one_shot_cot"` shows it, pictures and all. Of a run with `doctor_mode = "zero_shot_cot"` the model's
    thoughts stand in it. A text may be mended by hand.
    """
    from wardround.analysis.examples import write_example
    from wardround.store.recorded_run import find_run

    pictures = write_example(find_run(run), case_id, out)
    echo(f"{counted(pictures, 'picture')}: {out} (--set doctor_mode=one_shot_cot --set example={out})")


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
    """Write interviews as TRL's SFTTrainer reads them.

    They are a dialogue a line, for a loss on the assistant's words. Of a reconstruction, only what passed the gates.
    """
    from wardround.analysis.training_sets import answers_of, dialogues_in, interviews
    from wardround.config.experiment import ConfigurationError
    from wardround.store.recorded_run import find_runs

    if role and by_turn:
        raise ConfigurationError("--by-turn: parts dialogues; --role has a line for each call already")
    lines = answers_of(find_runs(sources), role) if role else interviews(dialogues_in(sources), by_turn)
    count = _write_lines(out, lines, f"no answer of the role {role!r}" if role else "no turn of a physician")
    echo(f"{count} lines: {out}")


@export_app.command()
def preference(
    runs: Runs,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The JSON lines to write.")],
    marks: Marks = None,
) -> None:
    """Write preferences as TRL's DPOTrainer reads them.

    Drafts that the gates kept against those that they sent back, decisions that were accepted against those objected
    to, and of pairs that were judged the better consultation against the other.
    """
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
    """Write dialogues as a Hugging Face data set folder.

    It has its card; nothing is uploaded. Preferences of the runs among the sources stand in a configuration of their
    own.
    """
    from wardround.analysis.hub_folder import write_folder
    from wardround.analysis.training_sets import dialogues_in

    runs = [source for source in sources if source.is_dir()]
    preferred = list(_preferences(runs, marks)) if runs else []
    counts = write_folder(out, dialogues_in(sources), preferred, license, held_out)
    for name, count in counts.items():
        echo(f"{out / name}: {count} lines")
    echo(f"Load it: datasets.load_dataset({str(out)!r}, 'sft')")


@export_app.command()
def inspect(
    runs: Runs, out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Where RUN.eval is written.")]
) -> None:
    """Write a log of Inspect for each run. It has every case, dialogue, score and call; `inspect view` shows it."""
    from wardround.exports.inspect_log import write_inspect_logs
    from wardround.store.recorded_run import find_runs

    with _needs_extra("inspect"):
        files = write_inspect_logs(find_runs(runs), out)
    echo(f"{counted(len(files), 'log')}: inspect view --log-dir {out}")


@export_app.command()
def parquet(
    runs: Runs,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Where the five files are written.")],
) -> None:
    """Write runs, cases, turns, calls and verdicts as Parquet. Each is a file, of all runs."""
    from wardround.exports.frames import write_parquet
    from wardround.store.recorded_run import find_runs

    with _needs_extra("parquet"):
        files = write_parquet(find_runs(runs), out)
    echo(f"{', '.join(file.name for file in files)}: {out}")


@export_app.command()
def mlflow(
    runs: Runs,
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="FILE|URL", help="MLflow's SQLite file, or a tracking server.")
    ],
) -> None:
    """Log each run to MLflow. Settings are parameters, means are metrics. One logged before is put in its place."""
    from wardround.exports.mlflow_runs import write_mlflow
    from wardround.store.recorded_run import find_runs

    with _needs_extra("mlflow"):
        found = find_runs(runs)
        write_mlflow(found, out)
    echo(f"{counted(len(found), 'run')}: {out}")


@export_app.command()
def otel(
    runs: Runs,
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="FILE|URL", help="A file of OTLP's JSON lines, or a collector.")
    ],
    content: Annotated[bool, typer.Option("--content", help="Also what was asked and answered.")] = False,
) -> None:
    """Write OpenTelemetry's spans, a trace a case. A collector is sent to only when named."""
    from wardround.exports.spans import write_spans
    from wardround.store.recorded_run import find_runs

    with _needs_extra("otel"):
        cases = write_spans(find_runs(runs), out, content=content)
    echo(f"{counted(cases, 'trace')}: {out}")


def _preferences(runs: "list[Path]", marks: "list[Path] | None") -> "Iterable[Line]":
    from wardround.analysis.training_sets import preferences
    from wardround.rating.marks import read_marks
    from wardround.store.recorded_run import find_runs

    return preferences(find_runs(runs), [mark for file in marks or [] for mark in read_marks(file)])


def _write_lines(out: Path, lines: "Iterable[Line]", nothing: str) -> int:
    """Write JSON Lines; return the number of lines.

    Raises:
        ConfigurationError: there are none; the message is ``nothing``.
    """
    from wardround.config.experiment import ConfigurationError
    from wardround.store.provenance import write_json_lines

    written = list(lines)
    if not written:
        raise ConfigurationError(nothing)
    write_json_lines(out, written)
    return len(written)
