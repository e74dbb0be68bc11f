"""Our labelled test set for the state-aware patient: doctor's turns for the built-in cases, with their actions.

The method is AIE's (section 2.2.1); the items are ours, in ``scoring/aie/simulator_items``. Offline rules may be
developed on the ``development`` part (every other case); the ``check`` part is held out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field

from cases import Case
from cases.problems import Problem
from cases.text.record_sentences import facts_of
from cases.vocabulary import Language
from nodes.patients.saps.state_tracker import Action
from nodes.state.chart import Turn
from scoring.aie.simulator import replies, tracking
from scoring.aie.transcripts import CODES, SimulatorTest
from scoring.metrics.samples import Sample
from scoring.records import ForeignModel, Reading, read_records

Part = Literal["development", "check"]


class SimulatorItem(ForeignModel):
    """One test: the dialogue so far, the doctor's turn, and the facts that it entitles the doctor to."""

    id: str = Field(min_length=1)
    case_id: str
    language: Language
    part: Part
    dialogue: list[Turn] = Field(description="What was said before; empty for the doctor's first words.")
    doctor: str = Field(min_length=1, description="What the doctor says now.")
    action: Action
    expected: list[str] = Field(description="Sentences of the record that may and should be released.")


@dataclass(frozen=True)
class Played:
    """A simulator's response to an item."""

    item: SimulatorItem  # the item
    action: str  # the tracked action; empty if it tracks none
    reply: str  # empty if it said nothing
    plain: str = ""  # the words before the persona changed them; empty without a persona


def shipped_files() -> list[Path]:
    """Return the files of our own set."""
    return sorted(Path(str(files("scoring.aie") / "simulator_items")).glob("*.jsonl"))


def read_items(path: str | Path) -> Reading[SimulatorItem]:
    """Read a file of items; problems name file, record and field."""
    return read_records(path, SimulatorItem)


def misfits(items: Iterable[SimulatorItem], cases: Mapping[str, Case]) -> list[Problem]:
    """Return the items that do not fit their cases: unknown case, other language, or an expected fact not on record."""
    problems = []
    for item in items:
        case = cases.get(item.case_id)
        if case is None:
            problems.append(Problem("", item.id, "case_id", f"there is no case {item.case_id!r}"))
            continue
        if case.language != item.language:
            problems.append(Problem("", item.id, "language", f"the case is in {case.language!r}"))
        known = {fact.text for fact in facts_of(case)}
        problems += [
            Problem("", item.id, "expected", f"not a sentence of the record: {text!r}")
            for text in item.expected
            if text not in known
        ]
    return problems


def as_tests(played: Sequence[Played], cases: Mapping[str, Case]) -> list[SimulatorTest]:
    """Convert replies to AIE's test format, one test per case, for the metrics of ``scoring.aie.simulator``."""
    by_case: dict[str, dict[str, dict[str, dict[str, str | None]]]] = {}
    for one in played:
        code = CODES[one.item.action]
        by_case.setdefault(one.item.case_id, {})[one.item.id] = {
            code: {
                "human_state": code,
                "human_answer": " ".join(one.item.expected),
                "question": one.item.doctor,
                "state_prediction": CODES.get(one.action),
                "prediction": one.reply,
            }
        }
    return [
        SimulatorTest.model_validate(
            {"id": case_id, "raw_data": {"question": record_of(cases[case_id])}, "patient_test": found}
        )
        for case_id, found in by_case.items()
    ]


def tracking_by_part(played: Sequence[Played], cases: Mapping[str, Case]) -> dict[str, list[Sample]]:
    """Return action accuracy, in percent, by part of the set and language, and for all but the first turns.

    A first turn is always an initialization, so it says nothing about the tracker.
    """
    groups: dict[str, list[Played]] = {"TRACKING after the first turn": [one for one in played if one.item.dialogue]}
    for one in played:
        groups.setdefault(f"TRACKING {one.item.part}", []).append(one)
        groups.setdefault(f"TRACKING {one.item.part} {one.item.language}", []).append(one)
    return {
        name: [
            Sample(reply.test, 100 * right)
            for reply in replies(as_tests(group, cases))
            if (right := tracking(reply)) is not None
        ]
        for name, group in sorted(groups.items())
    }


def record_of(case: Case) -> str:
    """Return the record as one text, against which tests are measured."""
    return " ".join(fact.text for fact in facts_of(case))
