"""The scores of runs side by side, as in Table 2 of AI Hospital and Tables 2 to 4 of MedChain."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cases.grouping import grouped
from scoring.case_scores import Suite
from scoring.floors import DIALOGUE_FLOORS, answerable
from scoring.metrics.statistics import INTERVALS, Estimate
from wardround.analysis.floors import FILE, KINDS, OFFLINE, Floors, floors_of
from wardround.analysis.notes import FAILED_AS_WRONG, average_notes, repeating_notes, roles_by_rule, said_by_rules
from wardround.analysis.paired import differences, p_with_failures, spare_columns, unlike
from wardround.analysis.summary import count_repeating, count_unscored, languages_of
from wardround.config.experiment import judging_roles
from wardround.store.recorded_run import RecordedRun
from wardround.tables.figures import draw_scores
from wardround.tables.table import Column, Table, key_columns, measured

_BY_RULES = "The floors and the ceiling are judged by rules, even if a model judged the runs."
AS_WRONG = ", failed as wrong"
_FINE = 3.0  # width of a scale up to which two decimals are too few


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build a table for each suite that scored any of the runs."""
    suites = {run.suite.name: run.suite for run in runs}
    return [
        _suite_table(
            [run for run in runs if run.suite.name == name], suite, "scores" if len(suites) == 1 else f"scores-{name}"
        )
        for name, suite in suites.items()
    ]


def _suite_table(runs: Sequence[RecordedRun], suite: Suite, name: str) -> Table:
    # For each run, the p value of every score's paired difference to the first run, Holm-corrected over all.
    found = differences(runs) if len(runs) > 1 else []
    tested: list[dict[str, float | None]] = [{}, *({name: one.p_holm for name, one in each.items()} for each in found)]
    if found and any(run.failed_as_wrong for run in runs):
        # What is marked must differ both over the cases that both scored and with failed cases as wrong.
        for each, with_failures in zip(tested[1:], p_with_failures(runs), strict=True):
            each |= {name: max(p, with_failures[name] or p) for name, p in each.items() if p is not None}
    rows: list[dict[str, Any]] = []
    bounds: dict[int, int] = {}
    for place, run in enumerate(runs):
        counts = {"scored": len(run.scored), "failed": run.failed}
        p_values = {"p": tested[place]} if found else {}
        rows.append({"run": run.name, **measured(run.estimates, **p_values), **counts})
        if bound := run.failed_as_wrong:
            bounds[len(rows) - 1] = len(rows)
            rows.append({"run": f"{run.name}{AS_WRONG}", **measured(bound), **counts})
    floor_rows, floor_texts = _floor_rows(runs, suite)
    caption, notes = f"Scores by {suite.name}: mean and 95 % interval.", [*_notes(runs, suite), *floor_texts]
    unranked = [*bounds.values(), *range(len(rows), len(rows) + len(floor_rows))]
    left_out = spare_columns(runs)
    columns = [column for column in _columns(suite) if column.name not in left_out]
    return Table(
        name, f"Scores ({suite.name})", columns, [*rows, *floor_rows], notes, caption, unranked, bounds,
        pictures={name: draw_scores},
    )  # fmt: skip


def means_of(run: RecordedRun) -> Iterator[tuple[str, dict[str, Estimate]]]:
    """Yield the means of a run by its name, and with failed cases as wrong if any failed."""
    yield run.name, run.estimates
    if run.failed_as_wrong:
        yield f"{run.name}{AS_WRONG}", run.failed_as_wrong


def floors_table(floors: Floors, suite: Suite) -> Table:
    """Return the floors and the ceiling of a set of cases as a table."""
    rows = [{"run": name, **_floor_row(scores)} for name, scores in floors.items()]
    texts = [*(f"{name}: {KINDS[name]}." for name in floors), _BY_RULES, *missing_floors(floors, suite)]
    notes = [*suite.explained, *texts]
    columns = [column for column in _columns(suite) if column.name != "failed"]
    return Table("floors", f"Floor and ceiling ({suite.name})", columns, rows, notes, beside=range(len(rows)))


def _columns(suite: Suite) -> list[Column]:
    form = score_form(suite)
    scores = [
        Column(score, title, form=form, mean=True, ranked=score not in suite.unranked, ends=suite.ends_of(score))
        for score, title in suite.titles.items()
    ]
    return [*key_columns("run"), *scores, Column("scored", "Scored"), Column("failed", "Failed")]


def _floor_rows(runs: Sequence[RecordedRun], suite: Suite) -> tuple[list[dict[str, Any]], list[str]]:
    """Return floor and ceiling rows for each set of cases of the runs, and notes on them."""
    runs_by_data = grouped((run.manifest["data"]["fingerprint"], run) for run in runs)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for same_data in runs_by_data.values():
        found, why = floors_of(next((run for run in same_data if (run.path / FILE).is_file()), same_data[0]))
        note_place = "" if len(runs_by_data) == 1 else f", cases of {same_data[0].name}"
        rows += [{"run": f"[{name}]{note_place}", **_floor_row(scores)} for name, scores in found.items()]
        notes += [why] if why else missing_floors(found, suite) if found else []
        if found and OFFLINE not in found:
            notes.append(f"Run `wardround floors {same_data[0].path}` to add the offline baseline.")
    return rows, [*floor_notes({str(row["run"]).partition("]")[0][1:] for row in rows}), *notes]


def missing_floors(floors: Floors, suite: Suite) -> list[str]:
    """Describe which floors cannot be computed, or not for all metrics, and why."""
    if not answerable(suite):
        return [] if DIALOGUE_FLOORS.keys() & floors else ["No floors from answer keys: a key has no dialogue."]
    no_constant = "No constant answer: no other case is in the train split; `wardround cases split` makes one."
    lacking = [no_constant] * ("constant" not in floors)
    if own := ", ".join(metric.title for metric in suite.own_metrics if "report" in suite.needs):
        lacking.append(f"Answers made from keys are reports alone: if {own} reads the dialogue, it finds none in them.")
    return lacking


def _floor_row(scores: Mapping[str, Estimate]) -> dict[str, Any]:
    return {**measured(scores), "scored": max((one.n for one in scores.values()), default=0)}


def floor_notes(names: Collection[str]) -> list[str]:
    """Explain the floors in a note."""
    described = "; ".join(f"{name}: {what}" for name, what in KINDS.items() if name in names)
    return [f"In brackets: {described}. {_BY_RULES}"] if described else []


def score_form(suite: Suite) -> str:
    """Return the number format of a suite's scores: three decimals in [0, 1] and for grades of 1 to 4, otherwise two.

    AI Hospital prints its grades so (Table 2), whose intervals are less than 0.1 wide to either side.
    """
    ends = suite.ends if isinstance(suite.ends, tuple) else None
    return ".3f" if suite.averaged or (ends and ends[1] - ends[0] <= _FINE) else ".2f"


def _notes(runs: Sequence[RecordedRun], suite: Suite) -> list[str]:
    notes = suite.explained
    used = {found.interval for run in runs for found in run.estimates.values()}
    notes.append(f"Intervals: {'; '.join(words for how, words in INTERVALS.items() if how in used) or 'none'}.")
    if len(runs) > 1:
        own = suite.of_unknown_direction
        with_bounds = ", both also with failed cases as wrong" * any(run.failed_as_wrong for run in runs)
        unmarked = f" ({', '.join(suite.metrics[name].title for name in own)}: unmarked, as lower may be better)"
        notes.append(
            f"Bold: highest; underlined: second highest of three or more{with_bounds}{unmarked * bool(own)}. "
            f"*, **: differs from {runs[0].name} with p < 0.05, p < 0.01 "
            "(paired permutation test over the cases that both have, Holm-corrected over the columns of all runs"
            f"{', the larger of p without and with failed cases as wrong' * any(run.failed_as_wrong for run in runs)})."
        )
    if any(run.failed_as_wrong for run in runs):
        notes.append(FAILED_AS_WRONG)
    notes += unscored_notes(runs, suite)
    notes += average_notes(suite, [{name: found.n for name, found in run.estimates.items()} for run in runs])
    if suite.lengths and any({"zh"} < {*languages_of(run.results)} for run in runs):
        titles = ", ".join(suite.titles[name] for name in suite.lengths)
        notes.append(f"{titles}: of words and characters together, as there are Chinese cases and others.")
    for run in runs:
        where = f" in {run.name}" * (len(runs) > 1)
        notes += repeating_notes(count_repeating(run.results), where)
    return [*notes, *(f"Stars: {note}" for note in unlike(runs)), *offline_notes(runs)]


def unscored_notes(runs: Sequence[RecordedRun], suite: Suite) -> list[str]:
    """Describe where a run lacks a value for a column, or for some of its cases, most frequent reason first.

    Runs and columns with the same reason share a note.
    """
    left_out = spare_columns(runs) if runs else ()
    sharing: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for name, reasons in count_unscored(run.scored, suite).items():
            if name in left_out:
                continue
            why = "; ".join(sorted(reasons, key=lambda reason: -reasons[reason]))
            share = f"{sum(reasons.values())} of {len(run.scored)} " if run.estimates[name].n else ""
            sharing.setdefault((suite.titles[name], f"{share}not scored{{}} ({why})."), []).append(run.name)
    titles_by_note: dict[tuple[str, str], list[str]] = {}
    for (title, note), names in sharing.items():
        where = "" if len(names) == len(runs) else f" in {', '.join(names)}"
        titles_by_note.setdefault((note, where), []).append(title)
    return [f"{', '.join(titles)}: {note.format(where)}" for (note, where), titles in titles_by_note.items()]


def epoch_notes(runs: Sequence[RecordedRun]) -> list[str]:
    """Explain how epochs count, if a run has several."""
    if all(run.experiment.epochs == 1 for run in runs):
        return []
    return ["Each epoch of a case counts; intervals and tests treat all epochs of a case as one unit."]


def failed_notes(runs: Iterable[RecordedRun]) -> list[str]:
    """Return how many cases of each run failed, and so are in no score; those refused for their sex are in no bound."""
    return [
        f"{run.name}: {run.failed} of {len(run.results)} {what} failed, and are not scored"
        f"{f'; {refused} of these, refused for their sex, count in no bound' * bool(refused)}."
        for run in runs
        for what in ["cases" if run.experiment.epochs == 1 else "results"]
        for refused in [sum(result.refused for result in run.results)]
        if run.failed
    ]


def unfinished_notes(runs: Sequence[RecordedRun]) -> list[str]:
    """Describe which runs have cases left."""
    return [
        f"{run.name} is not finished: {len(run.results)} of {run.planned} cases so far."
        for run in runs
        if len(run.results) < run.planned
    ]


def offline_notes(runs: Sequence[RecordedRun]) -> list[str]:
    """Describe which roles were rules and not models; those that were so in all runs that have them share a note."""
    notes = _by_rules(runs, "Answered", {role for run in runs for role in run.offline_roles})
    modes = {run.experiment.workflow.get("doctor_mode", "direct") for run in runs if "doctor" in run.offline_roles}
    return [*notes, *["Rules have no thoughts, so the doctor's modes do not differ offline."] * (len(modes) > 1)]


def judge_notes(runs: Sequence[RecordedRun]) -> list[str]:
    """Describe which judges were rules and not models."""
    return _by_rules(runs, "Judged", set(judging_roles()))


def _by_rules(runs: Sequence[RecordedRun], what: str, among: Collection[str]) -> list[str]:
    """Describe which of these roles rules played, and where; those that they played in the same runs share a note."""
    places_of = grouped(
        ((role, label), place)
        for place, run in enumerate(runs)
        for role, names in run.models.items()
        if role in among
        for label in roles_by_rule({role: names})
    )
    played = grouped((_where(runs, role, places), (label, places)) for (role, label), places in places_of.items())
    notes = []
    for where, shared in played.items():
        places = {place for _, each in shared for place in each}
        languages = languages_of(result for place in places for result in runs[place].results)
        notes.append(said_by_rules(what, [label for label, _ in shared], where, languages))
    return notes


def _where(runs: Sequence[RecordedRun], role: str, places: Sequence[int]) -> str:
    """Put into words which of the runs that have a role are meant, by the shorter list; empty if all are."""
    named = [runs[place].name for place in places]
    others = [run.name for place, run in enumerate(runs) if role in run.models and place not in places]
    if not others:
        return ""
    return f" in all but {', '.join(others)}" if len(others) < len(named) else f" in {', '.join(named)}"
