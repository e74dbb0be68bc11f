"""``wardround export``: write runs in the formats of other tools."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from wardround.commands.exit_codes import group_of_commands, refuse
from wardround.commands.options import Runs
from wardround.printing import counted, echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wardround.analysis.training_sets import Line
    from wardround.store.recorded_run import RecordedRun

Sources = Annotated[list[Path], Argument(metavar="SRC", help="Dialogue files, run directories or sweep directories.")]
Marks = Annotated[
    list[Path] | None,
    Option(metavar="FILE", help="File of pairwise judgements of these runs (`wardround rate`); may be repeated."),
]

export_app = group_of_commands("Export runs in the formats of other tools.")


@contextmanager
def _runs_for(extra: str, runs: list[Path]) -> "Iterator[list[RecordedRun]]":
    """Yield the runs for an export; exit naming the extra to install if its package is missing."""
    from wardround.store.recorded_run import find_runs

    try:
        yield find_runs(runs)
    except ImportError as error:
        refuse(f"export {extra}: a package is missing ({error}); run: pip install 'wardround[{extra}]'")


@export_app.command()
def transcripts(
    run: Annotated[Path, Argument(metavar="RUN", help="Run directory or sweep directory.")],
    out: Annotated[Path, Option("-o", "--out", metavar="FILE", help="JSON file to write (a list of transcripts).")],
    format: Annotated[
        Literal["aie", "medpmc"], Option(help="Write the file format of AIE's or Med-PMC's authors.")
    ] = "aie",
) -> None:
    """Write consultations in AIE's or Med-PMC's file format.

    `score aie` and `score medpmc` score the file like the run itself, whichever patient was used. If that is not the
    patient of the chosen paper, a note says so.
    """
    from wardround.analysis.transcripts import FORMS, transcripts_of
    from wardround.store.provenance import write_json
    from wardround.store.recorded_run import find_runs

    records = list(transcripts_of(run, format))
    write_json(out, records)
    echo(f"{counted(len(records), 'transcript')}: {out}")
    own = FORMS[format].patient
    if others := {one.experiment.context.patient for one in find_runs([run])} - {own}:
        fitting = [name for name, form in FORMS.items() if form.patient in others]
        use = f"; use --format {fitting[0]} for the format of its authors" if fitting else ""
        patients = ", ".join(sorted(others))
        echo(f"The patient is {patients}, not {own}: only the format is that of {format}'s authors{use}.")


@export_app.command()
def example(
    run: Annotated[Path, Argument(metavar="RUN", help="Run directory of consultations.")],
    case_id: Annotated[str, Option(metavar="ID", help="Id of the case, which must not be among those to be run.")],
    out: Annotated[
        Path, Option("-o", "--out", metavar="FILE", help="Text file to write; pictures are written beside it.")
    ],
) -> None:
    """Write a consultation as an example for the doctor's prompt.

    `doctor_mode = "one_shot_cot"` shows the example to the doctor, with its pictures. It contains the model's thoughts
    if the run has `doctor_mode = "zero_shot_cot"`. The text may be edited by hand.
    """
    from wardround.analysis.examples import write_example
    from wardround.store.recorded_run import find_run

    pictures = write_example(find_run(run), case_id, out)
    echo(f"{counted(pictures, 'picture')}: {out} (--set doctor_mode=one_shot_cot --set example={out})")


@export_app.command()
def sft(
    sources: Sources,
    out: Annotated[Path, Option("-o", "--out", metavar="FILE", help="JSON-lines file to write.")],
    by_turn: Annotated[
        bool, Option("--by-turn", help="Write a prompt and its completion for each turn of the physician.")
    ] = False,
    role: Annotated[
        str | None,
        Option(
            metavar="ROLE", help="Write the prompt and answer of each call of this role instead (dialogue_writer, ...)."
        ),
    ] = None,
) -> None:
    """Write interviews in the format of TRL's SFTTrainer.

    Each line is one dialogue, for a loss on the assistant's turns. From a reconstruction, only dialogues that passed
    the gates are written.
    """
    from wardround.analysis.training_sets import answers_of, dialogues_in, interviews
    from wardround.store.recorded_run import find_runs

    if role and by_turn:
        refuse("--by-turn: cannot be combined with --role, which writes a line for each call; leave one out")
    lines = answers_of(find_runs(sources), role) if role else interviews(dialogues_in(sources), by_turn)
    nothing = (
        f"--role {role}: no answer of this role in these runs" if role else "no turn of a physician in these sources"
    )
    _write_lines(out, lines, "line", nothing)


@export_app.command()
def preference(
    runs: Runs,
    out: Annotated[Path, Option("-o", "--out", metavar="FILE", help="JSON-lines file to write.")],
    marks: Marks = None,
) -> None:
    """Write preferences in the format of TRL's DPOTrainer.

    Pairs are drafts that passed the gates against drafts sent back, accepted decisions against decisions objected to,
    and, with --marks, the better consultation of a judged pair against the other.
    """
    nothing = "no preferences in these runs: nothing was sent back or objected to"
    _write_lines(out, _preferences(runs, marks), "pair", nothing)


@export_app.command()
def dataset(
    sources: Sources,
    out: Annotated[Path, Option("-o", "--out", metavar="FOLDER", help="Folder to write.")],
    license: Annotated[
        str, Option(metavar="ID", help="Licence of notes and dialogues, as named on the Hub (cc-by-4.0, ...).")
    ] = "unknown",
    held_out: Annotated[float, Option(min=0, max=0.9, help="Share of the dialogues for the split `validation`.")] = 0.0,
    marks: Marks = None,
) -> None:
    """Write dialogues as a Hugging Face data set folder.

    The folder includes a data set card; nothing is uploaded. Preferences from the runs among the sources are written as
    a separate configuration.
    """
    from wardround.analysis.hub_folder import write_folder
    from wardround.analysis.training_sets import dialogues_in

    runs = [source for source in sources if source.is_dir()]
    preferred = list(_preferences(runs, marks)) if runs else []
    counts = write_folder(out, dialogues_in(sources), preferred, license, held_out)
    for name, count in counts.items():
        echo(f"{out / name}: {counted(count, 'line')}")
    echo(f"Load it with datasets.load_dataset({str(out)!r}, 'sft')")


@export_app.command()
def inspect(
    runs: Runs,
    out: Annotated[Path, Option("-o", "--out", metavar="DIR", help="Directory for the logs, RUN.eval.")],
) -> None:
    """Write an Inspect log for each run. It holds every case, dialogue, score and call; open it with `inspect view`."""
    from wardround.exports.inspect_log import write_inspect_logs

    with _runs_for("inspect", runs) as found:
        files = write_inspect_logs(found, out)
    echo(f"{counted(len(files), 'log')}: inspect view --log-dir {out}")


@export_app.command()
def parquet(
    runs: Runs,
    out: Annotated[Path, Option("-o", "--out", metavar="DIR", help="Directory for the five files.")],
) -> None:
    """Write runs, cases, turns, calls and verdicts as Parquet. Each file covers all runs."""
    from wardround.exports.frames import write_parquet

    with _runs_for("parquet", runs) as found:
        files = write_parquet(found, out)
    echo(f"{', '.join(file.name for file in files)}: {out}")


@export_app.command()
def mlflow(
    runs: Runs,
    out: Annotated[
        str, Option("-o", "--out", metavar="FILE|URL", help="SQLite file of MLflow, or URL of a tracking server.")
    ],
) -> None:
    """Log each run to MLflow. Settings become parameters, means become metrics. Runs logged before are replaced."""
    from llm.masking import masked
    from wardround.exports.mlflow_runs import write_mlflow

    with _runs_for("mlflow", runs) as found:
        write_mlflow(found, out)
    echo(f"{counted(len(found), 'run')}: {masked(out)}")


@export_app.command()
def otel(
    runs: Runs,
    out: Annotated[
        str, Option("-o", "--out", metavar="FILE|URL", help="File of OTLP JSON lines, or URL of a collector.")
    ],
    content: Annotated[bool, Option("--content", help="Include the texts of prompts and answers.")] = False,
) -> None:
    """Write OpenTelemetry spans, one trace per case. Nothing is sent unless the URL of a collector is given."""
    from llm.masking import masked
    from wardround.exports.spans import write_spans

    with _runs_for("otel", runs) as found:
        cases = write_spans(found, out, content=content)
    echo(f"{counted(cases, 'trace')}: {masked(out)}")


def _preferences(runs: "list[Path]", marks: "list[Path] | None") -> "Iterable[Line]":
    from wardround.analysis.training_sets import preferences
    from wardround.rating.marks import read_marks
    from wardround.store.recorded_run import find_runs

    return preferences(find_runs(runs), [mark for file in marks or [] for mark in read_marks(file)])


def _write_lines(out: Path, lines: "Iterable[Line]", thing: str, nothing: str) -> None:
    """Write JSON Lines, each of which is such a thing; exits with the message ``nothing`` if there are none."""
    from itertools import chain

    from wardround.store.provenance import write_json_lines

    rest = iter(lines)
    if (first := next(rest, None)) is None:
        refuse(nothing)
    echo(f"{counted(write_json_lines(out, chain([first], rest)), thing)}: {out}")
