"""``wardround memory build | query | stats``: build and query a memory of earlier cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, BadParameter, Option

from wardround.commands.case_files import ask_about, check_unasked
from wardround.commands.exit_codes import fail_if, group_of_commands, refuse
from wardround.commands.options import Cache, CallSettings, check_folder
from wardround.printing import counted, echo

if TYPE_CHECKING:
    from cases import Case

Location = Annotated[str, Option(help="Memory to use: 'builtin', a directory, or the URL of a Chroma server.")]
Embedding = Annotated[
    str, Option(help="Embedding: use-multilingual-v3, or the name or path of a sentence-transformers model.")
]

memory_app = group_of_commands("Build and query a memory of earlier cases.")


@memory_app.command()
def build(
    source: Annotated[str, Argument(metavar="SRC", help="Case file, or 'builtin'.")],
    out: Annotated[str, Option("--out", "-o", help="Directory to write, or URL of a Chroma server.")],
    embedding: Embedding = "all-MiniLM-L6-v2",
    split: Annotated[
        list[str] | None, Option(help="Include cases of this split; may be repeated.", show_default="train, validation")
    ] = None,
    every_split: Annotated[
        bool, Option(help="Include all cases, also those of the test split and those without a split.")
    ] = False,
    refiner: Annotated[
        str | None, Option(metavar="SPEC", help="Model that describes each case's symptoms.", show_default="by rule")
    ] = None,
    cache: Cache = None,
    settings: CallSettings = None,
) -> None:
    """Build a memory from the train and validation cases of a file.

    Cases without a split are refused unless --every-split is given. With --refiner, the symptoms by which cases are
    found are described by a model, as those of new cases are (MedChain, B.3). Cases for which it gives no answer are
    described by rule and reported, and the command exits with code 1.
    """
    from rich.console import Console
    from rich.progress import Progress

    from cases import load_cases
    from retrieval import build_memory, warn_of_languages

    if refiner and not out.startswith(("http://", "https://")):  # before the refiner is paid
        check_folder("--out", Path(out))
    splits, cases = split or ["train", "validation"], load_cases(source)
    if unsplit := [case.id for case in cases if case.split is None and not every_split]:
        refuse(
            f"{source}: {len(unsplit)} of {len(cases)} cases have no split ({unsplit[0]}, ...), so test cases could "
            f"enter the memory; run `wardround cases split {source}` first, or give --every-split"
        )
    cases = [case for case in cases if every_split or case.split in splits]
    if not cases:
        refuse(f"{source}: no case of split {' or '.join(splits)}")
    warn_of_languages(embedding, {case.language for case in cases})
    keys, unanswered = _describe_cases(cases, refiner, cache, settings)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("embedding", total=len(cases))
        memory = build_memory(cases, out, embedding, lambda done, _: bar.update(task, completed=done), keys)
    for case, reason in unanswered:
        echo(f"{case.id}: described by rule, as the refiner gave no answer ({reason})", err=True)
    echo(f"{counted(len(cases), 'case')} stored in {memory.location}")
    fail_if(unanswered)


def _describe_cases(
    cases: "list[Case]", refiner: str | None, cache: Path | None, settings: list[str] | None
) -> "tuple[dict[str, str], list[tuple[Case, str]]]":
    """Return the refiner's descriptions by case, and its failures; nothing without a refiner."""
    if refiner is None:
        check_unasked("--refiner", cache, settings)
        return {}, []
    from nodes.workflow.case_retrieval import described, recorded_words

    asked = ask_about(
        cases,
        ("--refiner", "refiner"),
        refiner,
        cache,
        settings,
        lambda case, model: described(recorded_words(case), model, f"memory/{case.id}"),
    )
    return {case.id: symptoms for case, symptoms in asked.answers}, asked.failures


@memory_app.command()
def query(
    symptoms: Annotated[str, Argument(help="Description of symptoms to search for.")],
    memory: Location = "builtin",
    department: Annotated[str | None, Option(help="Search only this first-level department.")] = None,
    k: Annotated[int, Option(min=1, help="Number of cases to return.")] = 3,
    embedding: Embedding = "all-MiniLM-L6-v2",
) -> None:
    """Find the cases in memory that are nearest to a description."""
    from cases.vocabulary import DEPARTMENTS
    from retrieval import feature_text, open_memory

    if not symptoms.strip():
        raise BadParameter("expected a description of symptoms, found nothing", param_hint="symptoms")
    try:
        where = DEPARTMENTS.require(department) if department else None
    except ValueError as error:
        raise BadParameter(str(error), param_hint="--department") from None
    found = open_memory(memory, embedding).recall(symptoms, where, k=k)
    for neighbour in found:
        echo(f"{neighbour.case.id}  similarity {neighbour.similarity:.3f}\n{feature_text(neighbour.case)}\n")
    if not found:
        echo("no cases in this memory" + (f" for department {department}" if department else ""))


@memory_app.command()
def stats(memory: Location = "builtin", embedding: Embedding = "all-MiniLM-L6-v2") -> None:
    """Count the cases in memory by department."""
    from retrieval import open_memory
    from wardround.tables.terminal import print_rows

    counts = open_memory(memory, embedding).stats()
    rows = [[name or "(none)", str(count.verified), str(count.pseudo)] for name, count in counts.items()]
    print_rows("Cases in memory", ["department", "verified", "pseudo"], rows)
