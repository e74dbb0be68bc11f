"""Render the report pages from templates, and write them."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from llm.role import is_judging
from llm.specs import WITHOUT_MODEL
from wardround.analysis.floors import floors_of
from wardround.analysis.notes import FAILED_AS_WRONG, uncounted_notes
from wardround.analysis.paired import spare_columns
from wardround.analysis.summary import count_unscored
from wardround.report.case_sections import CaseSection, case_section, in_brief
from wardround.report.sankey import error_flows
from wardround.report.trace_findings import TraceFindings
from wardround.store.provenance import write_whole
from wardround.store.recorded_run import RecordedRun
from wardround.tables.drawing import as_svg, figures_of
from wardround.tables.making import make_tables
from wardround.tables.models import roles_table
from wardround.tables.scores import epoch_notes, floor_notes, missing_floors, score_form
from wardround.tables.table import Column, Table, alike, key_columns, measured

if TYPE_CHECKING:
    from jinja2 import Environment

REPORT = "report.html"
_LISTED_CASES = 2_000
_FOLDER = Path(__file__).parent


def report_page(run: RecordedRun, shown: int = 20) -> str:
    """Return the page of a run, finished or not.

    The first ``shown`` cases, and as many of the failed ones, get a section of their own.
    """
    sections, key_problem = _case_sections(run, shown)
    findings = TraceFindings()
    for file, calls in run.each_trace():
        findings.add(file.stem, calls)
    files = {run.trace_file(*result.key).stem: result.key for result in run.results}
    anchors = {one.result.key: one.anchor for one in sections}
    # Failed cases are never crowded out by others.
    listed = sorted(sorted(run.results, key=attrgetter("scored"))[:_LISTED_CASES], key=attrgetter("key"))
    return environment().get_template("run.html.jinja").render(
        run=run,
        configuration=json.dumps(run.manifest["configuration"], ensure_ascii=False, indent=2),
        **outcome_of(run),
        roles=roles_of(run.name, findings),
        findings=findings,
        flagged_cases={trace: files.get(trace) for trace in findings.flagged_calls},
        listed=listed,
        not_listed=len(run.results) - len(listed),
        titles=run.suite.titles,
        anchors=anchors,
        sections=sections,
        key_problem=key_problem,
    )  # fmt: skip


def write_overview(runs: Sequence[RecordedRun], file: Path) -> None:
    """Write a page that compares runs side by side, with links to those of their pages that exist.

    Raises:
        OSError: the file cannot be written.
    """
    results = make_tables(runs)
    reports = {run.name: (run.path / REPORT).resolve() for run in runs if (run.path / REPORT).is_file()}
    text = environment().get_template("overview.html.jinja").render(
        runs=runs,
        links={name: _link(report, file.parent.resolve()) for name, report in reports.items()},
        made=[one for one in results if one.tables],
        left_out=[one for one in results if one.reason],
        figures={
            name: f"data:image/svg+xml;base64,{b64encode(as_svg(figure).encode()).decode()}"
            for one in results
            for table in one.tables
            for name, figure in figures_of(table)
        },
    )  # fmt: skip
    write_whole(file, text)


def _link(report: Path, folder: Path) -> str:
    """Return the address of a report for a page of a folder: relative, so that both may be moved together."""
    try:
        return quote(Path(os.path.relpath(report, folder)).as_posix())  # names may hold any character
    except ValueError:  # on another drive of Windows
        return report.as_uri()


@cache
def environment(*folders: Path) -> "Environment":
    """Return the template environment, with the templates of other folders; cached, as compiling takes time."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=FileSystemLoader([_FOLDER, *folders]),
        autoescape=True,  # text of a case, patient or model must never become markup
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "in_brief": in_brief, "in_full": partial(json.dumps, ensure_ascii=False, indent=1),
        "with_code": lambda note: Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(note)))),
    }  # fmt: skip
    environment.tests["judging"] = is_judging
    environment.globals |= {
        "css": Markup(_read("page.css")), "js": Markup(_read("page.js")), "policy": policy(),
        "without_model": sorted(WITHOUT_MODEL), "uncounted_notes": uncounted_notes,
    }  # fmt: skip
    return environment


def policy(*, served: bool = False) -> str:
    """Return the content security policy of a page: its own style and script, and embedded pictures only.

    A page that is ``served`` may also send requests to its own server.
    """
    style, script = (b64encode(sha256(_read(name).encode()).digest()).decode() for name in ("page.css", "page.js"))
    extra_policy = "connect-src 'self'; form-action 'self'; frame-ancestors 'none'" if served else "form-action 'none'"
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        f"img-src data:; base-uri 'none'; {extra_policy}"
    )


@cache
def _read(name: str) -> str:
    return _FOLDER.joinpath(name).read_text("utf-8")


def _case_sections(run: RecordedRun, shown: int) -> tuple[list[CaseSection], str]:
    """Return the sections of the cases shown in full, and why their keys are missing, if they are."""
    failed = [result.key for result in run.results if not result.scored]
    chosen = {*failed[:shown], *(result.key for result in run.results[:shown])}
    chosen_results = [result for result in run.each_answered() if result.key in chosen]
    cases, problem = run.known_cases()
    return [
        case_section(run, result, cases.get(result.case_id), f"case-{number}")
        for number, result in enumerate(chosen_results, start=1)
    ], problem


def outcome_of(run: RecordedRun) -> dict[str, Any]:
    """Return what pages show of the scores and stages of a run, as far as suite and graph give them."""
    results = make_tables([run], ("error_propagation", "consensus", "ends"))
    return {
        "scores": scores_table(run),
        "unscored": _unscored_table(run),
        "flows": error_flows(run),
        "tables": [_without_run_column(table) for one in results for table in one.tables],
    }


def roles_of(name: str, findings: TraceFindings) -> Table | None:
    """Return what each role of one run used; None if no call is recorded."""
    return _without_run_column(roles_table([(name, findings.tallies)])) if findings.tallies else None


def _without_run_column(table: Table) -> Table:
    """Return the table without its first column, which names the run."""
    return replace(table, columns=table.columns[1:])


def scores_table(run: RecordedRun) -> Table:
    """Return the scores of one run, one per row, with the floors and the ceiling of its cases."""
    titles, form = run.suite.titles, score_form(run.suite)
    floors, why = floors_of(run)
    bounds, left_out = run.failed_as_wrong, spare_columns([run])
    columns = [
        Column("score", "Score", key=True),
        Column("score_mean", "Mean", form=form),
        *alike({"score_low": "From", "score_high": "To"}, "95 % interval", form=form),
        Column("score_n", "Cases"),
        *([Column("bound", "Failed as wrong", form=form)] if bounds else []),
        *(Column(name, f"[{name}]", "Floor and ceiling", form) for name in floors),
    ]
    rows = [
        {
            "score": title,
            **measured({"score": run.estimates[name]}),
            "bound": bounds[name].mean if name in bounds else None,
            **{floor: found[name].mean if name in found else None for floor, found in floors.items()},
        }
        for name, title in titles.items()
        if name not in left_out
    ]
    notes = [
        *run.suite.explained,
        FAILED_AS_WRONG if bounds else "",
        *epoch_notes([run]),
        *floor_notes(floors),
        *([why] if why or not floors else missing_floors(floors, run.suite)),
    ]
    return Table("scores", "Scores", columns, rows, [note for note in notes if note])


def _unscored_table(run: RecordedRun) -> Table | None:
    """Return how many scores are missing, and why."""
    left_out = spare_columns([run])
    counted = count_unscored(run.scored, run.suite)
    reasons_by_score = {name: reasons for name, reasons in counted.items() if name not in left_out}
    columns = [*key_columns("score", "reason"), Column("cases", "Cases")]
    rows = [
        {"score": run.suite.titles[name], "reason": reason, "cases": count}
        for name, reasons in sorted(reasons_by_score.items(), key=lambda item: run.suite.titles[item[0]])
        for reason, count in reasons.items()
    ]
    return Table("unscored", "Not scored", columns, rows) if rows else None
