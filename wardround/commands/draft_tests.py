"""``wardround cases draft-tests``: have a model draft tests of patient simulators, for a person to correct."""

from pathlib import Path
from typing import Annotated

import typer

from wardround.commands.case_files import ask_about, keep, read
from wardround.commands.exit_codes import SOME_FAILED, refuse
from wardround.commands.printing import counted, echo


def draft_tests(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Case file, or 'builtin'.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="JSON file to write.")],
    writer: Annotated[str, typer.Option(metavar="SPEC", help="Model that drafts the tests.")],
    rounds: Annotated[int, typer.Option(min=1, max=50, metavar="N", help="Draft tests after 0 to N-1 exchanges.")] = 10,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use only the first N cases; the paper has 50.")
    ] = None,
    case_ids: Annotated[
        list[str] | None, typer.Option("--case-id", help="Use only the case with this id; may be repeated.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Cache the answers in this file, so that none is paid for twice."),
    ] = None,
) -> None:
    """Draft tests of patient simulators in AIE's format.

    Each round has eight kinds of test. Correct them in FILE.checklist.csv and apply the corrections with `cases
    confirm`; `score simulator FILE --cases SRC` then plays the tests. Cases that the writer cannot finish are reported,
    and the command exits with code 1.
    """
    from llm.specs import HUMAN, OFFLINE
    from scoring.aie.drafting import draft
    from wardround.analysis.simulators import heard_by_rule
    from wardround.rating.checklists import write_checklist
    from wardround.rating.test_lists import TestLine, lines_of
    from wardround.store.provenance import write_json

    checklist = out.with_name(f"{out.name}.checklist.csv")
    if writer in (HUMAN, OFFLINE):
        refuse(f"--writer {writer}: expected a model, such as openai:gpt-4o-mini")
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
        echo(f"To correct: {checklist} (write yes or no, edit texts, add lines); then run `wardround cases confirm`")
    if asked.failures:
        raise typer.Exit(SOME_FAILED)
