"""Options shared by several commands."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from wardround.commands.exit_codes import refuse


def a_file(given: Path | None) -> Path | None:
    """Refuse `-`: standard output has the tables, so that no program could parse both."""
    if given == Path("-"):
        refuse("--json -: expected the name of a file, since the tables for people are printed here")
    return given


Models = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=SPEC", help="The model of a role, or of all (default=SPEC); may be repeated."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting, such as feedback=off; may be repeated."),
]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Cases at once.", show_default="4")]
Engine = Annotated[Literal["local", "ray"] | None, typer.Option(help="Where the cases run.", show_default="local")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN [RUN ...]", help="Run directories, or a sweep's.")]
CsvFolder = Annotated[Path | None, typer.Option("--csv", metavar="DIR", help="Also write the tables here, as CSV.")]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Also write the tables here.", callback=a_file)
]
JsonScores = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Also write the scores here, at full precision.", callback=a_file),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback interface; 0: any free one.")]
Browser = Annotated[bool, typer.Option(help="Open the page in a browser.")]
Progress = Annotated[
    str,
    typer.Option(
        metavar="auto|json|FILE.jsonl",
        help="What is shown meanwhile: a bar; every event as JSON on standard error; or both, the events in a file.",
    ),
]
Address = Annotated[
    str | None, typer.Option(help="Of a Ray cluster, HOST:PORT or auto.", show_default="one of this machine's own")
]
