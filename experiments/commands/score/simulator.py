"""``wardround score simulator``: the state-aware patient on our labelled set."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.score.output import (
    ExtraTable,
    JsonOption,
    Mode,
    ModeOption,
    Scores,
    refuse,
    refuse_records,
    show,
)
from experiments.commands.score.transcripts import read_files

if TYPE_CHECKING:
    from cases import Case
    from evaluation.samples import Definition
    from evaluation.simulator_set import Played, SimulatorItem
    from evaluation.statistics import Estimate
    from nodes.context import Context

_MARKED = re.compile(r"(<!-- simulator scores -->\n).*?(<!-- end of simulator scores -->)", re.DOTALL)


def simulator(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILES...]", help="Files of items; our own set if none is named.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="[ROLE=]SPEC", help="A model for all roles of the patient, or for one; else offline."),
    ] = None,
    mode: ModeOption = Mode.SOUND,
    json_file: JsonOption = None,
    cases: Annotated[str, typer.Option(metavar="SRC", help="The cases that the items are about.")] = "builtin",
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the tables between the marks of this Markdown page."),
    ] = None,
) -> None:
    """The state-aware patient (SAPS) on labelled doctors' words: action accuracy and AIE's six metrics (percent).

    Also printed: the tracked actions against the labelled ones.
    """
    import anyio

    from evaluation.aie_simulator import confusion, score_simulator
    from evaluation.samples import estimates
    from evaluation.simulator_set import as_tests, read_items, shipped_files, tracking_by_part
    from experiments.simulator_trial import play_all

    definition: Definition = mode.value
    context = _context(models or [])
    items: list[SimulatorItem] = [item for found in read_files(read_items, files or shipped_files()) for item in found]
    known = _cases_of(items, cases)
    played, failures = anyio.run(play_all, items, known, context)
    tests = as_tests(played, known)
    samples = score_simulator(tests, definition) | tracking_by_part(played, known)
    metrics = estimates(samples, clustered=definition == "sound")
    matrix = _matrix_table(confusion(tests))
    if page is not None:
        _write_page(page, metrics, matrix)
    show(
        Scores(
            suite="simulator",
            mode=mode,
            n=len(known),
            metrics=metrics,
            tables=[matrix, *_missed(played)],
            notes=[f"{item}: no answer: {reason}" for item, reason in failures.items()],
        ),
        json_file,
    )


def _context(models: Sequence[str]) -> "Context":
    from pydantic import ValidationError

    from models import ModelSpecError
    from nodes.context import Context

    pairs = [spec.partition("=") if re.match(r"[a-z_.]+=", spec) else ("default", "=", spec) for spec in models]
    try:
        return Context(models={"default": "offline"} | {role: spec for role, _, spec in pairs})
    except (ModelSpecError, ValidationError) as error:
        refuse(f"--models: {error}")


def _cases_of(items: "Sequence[SimulatorItem]", source: str) -> "dict[str, Case]":
    from cases import CaseFileError, load_cases
    from evaluation.simulator_set import misfits

    try:
        found = {case.id: case for case in load_cases(source)}
    except CaseFileError as error:
        refuse(*map(str, error.problems))
    refuse_records(misfits(items, found))
    return {item.case_id: found[item.case_id] for item in items}


def _matrix_table(matrix: "Mapping[str, Mapping[str, int]]") -> ExtraTable:
    from evaluation.transcripts.aie import ACTIONS

    rows = [
        [f"{code} {ACTIONS[code]}", *(str(matrix[code].get(other, 0)) for other in ACTIONS)]
        for code in ACTIONS
        if code in matrix
    ]
    return ExtraTable("Tracked actions (columns) by the labelled ones (rows)", ["", *ACTIONS], rows)


def _missed(played: "Sequence[Played]") -> list[ExtraTable]:
    rows = [
        [one.item.id, one.item.action, one.action, one.item.doctor] for one in played if one.action != one.item.action
    ]
    return [ExtraTable("Tracked as another action", ["item", "labelled", "tracked", "doctor"], rows)] if rows else []


def _write_page(page: Path, metrics: "Mapping[str, Estimate]", matrix: ExtraTable) -> None:
    scores = [
        [name, "" if found.mean is None else f"{found.mean:.1f}", str(found.n)] for name, found in metrics.items()
    ]
    drawn = "\n\n".join((_markdown(["metric", "percent", "n"], scores), _markdown(matrix.header, matrix.rows)))
    try:
        text = page.read_text("utf-8")
        if not _MARKED.search(text):
            refuse(f"{page} lacks the marks <!-- simulator scores --> and <!-- end of simulator scores -->")
        page.write_text(_MARKED.sub(lambda marks: f"{marks[1]}\n{drawn}\n\n{marks[2]}", text), "utf-8")
    except OSError as error:
        refuse(f"cannot use {page}: {error.strerror or error}")


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
