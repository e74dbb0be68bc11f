"""MedChain's tables: errors passed on (Figure 1), growth of the memory (B.1), orders (C), and the cases (Figure 5)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from cases import Case
from cases.vocabulary import AUXILIARY_ITEMS, EXAMINATION_ITEMS, PHYSICAL_ITEMS
from scoring.case_scores import AVERAGE
from scoring.medchain.answers import Answers
from scoring.metrics.samples import over_cases
from scoring.metrics.set_overlap import canonical_items, intersection_over_union
from scoring.metrics.statistics import estimate
from wardround.analysis.paired import paired_scores, unlike
from wardround.analysis.summary import propagation
from wardround.config.selection import select_cases
from wardround.store.recorded_run import RecordedRun
from wardround.tables.figures import draw_case_counts, draw_error_propagation, draw_learning_curve
from wardround.tables.table import Column, DoesNotFitError, Table, alike, key_columns, measured

THRESHOLD = 0.5


def build_error_propagation(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the cases still right after each stage, and each stage's accuracy if all earlier ones were right."""
    rows = [
        {
            "run": run.name,
            "stage": run.suite.titles[passage.stage],
            **passage.model_dump(include={"entered", "unscored", "still_right"}),
            **measured({"accuracy": passage.accuracy}),
        }
        for run in runs
        for passage in (propagation(run.scored, run.suite) if run.scored else ())
    ]
    columns = [
        *key_columns("run", "stage"),
        *alike({"entered": "Right before", "unscored": "Of these, unscored", "still_right": "Still right"}),
        Column("accuracy", "Accuracy if right before", form=".3f", mean=True),
    ]
    notes = [
        f"A stage is right if its department is right or its score is at least {THRESHOLD}. "
        "A case without a score at a stage continues, but is not counted as still right there.",
    ]
    caption = "Cases still right after each stage, and the accuracy of each stage where all earlier ones were right."
    name, pictures = "error_propagation", {"error_propagation": draw_error_propagation}
    return [Table(name, "Error propagation", columns, rows, notes, caption, pictures=pictures)]


BLOCKS = 5  # of equal size, in the order of the run


def build_learning_curve(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the mean of each fifth of the cases, and its gain over the first run on the same cases.

    As cases are not equally hard, only the gain shows the effect of growth.

    Raises:
        DoesNotFitError: a run has no average, or fewer cases than blocks.
    """
    averages = {run.name: _averages(run) for run in runs}
    if too_short := next((name for name, found in averages.items() if len(found) < BLOCKS), None):
        raise DoesNotFitError(f"{too_short} has fewer than {BLOCKS} cases with an average (suite medchain)")
    rows = []
    for run in runs:
        ours, first = paired_scores(run.scored, runs[0].scored, run.suite, own_averages=True)[AVERAGE]
        order = list(averages[run.name].items())
        for block in range(BLOCKS):
            start, end = (len(order) * fifth // BLOCKS for fifth in (block, block + 1))
            part = order[start:end]
            gains = [ours[case_id][0] - first[case_id][0] for case_id, _ in part if case_id in first]
            found = {"average": over_cases(part, (0.0, 1.0)), "gain": estimate(gains, differences=True)}
            rows.append({"run": run.name, "block": block + 1, "cases": f"{start + 1}-{end}", **measured(found)})
    columns = [
        *key_columns("run"),
        Column("block", "Block"),
        Column("cases", "Cases"),
        Column("average", "Average", form=".3f", mean=True),
        Column("gain", f"Above {runs[0].name}", form="+.3f", mean=True),
    ]
    notes = [
        "Blocks: fifths of the cases with an average, in the order of the run; failed cases are left out. Gain: over "
        f"{runs[0].name}, on the same cases and columns.",
        *unlike(runs),
    ]
    caption = "Average score over the course of a run, and its gain over the first run on the same cases."
    pictures = {"learning_curve": draw_learning_curve}
    return [Table("learning_curve", "Learning curve", columns, rows, notes, caption, pictures=pictures)]


def _averages(run: RecordedRun) -> dict[str, float]:
    """Return the average of each case over its epochs, in the order of the run."""
    found, _ = paired_scores(run.scored, run.scored, run.suite, own_averages=True).get(AVERAGE, ({}, {}))
    ids = [case.id for case in select_cases(run.experiment.data)]
    return {case_id: found[case_id][0] for case_id in ids if case_id in found}


_PARTS = {
    "both": ("History-taking", EXAMINATION_ITEMS),
    "physical": ("Physical", PHYSICAL_ITEMS),
    "auxiliary": ("Auxiliary", AUXILIARY_ITEMS),
}


def build_orders(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the overlap (IoU) of orders with the key: of all, as history-taking is scored, and of each part."""
    rows = []
    for run in runs:
        found = list(_overlaps(run))
        scores = {part: over_cases([(case, one.get(part)) for case, one in found], (0.0, 1.0)) for part in _PARTS}
        if any(one.n for one in scores.values()):
            unscored = {f"{part}_unscored": len(found) - one.n for part, one in scores.items()}
            rows.append({"run": run.name, "cases": len(found), **measured(scores), **unscored})
    columns = [
        *key_columns("run"),
        Column("cases", "Cases"),
        *(Column(part, title, form=".3f", mean=True, ranked=True) for part, (title, _) in _PARTS.items()),
        *(Column(f"{part}_unscored", title, group="Unscored") for part, (title, _) in _PARTS.items()),
    ]
    notes = [
        "Overlap (IoU) of the ordered items with those of the key; unscored if the key has no item of that part.",
        "An item outside both lists counts as wrong in both. The published average includes only history-taking.",
    ]
    title, caption = "Physical and auxiliary examinations ordered", "Overlap of ordered examinations."
    return [Table("orders", title, columns, rows, notes, caption)]


def _overlaps(run: RecordedRun) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the overlaps of each scored case by part, without parts that are empty in its key."""
    for result in run.each_answered():
        if not (result.scored and isinstance(result.answers, Answers)):
            continue
        key = run.experiment.to_score(run.cases[result.case_id]).key
        ordered = canonical_items(result.answers.orders, EXAMINATION_ITEMS)
        unknown = {item for item in ordered if EXAMINATION_ITEMS.canonical(item) is None}
        found = {}
        for part, (_, items) in _PARTS.items():
            ordered_part = {item for item in ordered if items.canonical(item)} | unknown
            key_part = {item for item in key.examination_items if items.canonical(item)}
            if (overlap := intersection_over_union(ordered_part, key_part)) is not None:
                found[part] = overlap
        yield result.case_id, found


NOT_RECORDED = "not recorded"
CASE_KINDS: dict[str, Callable[[Case], Iterable[str]]] = {
    "Department": lambda case: [case.key.department or NOT_RECORDED],
    "Second level": lambda case: case.key.sub_departments or [NOT_RECORDED],
    "Physical examination": lambda case: [item for item in case.key.examination_items if item in PHYSICAL_ITEMS.names],
    "Auxiliary examination": lambda case: [
        item for item in case.key.examination_items if item in AUXILIARY_ITEMS.names
    ],
    "Image class": lambda case: {image.item for image in case.examinations.images} | case.key.imaging_reports.keys(),
    "Treatment": lambda case: case.key.treatment_items,
}


def case_counts(cases: Sequence[Case]) -> Table:
    """Return the names of each kind by frequency: the number of cases that have it, and their share in percent."""
    rows = []
    for kind, names_in in CASE_KINDS.items():
        counts = Counter(name for case in cases for name in dict.fromkeys(names_in(case)))
        rows += [
            {"kind": kind, "name": name, "cases": count, "share": 100 * count / len(cases)}
            for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        ]
    columns = [
        Column("kind", "", key=True),
        Column("name", "Name", key=True),
        Column("cases", "Cases"),
        Column("share", "% of cases", form=".1f"),
    ]
    notes = ["Examinations and treatments are the answer key's; a case may have several of a kind."]
    title, pictures = f"How {len(cases)} cases are distributed", {"case_counts": draw_case_counts}
    return Table("case_counts", title, columns, rows, notes, "Distribution of cases.", pictures=pictures)
