"""``wardround memory build | query | stats``: the store of earlier cases."""

from typing import Annotated

import typer

from wardround.commands.exits import exits, refuse
from wardround.commands.printing import echo, printable

Location = Annotated[str, typer.Option("--memory", help="'builtin', a directory, or a Chroma server's URL.")]
Embedding = Annotated[str, typer.Option(help="use-multilingual-v3, or a sentence-transformers model by name or path.")]

memory_app = typer.Typer(help="The store of earlier cases.", no_args_is_help=True, rich_markup_mode=None)


@memory_app.command()
def build(
    source: Annotated[str, typer.Argument(metavar="SRC", help="A case file, or 'builtin'.")],
    out: Annotated[str, typer.Option("--out", "-o", help="A directory, or a Chroma server's URL.", show_default=False)],
    embedding: Embedding = "all-MiniLM-L6-v2",
    split: Annotated[
        list[str] | None, typer.Option(help="Only this split; may be repeated.", show_default="train, validation")
    ] = None,
    every_split: Annotated[
        bool, typer.Option(help="Remember all cases, also those of the test split and of none.")
    ] = False,
) -> None:
    """Remember the train and validation cases of a file; cases without a split are refused unless asked for."""
    from rich.console import Console
    from rich.progress import Progress

    from cases import load_cases
    from retrieval import build_memory, warn_of_languages

    with exits():
        wanted, cases = split or ["train", "validation"], load_cases(source)
        if unsplit := [case.id for case in cases if case.split is None and not every_split]:
            refuse(
                f"{source}: {len(unsplit)} of {len(cases)} cases have no split ({unsplit[0]}, ...), so that test "
                f"cases would be remembered: `wardround cases split {source}` first, or --every-split"
            )
        cases = [case for case in cases if every_split or case.split in wanted]
        if not cases:
            refuse(f"{source} has no case of split {' or '.join(wanted)}")
        warn_of_languages(embedding, {case.language for case in cases})
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("embedding", total=len(cases))
            memory = build_memory(
                cases, out, embedding, progress=lambda done, total: bar.update(task, completed=done, total=total)
            )
    echo(f"{len(cases)} cases remembered in {memory.location}")


@memory_app.command()
def query(
    symptoms: Annotated[str, typer.Argument(help="A symptom description.")],
    memory: Location = "builtin",
    department: Annotated[str | None, typer.Option(help="Search only this first-level department.")] = None,
    k: Annotated[int, typer.Option(min=1, help="How many cases.")] = 3,
    embedding: Embedding = "all-MiniLM-L6-v2",
) -> None:
    """The nearest remembered cases."""
    from cases.vocabulary import DEPARTMENTS
    from retrieval import feature_text, open_memory

    try:
        where = DEPARTMENTS.require(department) if department else None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--department") from None
    with exits():
        found = open_memory(memory, embedding).recall(symptoms, where, k=k)
    for neighbour in found:
        text = f"{neighbour.case.id}  similarity {neighbour.similarity:.3f}\n{feature_text(neighbour.case)}\n"
        echo(text)
    if not found:
        echo("no case remembered there")


@memory_app.command()
def stats(memory: Location = "builtin", embedding: Embedding = "all-MiniLM-L6-v2") -> None:
    """How many cases each department has."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from retrieval import open_memory

    with exits():
        counts = open_memory(memory, embedding).stats()
    table = Table("department", "verified", "pseudo")
    for department, count in counts.items():
        table.add_row(Text(printable(department or "(none)")), str(count.verified), str(count.pseudo))
    Console().print(table)
