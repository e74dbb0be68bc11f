"""What doctors gather of each kind of information, round by round (Med-PMC, section 5.2 and Figure 4)."""

from collections.abc import Sequence
from typing import Any

from scoring.medpmc.rounds import Gathered, Shares, curves
from scoring.metrics.comparison import spearman
from scoring.metrics.samples import EPOCH, over_cases
from wardround.analysis.transcripts import read_transcripts
from wardround.config.experiment import ConfigurationError
from wardround.store.recorded_run import RecordedRun
from wardround.tables.figures import draw_information
from wardround.tables.table import Column, Table, measured

KINDS = {"general": "General", "examination": "Examination", "image": "Images"}
assert tuple(KINDS) == Gathered._fields[1:]
_INFO, _GATHERED = "Info", "Avg. (gathering)"


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the share of each kind of information known after each round, a row per run and round.

    All runs have as many rounds as the longest dialogue: a finished one keeps its last values.
    """
    found: dict[str, dict[str, list[Shares]]] = {}
    for run in runs:
        try:
            found[run.name] = curves(read_transcripts(run.path, "medpmc").records)
        except ConfigurationError:
            continue
    longest = max((len(curve) for curves_by_case in found.values() for curve in curves_by_case.values()), default=0)
    rows: list[dict[str, Any]] = []
    for name, curves_by_case in found.items():
        cases = [case.partition(EPOCH)[0] for case in curves_by_case]
        for round_index in range(longest if curves_by_case else 0):
            shares = [curve[min(round_index, len(curve) - 1)] for curve in curves_by_case.values()]
            kinds = dict(zip(KINDS, zip(*shares, strict=True), strict=True))
            means = {kind: over_cases(zip(cases, values, strict=True), (0.0, 1.0)) for kind, values in kinds.items()}
            rows.append({"run": name, "round": round_index + 1, **measured(means)})
    columns = [
        Column("run", "Run", key=True),
        Column("round", "Round"),
        *(Column(kind, title, form=".3f", mean=True, ends=(0.0, 1.0)) for kind, title in KINDS.items()),
    ]
    notes = [
        "Share of the information known after each round: ROUGE-1 recall of the record in everything told so far; for "
        "images, the share handed over (no value if no case has a picture that may be handed over). A consultation "
        "that has ended keeps its last values; the paper averages only over consultations that continue.",
        *_correlation_note(runs),
    ]
    title, pictures = "Information gathered by round", {"information": draw_information}
    return [Table("information", title, columns, rows, notes, "Information by round.", pictures=pictures)]


def _correlation_note(runs: Sequence[RecordedRun]) -> list[str]:
    """Describe the correlation, over runs, between what a reply tells and what is gathered in the end (Figure 4b)."""
    pairs = [
        (run.estimates[_INFO].mean, run.estimates[_GATHERED].mean)
        for run in runs
        if {_INFO, _GATHERED} <= run.estimates.keys()
    ]
    known = [(info, gathered) for info, gathered in pairs if info is not None and gathered is not None]
    found = spearman(known)
    if found.rho is None:
        return []
    return [f"Correlation of Info with the average of gathering over {found.n} runs: Spearman's rho {found.rho:.2f}."]
