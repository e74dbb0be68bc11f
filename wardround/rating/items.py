"""Items to rate: a consultation, or two with the same patient, without a hint of the run that each is from."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from cases import Case
from cases.notes import Note, note_of
from cases.vocabulary import label, labels
from scoring.consultation import reference_parts
from scoring.mvme.grades import LOWEST, SCORES
from wardround.config.experiment import ConfigurationError
from wardround.rating.scales import Name
from wardround.report.case_sections import pairs_of
from wardround.report.course import dialogue_of
from wardround.store.recorded_run import RecordedRun

Key = tuple[str, str, str, int]  # run, the other run of a pair (or empty), case, epoch


@dataclass(frozen=True)
class Shown:
    """One consultation as raters see it: the dialogue by speaker, and the parts of the report by name."""

    dialogue: Sequence[tuple[str, str]]
    report: dict[str, str]


@dataclass(frozen=True)
class Item:
    """What is rated at once."""

    key: Key  # its identity; never shown
    case: Case | Note  # its case, or the note that its dialogue was written from
    consultations: tuple[Shown, ...]  # one, or both of a pair in the order of the key
    run_ids: tuple[str, ...] = ()  # of the runs in the key, whatever their directories are called; never shown

    @property
    def note(self) -> Note:
        """What is known of the patient."""
        return note_of(self.case) if isinstance(self.case, Case) else self.case

    @property
    def key_parts(self) -> dict[str, str]:
        """The answer key, by part."""
        if isinstance(self.case, Note):
            return {"diagnosis": "\n".join(self.case.diseases)}
        parts = reference_parts(self.case)
        listed = "\n".join(labels(self.case.key.treatment_items, self.case.language))
        return {"diagnosis": parts.diagnosis, "basis": parts.basis, "treatment": parts.treatment or listed}

    @property
    def pictures(self) -> list[tuple[str, Path]]:
        """The case's pictures: the examination and the file of each."""
        if isinstance(self.case, Note):
            return []
        case = self.case
        return [(label(one.item, case.language), Path(case.folder) / one.file) for one in case.examinations.images]

    def stands_turned(self, rater: str) -> bool:
        """Whether a rater sees the second of a pair first: a fair coin, fixed by rater and item."""
        return len(self.consultations) == 2 and _hash(rater, self.key, "side") % 2 == 1


def items_of(runs: Sequence[RecordedRun], scale: Name) -> list[Item]:
    """Return all items to rate: each finished case of each run, or of each pair of runs.

    Raises:
        ConfigurationError: the runs have nothing to rate on this scale, or their cases have changed.
        CaseFileError: a case file cannot be read.
    """
    shown = [(run, dict(_shown_results(run, scale))) for run in runs]
    items = []
    if scale == "pairwise":
        if len({run.path.resolve() for run in runs}) < max(2, len(runs)):
            raise ConfigurationError("--scale pairwise: name at least two different runs of the same cases")
        for (one, ours), (other, theirs) in combinations(shown, 2):
            for place in ours.keys() & theirs.keys():
                key, pair = (one.name, other.name, *place), (ours[place], theirs[place])
                items.append(Item(key, one.item_of(*place), pair, (one.id, other.id)))
    else:
        for run, ours in shown:
            items += [Item((run.name, "", *at), run.item_of(*at), (each,), (run.id,)) for at, each in ours.items()]
    if not items:
        lacking = {"misdiagnosis": "diagnosis graded D (suite mvme)"}.get(scale, "dialogue or report to judge")
        if scale == "pairwise" and all(ours for _, ours in shown):
            lacking = "case that two of the runs share"
        raise ConfigurationError(f"--scale {scale}: {', '.join(run.name for run in runs)}: no {lacking}")
    return sorted(items, key=lambda item: item.key)


def order_for(rater: str, items: Sequence[Item]) -> list[Item]:
    """Return the items in the rater's own order, the same at every visit."""
    return sorted(items, key=lambda item: _hash(rater, item.key, "order"))


def _shown_results(run: RecordedRun, scale: Name) -> Iterator[tuple[tuple[str, int], Shown]]:
    for result in run.each_answered():
        is_misdiagnosis = run.suite.name == "mvme" and result.scores.get("diagnosis") == SCORES[LOWEST]
        if result.answers is not None and result.scored and (is_misdiagnosis or scale != "misdiagnosis"):
            case = run.item_of(*result.key)
            parts = pairs_of(result.answers, case if isinstance(case, Case) else None, case.language)
            dialogue = [(utterance.speaker, utterance.text) for utterance in dialogue_of(run, result)]
            shown = Shown(dialogue, {part: given for part, (given, _) in parts.items()})
            if shown.dialogue or any(shown.report.values()):
                yield result.key, shown


def _hash(rater: str, key: Key, what: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(map(str, (what, rater, *key))).encode()).digest()[:8], "big")
