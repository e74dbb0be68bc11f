"""``wardround score SUITE RUN``: score a finished run with any suite that fits it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from scoring.case_scores import JUDGE_FAILED
from scoring.medchain.answers import Answers
from scoring.metrics.claims import claim_precision
from scoring.metrics.samples import Definition, over_cases
from scoring.metrics.statistics import Estimate
from scoring.suite import SUITES, Suite
from wardround.analysis.notes import average_notes, roles_by_rule, said_by_rules
from wardround.analysis.rescoring import score_again
from wardround.commands.score.compared import cell
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, as_wrong_table
from wardround.config.command_line import parse_models
from wardround.config.experiment import judging_roles
from wardround.run.faults import PLUGIN_ERROR
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import RecordedRun
from wardround.store.rekeyed import RekeyedRun, run_to_score
from wardround.store.result import Result

_CASES = ("entered", "still_right", "unscored")  # unscored ones go on to the next stage
_CLAIMS = ("recall", "precision", "cases with a report")
RunDirectory = Annotated[Path, Argument(metavar="RUN", help="Run directory.")]
KeysOption = Annotated[
    Path | None,
    Option(metavar="FILE", help="Score by the corrected answer keys of this file, which holds the cases of the run."),
]


def rescoring_by(suite: Suite) -> Callable[..., Scores]:
    """Return a function that scores runs by a suite; no doctor is asked again."""

    def score(
        run: RunDirectory,
        mode: ModeOption = "sound",
        models: Annotated[
            list[str] | None,
            Option(
                metavar="ROLE=SPEC",
                help="Model for a judge (of medchain: diagnosis_judge=openai:gpt-4o), or for all (default=SPEC); "
                "may be repeated.",
            ),
        ] = None,
        cases: KeysOption = None,
    ) -> Scores:
        found = scores_of_run(run, suite.name, mode, parse_models(models or []), cases)
        note = ["Both modes are the same for this suite."] if mode == "paper" else []
        return replace(found, notes=[*found.notes, *note])

    columns = "; ".join(suite.titles.values())
    score.__doc__ = f"Score a run with suite {suite.name}.\n\nNo doctor is called again. Columns: {columns}."
    return score


def scores_of_run(
    path: Path, suite: str, mode: Definition, models: Mapping[str, str] | None = None, cases: Path | None = None
) -> Scores:
    """Score a run's recorded answers by a suite, with error propagation if the suite's columns are stages.

    With ``cases``, it is scored by the keys of this file of its cases.

    Raises:
        ConfigurationError: no run, its cases have changed, or the suite or ``cases`` do not fit.
        ModelSpecError: a judge's model cannot be used.
    """
    run = run_to_score(path, cases)
    results, summary = run_alone(score_again, run, models or {}, suite)
    metrics = {
        name: Estimate.model_validate(
            {**score, "interval": summary["intervals"][name], "narrow": name in summary["narrow"]}
        )
        for name, score in summary["scores"].items()
    }
    rows = [
        (each["stage"], *(str(each[count]) for count in _CASES), cell(each["accuracy"]["mean"]))
        for each in summary["error_propagation"]
    ]
    header = ("stage", *(count.replace("_", " ") for count in _CASES), "accuracy")
    tables = [ExtraTable("Error propagation (threshold 0.5)", header, rows)] if rows else []
    if mode == "sound" and "examination" in metrics and (found := _claim_precision(run, results)) is not None:
        claims = cell(metrics["examination"].mean), cell(found.mean), str(found.n)
        tables.append(ExtraTable("Claims of reports (precision is our addition, by rules)", _CLAIMS, [claims]))
    tables += as_wrong_table({name: Estimate.model_validate(each) for name, each in summary["failed_as_wrong"].items()})
    notes = [
        f"{name}: {count} not scored ({reason})"
        for name, reasons in summary["unscored"].items()
        for reason, count in reasons.items()
    ]
    notes += average_notes(SUITES[suite], [{name: each.n for name, each in metrics.items()}])
    key_notes, keys = keys_of(run)
    notes = [*key_notes, *notes]
    if failed := summary["failed"]:
        notes.insert(0, f"{failed} of {len(results)} results have no scores: their cases failed.")
    judges = {role: summary["models"][role] for role in judging_roles() if role in summary["models"]}
    if rules := roles_by_rule(judges):
        notes.append(said_by_rules("Judged", rules, languages=summary["languages"]))
    for role in models or {}:
        if role != "default" and role.rpartition(".")[2] not in judges:
            notes.append(f"--models {role}: asked nothing. Asked: {', '.join(judges) or 'no judge'}.")
    n = len({result.case_id for result in results})
    more = [f"{len(results)} results over all epochs"] if len(results) != n else []
    unjudged = [
        f"{result.case_id}: {reason}"
        for result in results
        for reason in result.unscored.values()
        if reason.startswith(JUDGE_FAILED)
    ]
    notes += [f"The first failure of a judge: case {one}" for one in unjudged[:1]]
    # Answers that the run has kept, so that the suite has failed now.
    unscored = [f"{one.case_id}: {one.error}" for one in results if one.termination == PLUGIN_ERROR and one.answers]
    notes += [f"The first failure of the suite: case {one}" for one in unscored[:1]]
    return Scores(suite, mode, n, metrics, tables, notes, failed=bool(unjudged or unscored), more=more, keys=keys)


def keys_of(run: RecordedRun | None) -> tuple[list[str], dict[str, Any]]:
    """Return a note on the keys by which a run is scored, and what they are, if they are those of another file."""
    return ([run.note], run.keys_told) if isinstance(run, RekeyedRun) else ([], {})


def _claim_precision(run: RecordedRun, results: Sequence[Result]) -> Estimate | None:
    """Return the share of claims in imaging reports that the references support; None if there were no reports."""
    found: list[tuple[str, float | None]] = []
    for result in results:
        if isinstance(result.answers, Answers):
            references = run.experiment.to_score(run.case_of(*result.key)).key.imaging_reports
            pairs = [(result.answers.reports.get(item, ""), text) for item, text in references.items()]
            found.append((result.case_id, claim_precision(pairs)))
    estimate = over_cases(found, (0.0, 1.0))
    return estimate if estimate.n else None
