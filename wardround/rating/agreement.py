"""What people rated, how far they agree, and how far the runs' scores agree with them."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cases.grouping import grouped
from scoring.metrics.agreement import alpha, alpha_of_drawn, cohen_kappa
from scoring.metrics.correlation import spearman
from scoring.metrics.samples import mean, share
from scoring.metrics.statistics import estimate
from scoring.mvme.judges import ERROR_TYPES
from wardround.analysis.notes import few_cases_note
from wardround.printing import first_of
from wardround.rating.items import Key
from wardround.rating.marks import Mark, marks_of_runs
from wardround.rating.scales import Name, scale_of
from wardround.store.recorded_run import RecordedRun
from wardround.tables.ai_hospital import ERROR_TITLES, error_type
from wardround.tables.scores import failed_notes
from wardround.tables.table import P_VALUE, Column, Table, alike, key_columns, measured

_RESAMPLES, _SEED = 500, 20_240_607
_FEW_CASES = 10  # with fewer, the interval of alpha or kappa covers the truth too rarely (docs/statistics.md)

Rated = TypeVar("Rated")
Votes = Mapping[Key, Mapping[str, float]]  # for one question: by item, each rater's value
Answers = Mapping[Key, Mapping[str, float | str]]  # the same, or each rater's category


def tables_of(runs: Sequence[RecordedRun], scale: Name, marks: Sequence[Mark]) -> list[Table]:
    """Return the tables on a scale: means, agreement, correlation with scores, and the items to look at again."""
    votes = votes_of(runs, scale, marks)
    if scale == "misdiagnosis":  # categories, which have no mean
        named = names_of_types(votes)
        agreed = agreement_table(named, "agreement", "How far people agree", "by equality")
        tables = [sorted_by_people(runs, named), agreed, disagreements(named)]
    else:
        agreed = agreement_table(votes, "agreement", "How far people agree")
        tables = [_means(scale, votes, failed_notes(runs)), agreed]
        tables += [_beside_scores(runs, scale, votes), disagreements(votes)]
    return [table for table in tables if table.rows]


def votes_of(runs: Sequence[RecordedRun], scale: Name, marks: Sequence[Mark]) -> dict[str, dict[Key, dict[str, int]]]:
    """Return the ratings of runs on a scale, by question, item and rater."""
    return votes_by_question(scale, marks_of_runs(runs, marks)[0])


def votes_by_question(scale: Name, marks: Sequence[Mark]) -> dict[str, dict[Key, dict[str, int]]]:
    """Return the ratings on a scale by question (in the scale's order), item and rater."""
    by_question: dict[str, dict[Key, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for mark in marks:
        if mark.scale == scale:
            by_question[mark.question][mark.item][mark.rater] = mark.value
    asked = [question.key for question in scale_of(scale, "en").questions if question.key in by_question]
    return {key: by_question[key] for key in asked}


def people_of(scale: Name, votes: Mapping[str, Votes]) -> dict[str, dict[Key, float]]:
    """Return people's mean rating of each item by the matching score: the sum of its questions, if all are answered."""
    columns = grouped((question.column, question.key) for question in scale_of(scale, "en").questions)
    found: dict[str, dict[Key, float]] = defaultdict(dict)
    for column, questions in columns.items():
        for item in votes.get(questions[0], {}):
            votes_per_question = [votes.get(question, {}).get(item) for question in questions]
            if all(votes_per_question):
                found[column][item] = sum(sum(values.values()) / len(values) for values in votes_per_question if values)
    return found


def _means(scale: Name, votes: Mapping[str, Votes], failed: Sequence[str]) -> Table:
    rows = []
    ends = {each.key: (each.choices[0].value, each.choices[-1].value) for each in scale_of(scale, "en").questions}
    for question, by_item in votes.items():
        for run, against in dict.fromkeys(item[:2] for item in by_item):
            items = {item: values for item, values in by_item.items() if item[:2] == (run, against)}
            marks = sum(map(len, items.values()))
            means = [mean(values.values()) or 0.0 for values in items.values()]
            found = estimate(means, [case for _, _, case, _ in items], ends=ends[question])
            row = {"question": question, "run": run, "against": against, "items": len(items), "marks": marks}
            shares = {
                name: mean(share(mark == value for mark in values.values()) for values in items.values())
                for name, value in (("first", -1), ("tie", 0), ("second", 1))
            }
            rows.append({**row, **measured({"mark": found}), **(shares if against else {})})
    columns = key_columns("question", "run", *(["against"] if scale == "pairwise" else []))
    if scale == "pairwise":
        columns += alike({"first": "Run", "tie": "Tie", "second": "Against"}, "Share")
        notes = [
            "A mark is -1 if the run is better, 1 if the other run is better, and 0 if neither is.",
            "Shares and mean over items; for each item, over its raters.",
        ]
    else:
        notes = ["Mean over items; for each item, the mean over its raters."]
    columns += [Column("mark", "Mean", mean=True), Column("items", "Items"), Column("marks", "Marks")]
    by_rater = Counter(rater for by_item in votes.values() for values in by_item.values() for rater in values)
    who = f"Marks by rater: {', '.join(f'{rater} {count}' for rater, count in sorted(by_rater.items()))}."
    return Table("ratings", "People's ratings", columns, rows, [*notes, who, *failed])


def agreement_table(votes: Mapping[str, Answers], name: str, title: str, distance: str = "interval distance") -> Table:
    """Return Krippendorff's alpha over items with several raters, its interval over cases, and how often all agreed."""
    rows: list[dict[str, Any]] = []
    cases: dict[str, int] = {}
    for question, by_item in votes.items():
        shared = [values for values in by_item.values() if len(values) > 1]
        if not shared:
            continue
        by_case = grouped((item[2], values) for item, values in by_item.items() if len(values) > 1)
        alpha_of = alpha_of_drawn([by_case[case] for case in sorted(by_case)])
        low, high = resampled_interval(range(len(by_case)), alpha_of)
        cases |= {} if low is None else {question: len(by_case)}
        unanimous = share(len(set(values.values())) == 1 for values in shared)
        found = {"alpha": alpha(shared), "alpha_low": low, "alpha_high": high, "alike": unanimous}
        raters = {rater for values in shared for rater in values}
        rows.append({"question": question, **found, "raters": len(raters), "items": len(shared)})
    columns = [
        Column("question", "Question", key=True),
        Column("alpha", "Alpha"),
        *alike({"alpha_low": "From", "alpha_high": "To"}, "95 % interval"),
        *alike({"alike": "All agree", "raters": "Raters", "items": "Items"}),
    ]
    note = f"Krippendorff's alpha ({distance}) over items with two or more raters; percentile bootstrap over cases."
    return Table(name, title, columns, rows, [note, *narrow_notes(cases)])


def narrow_notes(cases: Mapping[str, int]) -> list[str]:
    """Warn of the resampled intervals, each with its number of cases, that rest on too few."""
    few = [name for name, number in cases.items() if number < _FEW_CASES]
    return [few_cases_note(few, _FEW_CASES)] if few else []


def resampled_interval(
    shared: Sequence[Rated], measure: Callable[[Sequence[Rated]], float | None]
) -> tuple[float, float] | tuple[None, None]:
    """Return a measure's 95 % interval by resampling items, which are drawn by their places: sort them by name.

    Without ends for a single item, and if over a tenth of the resamples give no value.
    """
    if len(shared) < 2:
        return None, None
    draw = random.Random(_SEED)
    resampled = (measure(draw.choices(shared, k=len(shared))) for _ in range(_RESAMPLES))
    found = sorted(value for value in resampled if value is not None)
    if len(found) < 0.9 * _RESAMPLES:
        return None, None
    return found[int(0.025 * len(found))], found[int(0.975 * len(found))]


def _beside_scores(runs: Sequence[RecordedRun], scale: Name, votes: Mapping[str, Votes]) -> Table:
    """Correlate people's mean rating with the run's own score of the same thing (ranks, over the cases of all runs)."""
    scores = {(run.name, "", *result.key): result.scores for run in runs for result in run.scored}
    rows = []
    for column, people_means in people_of(scale, votes).items():
        run_scores = {item: score for item in people_means if (score := scores.get(item, {}).get(column)) is not None}
        if len(run_scores) >= 3:
            found = spearman([(score, people_means[item]) for item, score in run_scores.items()])
            low, high = found.ci95 or (None, None)
            rows.append({"score": column, "rho": found.rho, "low": low, "high": high, "p": found.p, "n": found.n})
    columns = [
        Column("score", "Score", key=True),
        Column("rho", "Rho"),
        *alike({"low": "From", "high": "To"}, "95 % interval"),
        Column("p", "p", form=P_VALUE),
        Column("n", "Items"),
    ]
    notes = [
        "Spearman's correlation of people's mean rating with the score in the run, whichever judge or rule gave it.",
        *repeated_notes(item for by_item in votes.values() for item in by_item),
    ]
    return Table("beside_scores", "People's ratings compared with the runs' scores", columns, rows, notes)


def repeated_notes(items: Iterable[Key]) -> list[str]:
    """Warn of correlations over several answers to one case, from several runs or epochs."""
    answers = {*items}
    if len(answers) == len({case for _, _, case, _ in answers}):
        return []
    return [
        "Correlations take every answer as independent, also those of one case in several runs or epochs: their "
        "intervals are too narrow and their p too small. Compare them with those of a single run."
    ]


def disagreements(votes: Mapping[str, Answers]) -> Table:
    """Tabulate the items that people rated differently, the largest spread (of categories: most of them) first."""
    rows: list[dict[str, Any]] = []
    for question, by_item in votes.items():
        for (run, against, case_id, epoch), values in by_item.items():
            numbers = [value for value in values.values() if not isinstance(value, str)]
            if spread := max(numbers) - min(numbers) if numbers else len(set(values.values())) - 1:
                listed = ", ".join(f"{rater}: {value}" for rater, value in sorted(values.items()))
                labels = {"case": case_id, "epoch": epoch, "run": run, "against": against}
                rows.append({"apart": spread, "question": question, **labels, "said": listed})
    rows.sort(key=lambda row: -row["apart"])
    names = ("case", "question", "run", "against", "said")
    columns = key_columns(*(name for name in names if any(row[name] for row in rows)))
    return Table("disagreements", "Items on which people disagree most", [*columns, Column("apart", "Apart")], rows)


def left_out(runs: Sequence[RecordedRun], file: Path, marks: Sequence[Mark]) -> str:
    """Return a sentence on the ratings in a file that are left out; empty if there are none."""
    _, others = marks_of_runs(runs, marks)
    keys = {run.name: {result.key for result in run.results} for run in runs}
    foreign = [(name, mark.case_id, mark.epoch) for mark in others for name in (mark.run, mark.against) if name]
    names = dict.fromkeys(_what_lacks(name, case, epoch, keys.get(name)) for name, case, epoch in foreign)
    count = f"{len(others)} judgements are" if len(others) > 1 else "1 judgement is"
    return f"{file}: {count} of other runs or cases and left out ({first_of([*names])})" if others else ""


def _what_lacks(run: str, case: str, epoch: int, keys: Collection[tuple[str, int]] | None) -> str:
    """Name a rated run that is not here, or the case or epoch that it lacks."""
    if keys is None or (case, epoch) in keys:
        return run
    has_case = any(known == case for known, _ in keys)
    return f"{run}/{case}, epoch {epoch}, where the first is 0" if has_case else f"{run}/{case}"


QUESTION = "type"  # the scale's only question; its values number the types from 1


def names_of_types(votes: Mapping[str, Mapping[Key, Mapping[str, int]]]) -> dict[str, dict[Key, dict[str, str]]]:
    """Return the votes with the names of the types for their numbers, which have no order."""
    return {
        question: {
            item: {rater: ERROR_TYPES[value - 1] for rater, value in values.items()} for item, values in by_item.items()
        }
        for question, by_item in votes.items()
    }


def sorted_by_people(runs: Sequence[RecordedRun], votes: Mapping[str, Mapping[Key, Mapping[str, str]]]) -> Table:
    """Tabulate each person's counts by type, and the judge's of the same reports; kappa is between person and judge.

    Reports that a person has classified and the judge has not count for the person only.
    """
    by_item = votes.get(QUESTION, {})
    judged = {
        (run.name, "", *result.key): error_type(run, result) for run in runs for result in run.scored
        if (run.name, "", *result.key) in by_item
    }  # fmt: skip
    raters = sorted({rater for values in by_item.values() for rater in values})
    rows: list[dict[str, Any]] = []
    for run in runs:
        rated = {item: values for item, values in by_item.items() if item[0] == run.name}
        for rater in raters:
            types = {item: values[rater] for item, values in rated.items() if rater in values}
            pairs = [(one, other) for item, one in types.items() if (other := judged.get(item))]
            counts, agreed = Counter(types.values()), mean(float(one == other) for one, other in pairs)
            row: dict[str, Any] = {"run": run.name, "who": rater, **{name: counts[name] for name in ERROR_TYPES}}
            rows += [{**row, "alike": agreed, "kappa": cohen_kappa(pairs), "both": len(pairs)}] if types else []
        if rated:
            counts = Counter(found for item in rated if (found := judged.get(item)))
            rows.append({"run": run.name, "who": "(the judge)", **{name: counts[name] for name in ERROR_TYPES}})
    columns = [
        *key_columns("run", "who"),
        *alike(ERROR_TITLES, "Number"),
        *alike({"alike": "Same", "kappa": "Cohen's kappa", "both": "Sorted by both"}, "With the judge", form=".3f"),
    ]
    note = "Reports whose diagnosis is graded D and that people have rated."
    return Table("misdiagnoses", "Types of wrong diagnoses according to people", columns, rows, [note])
