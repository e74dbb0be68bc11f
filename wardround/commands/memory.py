"""``wardround memory build | query | stats``: the memory of earlier cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.case_files import ask_about
from wardround.commands.exit_codes import SOME_FAILED, Commands, refuse
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from cases import Case
    from llm import ModelSettings

Location = Annotated[str, typer.Option("--memory", help="'builtin', a directory, or a Chroma server's URL.")]
Embedding = Annotated[str, typer.Option(help="use-multilingual-v3, or a sentence-transformers model by name or path.")]

memory_app = typer.Typer(cls=Commands, help="The store of earlier cases.", no_args_is_help=True, rich_markup_mode=None)


@memory_app.command()
def build(
    source: Annotated[str, typer.Argument(metavar="SRC", help="A case file, or 'builtin'.")],
    out: Annotated[str, typer.Option("--out", "-o", help="A directory, or a Chroma server's URL.")],
    embedding: Embedding = "all-MiniLM-L6-v2",
    split: Annotated[
        list[str] | None, typer.Option(help="Only this split; may be repeated.", show_default="train, validation")
    ] = None,
    every_split: Annotated[
        bool, typer.Option(help="Remember all cases, also those of the test split and of none.")
    ] = False,
    refiner: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="The model that describes each case's symptoms.", show_default="by rule"),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the refiner's answers: none is paid twice.")
    ] = None,
) -> None:
    """Remember the train and validation cases of a file.

    Cases without a split are refused unless asked for. With --refiner, remembered cases get their keys from the model
    that describes new ones (MedChain, B.3). A case that it does not answer for is described by rule, and named; the
    command then ends with 1.
    """
    from rich.console import Console
    from rich.progress import Progress

    from cases import load_cases
    from retrieval import build_memory, warn_of_languages

    splits, cases = split or ["train", "validation"], load_cases(source)
    if unsplit := [case.id for case in cases if case.split is None and not every_split]:
        refuse(
            f"{source}: {len(unsplit)} of {len(cases)} cases have no split ({unsplit[0]}, ...), so that test "
            f"cases would be remembered: `wardround cases split {source}` first, or --every-split"
        )
    cases = [case for case in cases if every_split or case.split in splits]
    if not cases:
        refuse(f"{source} has no case of split {' or '.join(splits)}")
    warn_of_languages(embedding, {case.language for case in cases})
    keys, unanswered = _describe_cases(cases, refiner, cache)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("embedding", total=len(cases))

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        memory = build_memory(cases, out, embedding, progress, keys)
    for case, reason in unanswered:
        echo(f"{case.id}: described by rule ({reason})", err=True)
    echo(f"{len(cases)} cases remembered in {memory.location}")
    if unanswered:
        raise typer.Exit(SOME_FAILED)


def _describe_cases(
    cases: "list[Case]", refiner: str | None, cache: Path | None
) -> "tuple[dict[str, str], list[tuple[Case, str]]]":
    """Return the refiner's descriptions by case, and its failures; nothing without a refiner."""
    if refiner is None:
        if cache is not None:
            refuse("--cache keeps the refiner's answers: name --refiner too")
        return {}, []
    from nodes.workflow.case_retrieval import described, recorded_words

    def describe(case: "Case", settings: "ModelSettings") -> "Awaitable[str]":
        return described(recorded_words(case), settings, f"memory/{case.id}")

    asked = ask_about(cases, ("--refiner", "refiner"), refiner, cache, describe)
    return {case.id: symptoms for case, symptoms in asked.answers}, asked.failures


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
    found = open_memory(memory, embedding).recall(symptoms, where, k=k)
    for neighbour in found:
        text = f"{neighbour.case.id}  similarity {neighbour.similarity:.3f}\n{feature_text(neighbour.case)}\n"
        echo(text)
    if not found:
        echo("no case remembered there")


@memory_app.command()
def stats(memory: Location = "builtin", embedding: Embedding = "all-MiniLM-L6-v2") -> None:
    """How many cases each department has."""
    from retrieval import open_memory
    from wardround.tables.terminal import print_rows

    counts = open_memory(memory, embedding).stats()
    rows = [[name or "(none)", str(count.verified), str(count.pseudo)] for name, count in counts.items()]
    print_rows("Remembered cases", ["department", "verified", "pseudo"], rows)
