"""What people judge: a consultation, or two with one patient, without a word on which run it is from."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from cases import Case
from scoring.mvme.grades import LOWEST, SCORES
from wardround.config.experiment import ConfigurationError
from wardround.rating.scales import Name
from wardround.report.case_sections import pairs_of
from wardround.report.course import dialogue_of
from wardround.store.recorded_run import RecordedRun

Key = tuple[str, str, str, int]  # run, the other run of a pair or nothing, case, epoch


@dataclass(frozen=True)
class Shown:
    """One consultation as people see it: who said what, and the parts of the report by their names."""

    dialogue: Sequence[tuple[str, str]]
    report: dict[str, str]


@dataclass(frozen=True)
class Item:
    """What is judged at once."""

    key: Key  # what it is; never shown
    case: Case  # its case
    consultations: tuple[Shown, ...]  # one, or two of a pair in the order of the key

    def stands_turned(self, rater: str) -> bool:
        """Whether a rater sees the second of a pair first: a fair coin, the same each time."""
        return len(self.consultations) == 2 and _drawn(rater, self.key, "side") % 2 == 1


def items_of(runs: Sequence[RecordedRun], scale: Name) -> list[Item]:
    """All that is to be judged: each finished case of each run, or of each two runs.

    Raises:
        ConfigurationError: the runs hold nothing that this scale can judge, or their cases have changed.
        CaseFileError: a case file cannot be read.
    """
    found = [dict(_shown(run, scale)) for run in runs]
    items = []
    if scale == "pairwise":
        if len({run.path.resolve() for run in runs}) < max(2, len(runs)):
            raise ConfigurationError("--scale pairwise: name two runs or more, each once, of the same cases")
        for one, other in combinations(range(len(runs)), 2):
            for place in found[one].keys() & found[other].keys():
                key = (runs[one].name, runs[other].name, *place)
                items.append(Item(key, runs[one].cases[place[0]], (found[one][place], found[other][place])))
    else:
        for run, shown in zip(runs, found, strict=True):
            items += [Item((run.name, "", *place), run.cases[place[0]], (one,)) for place, one in shown.items()]
    if not items:
        lacking = {"misdiagnosis": "diagnosis graded D (suite mvme)"}.get(scale, "dialogue or report to judge")
        if scale == "pairwise" and all(found):
            lacking = "case that two of them have"
        raise ConfigurationError(f"--scale {scale}: {', '.join(run.name for run in runs)}: no {lacking}")
    return sorted(items, key=lambda item: item.key)


def order_for(rater: str, items: Sequence[Item]) -> list[Item]:
    """The items in an order of the rater's own, the same at every visit."""
    return sorted(items, key=lambda item: _drawn(rater, item.key, "order"))


def _shown(run: RecordedRun, scale: Name) -> Iterator[tuple[tuple[str, int], Shown]]:
    for result in run.each_answered():
        wrong = run.suite.name == "mvme" and result.scores.get("diagnosis") == SCORES[LOWEST]
        if result.answers is not None and result.scored and (wrong or scale != "misdiagnosis"):
            parts = pairs_of(result.answers, run.cases[result.case_id])
            shown = Shown(
                [(said.speaker, said.text) for said in dialogue_of(run, result)],
                {part: given for part, (given, _) in parts.items()},
            )
            if shown.dialogue or any(shown.report.values()):
                yield result.key, shown


def _drawn(rater: str, key: Key, what: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(map(str, (what, rater, *key))).encode()).digest()[:8], "big")
