"""``wardround cases draft-tests``: a model drafts tests of patient simulators, for a person to correct."""

from pathlib import Path
from typing import Annotated

import typer

from wardround.commands.case_files import ask_about, keep, read
from wardround.commands.exit_codes import SOME_FAILED, refuse
from wardround.commands.printing import counted, echo


def draft_tests(
    source: Annotated[str, typer.Argument(metavar="SRC", help="A case file, or 'builtin'.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSON file to write.")],
    writer: Annotated[str, typer.Option(metavar="SPEC", help="The model that writes.")],
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Tests after none to so many exchanges less one.")] = 10,
    limit: Annotated[int | None, typer.Option(min=1, help="Of the first so many cases; the paper has 50.")] = None,
    case_ids: Annotated[list[str] | None, typer.Option("--case-id", help="Only this case; may be repeated.")] = None,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the answers: none is paid twice.")] = None,
) -> None:
    """Draft tests of patient simulators in AIE's form.

    A round has eight kinds; FILE.checklist.csv is there to be corrected. `cases confirm` takes the list back, `score
    simulator FILE --cases SRC` plays the tests. A case that the writer does not finish is named; the command then ends
    with 1.
    """
    from llm.specs import HUMAN, OFFLINE
    from scoring.aie.drafting import draft
    from wardround.analysis.simulator_tests import heard_by_rule
    from wardround.rating.checklists import write_checklist
    from wardround.rating.test_lists import TestLine, lines_of
    from wardround.store.provenance import write_json

    checklist = out.with_name(f"{out.name}.checklist.csv")
    if writer in (HUMAN, OFFLINE):
        refuse(f"--writer {writer}: tests are drafted by a model; name one")
    keep(out, checklist)
    cases = read(source, case_ids)[:limit]
    asked = ask_about(
        cases, ("--writer", "test_writer"), writer, cache, lambda case, settings: draft(case, settings, rounds)
    )
    for case, reason in asked.failures:
        echo(f"{case.id}: not drafted ({reason})", err=True)
    if asked.answers:
        lines = lines_of((one for _, one in asked.answers), heard_by_rule(asked.answers))
        write_json(out, [one.record for _, one in asked.answers])
        write_checklist(checklist, TestLine, lines)
        echo(f"{counted(len(lines), 'test')} of {counted(len(asked.answers), 'case')} drafted in {out}")
        echo(f"To correct: {checklist} (yes or no, mended words, added lines); then `wardround cases confirm`")
    if asked.failures:
        raise typer.Exit(SOME_FAILED)
