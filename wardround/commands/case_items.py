"""What a model proposes of cases and a person checks: ``cases import --reader``, ``draft-tests`` and ``confirm``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from wardround.commands.case_files import ask_about, check_unasked, keep, read
from wardround.commands.exit_codes import fail_if, refuse
from wardround.commands.options import Cache, CallSettings, CaseIds, a_file, check_file
from wardround.printing import counted, echo, first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cases import Case


def with_items_read(
    cases: "list[Case]", reader: str | None, cache: Path | None, settings: "Sequence[str] | None", out: Path
) -> "tuple[list[Case], int]":
    """Have a model read items in cases, and write the checklist; return the cases and how many got no answer."""
    if reader is None:
        check_unasked("--reader", cache, settings)
        return cases, 0
    from llm.specs import OFFLINE, ModelSpec
    from nodes.workflow.item_reader import read_items
    from wardround.rating.checklists import write_checklist
    from wardround.rating.item_lists import ItemLine, open_parts, proposed

    checklist = out.with_name(f"{out.name}.checklist.csv")
    keep(checklist)
    check_file(out)  # before the reader is paid
    with_open_parts = [case for case in cases if open_parts(case)]
    asked = ask_about(with_open_parts, ("--reader", "item_reader"), reader, cache, settings, read_items)
    found = {case.id: items for case, items in asked.answers}
    name = "rule" if reader == OFFLINE else ModelSpec.parse(reader).name
    read_cases, lines = [], []
    for case in cases:
        changed, item_lines = proposed(case, found.get(case.id), name)
        read_cases.append(changed)
        lines += item_lines
    for case, reason in asked.failures:
        echo(f"{case.id}: items found by rule, as the reader gave no answer ({reason})", err=True)
    write_checklist(checklist, ItemLine, lines)
    items = f"{counted(len(lines), 'item')} of {counted(len({line.case for line in lines}), 'case')}"
    echo(f"{items} to check in {checklist}: write yes or no, edit items, add lines; then run `wardround cases confirm`")
    return read_cases, len(asked.failures)


def confirm(
    file: Annotated[str, Argument(help="File of cases or tests with the proposals.")],
    checklist: Annotated[Path, Argument(help="Its checklist (CSV), as completed by a person.")],
    out: Annotated[Path, Option("--out", "-o", help="File to write.")],
    by: Annotated[str, Option(help="Who checked the list, for the provenance of each case.")] = "a person",
) -> None:
    """Apply a checklist that a person has completed.

    The checklist comes from `cases import --reader` or `cases draft-tests`. A part of an answer key counts as stated
    once all its lines are decided; parts with an open line stay as they are. Tests that were kept get the person's
    action and answer; rejected tests, and tests whose line was deleted, are removed. Also printed: how many proposals
    were kept.
    """
    from cases import save_cases
    from wardround.rating.checklists import columns_of, read_checklist
    from wardround.rating.drafted_tests import TestLine, tests_taken_back
    from wardround.rating.item_lists import ItemLine, taken_back
    from wardround.store.provenance import write_json

    if "action" in columns_of(checklist):
        found = tests_taken_back(Path(file), read_checklist(checklist, TestLine), checklist)
        write_json(out, found.records)
        mended = f"{found.mended} of them edited or added"
        echo(f"{found.kept} kept, {mended}; {found.dropped} removed, {found.open} open; written to {out}")
        return
    lines = read_checklist(checklist, ItemLine)
    checked = taken_back(read(file), lines, checklist, by)
    save_cases(checked.cases, out)
    for who, (kept, seen) in checked.kept.items():
        echo(f"{who}: {kept} of {seen} kept" if who != "person" else f"added by a person: {kept}")
    if checked.absent:
        left_out = f"{counted(len(checked.absent), 'proposed item')} without a line left out of the key"
        echo(f"{left_out}: {first_of(checked.absent)}", err=True)
    if checked.open:
        echo(f"open: {first_of(checked.open)}", err=True)
    echo(f"{counted(checked.parts, 'part')} checked, {len(checked.open)} open; written to {out}")


def draft_tests(
    source: Annotated[str, Argument(metavar="SRC", help="Case file, or 'builtin'.")],
    out: Annotated[Path, Option("--out", "-o", help="JSON file to write.", callback=a_file)],
    writer: Annotated[str, Option(metavar="SPEC", help="Model that drafts the tests.")],
    rounds: Annotated[int, Option(min=1, max=50, metavar="N", help="Draft tests after 0 to N-1 exchanges.")] = 10,
    limit: Annotated[
        int | None, Option(min=1, metavar="N", help="Use only the first N cases; the paper has 50.")
    ] = None,
    case_ids: CaseIds = None,
    cache: Cache = None,
    settings: CallSettings = None,
) -> None:
    """Draft tests of patient simulators in AIE's format.

    Each round has eight kinds of test. Correct them in FILE.checklist.csv and apply the corrections with `cases
    confirm`; `score simulator FILE --cases SRC` then plays the tests. Cases that the writer cannot finish are reported,
    and the command exits with code 1.
    """
    from llm.specs import HUMAN, OFFLINE
    from scoring.aie.drafting import draft
    from wardround.analysis.simulator_tests import heard_by_rule
    from wardround.rating.checklists import write_checklist
    from wardround.rating.drafted_tests import TestLine, lines_of
    from wardround.store.provenance import write_json

    checklist = out.with_name(f"{out.name}.checklist.csv")
    if writer in (HUMAN, OFFLINE):
        refuse(f"--writer {writer}: expected a model, such as openai:gpt-4o-mini")
    keep(out, checklist)
    cases = read(source, case_ids)[:limit]
    asked = ask_about(
        cases, ("--writer", "test_writer"), writer, cache, settings, lambda case, model: draft(case, model, rounds)
    )
    for case, reason in asked.failures:
        echo(f"{case.id}: not drafted ({reason})", err=True)
    if asked.answers:
        lines = lines_of((one for _, one in asked.answers), heard_by_rule(asked.answers))
        write_json(out, [one.record for _, one in asked.answers])
        write_checklist(checklist, TestLine, lines)
        echo(f"{counted(len(lines), 'test')} of {counted(len(asked.answers), 'case')} drafted in {out}")
        echo(f"To correct: {checklist} (write yes or no, edit texts, add lines); then run `wardround cases confirm`")
    fail_if(asked.failures)
