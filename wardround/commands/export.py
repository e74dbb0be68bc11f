"""``wardround export``: runs in the formats of others."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from wardround.commands.exits import exits
from wardround.commands.printing import echo

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
