"""Med-PMC's Tables 8 and 9, by ROUGE-1 and ROUGE-L."""

import re
from collections.abc import Mapping
from functools import partial

from scoring.medpmc.metrics import score_medpmc
from scoring.medpmc.transcripts import MedPmcTranscript, read_medpmc
from scoring.metrics.recall import RecallName
from wardround.reproduction.cells import Cell, Found, Printing, average_of, cells_of, found_by_metric
from wardround.reproduction.release import Release
from wardround.tables.published import published

# Both tables are of the standard patient; runs with an actor, or with patients of one sex, are other experiments.
_OTHERS = re.compile(r"actor|(?:^|[^a-z])(?:fe)?male|cot|shot", re.IGNORECASE)
_RECALLS: Mapping[str, RecallName] = {"Table 8, ROUGE-1": "rouge1", "Table 9, ROUGE-L": "rougeL"}


def doctors(release: Release) -> list[Cell]:
    """Compute the metrics of each doctor by either recall."""
    paper = published("medpmc")
    groups: dict[str, dict[str, MedPmcTranscript]] = {}
    for file, row in release.named_files(paper, lambda first: "Text" in first and "diagnosis_self" in first):
        if not _OTHERS.search(release.name_of(file)):
            release.add(groups.setdefault(row, {}), {one.id: one for one in read_medpmc(file).records}, row, file)
    *metrics, average = paper["columns"]
    printing = Printing(cut=True, halves=(average, "Diagnosis", "Treatment"))
    cells: list[Cell] = []
    for table, recall in _RECALLS.items():
        found: dict[str, dict[str, Found]] = {}
        for row, group in groups.items():
            score = partial(score_medpmc, release.counted(group), recall)
            own = found_by_metric(score, metrics, release.lacking(release.ids, group))
            found[row] = {**own, average: average_of([own["Diagnosis"], own["Treatment"]], own["Diagnosis"].n)}
        printed = {
            (row, name): value
            for row in paper["names"]
            for name, value in zip(paper["columns"], paper[table][row], strict=True)
        }
        cells += cells_of(table, printed, found, printing)
    release.notes.append(
        "Examination and the average of gathering depend on spaCy's entities and are not computed here."
    )
    return cells
