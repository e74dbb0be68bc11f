"""Ordered examinations, physical and auxiliary separately (as MedChain reports task 2 in appendix C)."""

from collections.abc import Iterator, Sequence

from cases.vocabulary import AUXILIARY_ITEMS, EXAMINATION_ITEMS, PHYSICAL_ITEMS
from scoring.medchain.answers import Answers
from scoring.metrics.samples import over_cases
from scoring.metrics.set_overlap import canonical_items, intersection_over_union
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import SPREAD, Column, Table, measured

_PARTS = {
    "both": ("History-taking", EXAMINATION_ITEMS),
    "physical": ("Physical", PHYSICAL_ITEMS),
    "auxiliary": ("Auxiliary", AUXILIARY_ITEMS),
}


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the overlap (IoU) of orders with the key: of all, as history-taking is scored, and of each part."""
    rows = []
    for run in runs:
        found = list(_overlaps(run))
        scores = {part: over_cases([(case, one.get(part)) for case, one in found], (0.0, 1.0)) for part in _PARTS}
        if any(one.n for one in scores.values()):
            unscored = {f"{part}_unscored": len(found) - one.n for part, one in scores.items()}
            rows.append({"run": run.name, "cases": len(found), **measured(scores), **unscored})
    columns = [
        Column("run", "Run", key=True),
        Column("cases", "Cases"),
        *(Column(part, title, form=".3f", mean=True, ranked=True) for part, (title, _) in _PARTS.items()),
        *(Column(f"{part}_unscored", title, group="Unscored") for part, (title, _) in _PARTS.items()),
    ]
    notes = [
        "Overlap (IoU) of the ordered items with those of the key; unscored if the key has no item of that part.",
        "An item outside both lists counts as wrong in both. The published average includes only history-taking.",
        f"{SPREAD}.",
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
