from collections import Counter
from typing import get_args

import pytest

from cases import load_cases
from nodes.patients.saps.state_tracker import Action
from scoring.aie.simulator import confusion, score_simulator
from scoring.aie.simulator_set import (
    Played,
    SimulatorItem,
    as_tests,
    misfits,
    read_items,
    shipped_files,
    tracking_by_part,
)
from scoring.aie.transcripts import CODES

CASES = {case.id: case for case in load_cases()}
ITEMS = [item for file in shipped_files() for item in read_items(file).records]


def test_the_set_has_forty_items_or_more_of_each_action_half_of_them_in_each_language() -> None:
    counts = Counter((item.action, item.language) for item in ITEMS)
    assert len(ITEMS) >= 400
    for action in get_args(Action):
        assert counts[action, "en"] == counts[action, "zh"] >= 20


def test_every_file_can_be_read_and_every_item_fits_its_case() -> None:
    assert [problem for file in shipped_files() for problem in read_items(file).problems] == []
    assert misfits(ITEMS, CASES) == []


def test_no_two_items_have_the_same_name_or_the_same_words() -> None:
    assert len({item.id for item in ITEMS}) == len(ITEMS)
    assert len({item.doctor for item in ITEMS}) == len(ITEMS)


def test_a_case_is_in_one_part_only() -> None:
    parts = {(item.case_id, item.part) for item in ITEMS}
    assert len(parts) == len({item.case_id for item in ITEMS})


def test_facts_are_expected_of_telling_actions_only_and_only_the_first_words_have_no_dialogue_before() -> None:
    for item in ITEMS:
        assert bool(item.expected) == (item.action in ("Initialization", "Effective Inquiry", "Effective Advice"))
        assert bool(item.dialogue) == (item.action != "Initialization")


@pytest.mark.parametrize(
    ("change", "field"),
    [({"case_id": "nobody"}, "case_id"), ({"language": "zh"}, "language"), ({"expected": ["He is ill."]}, "expected")],
)
def test_an_item_that_does_not_fit_its_case_is_named(change: dict[str, object], field: str) -> None:
    english = next(item for item in ITEMS if item.language == "en")
    [problem] = misfits([english.model_copy(update=change)], CASES)
    assert (problem.record, problem.field) == (english.id, field)


def played(item: SimulatorItem, action: str, reply: str) -> Played:
    return Played(item=item, action=action, reply=reply)


def test_replies_are_scored_as_those_of_a_test_file_silence_included() -> None:
    by_action = {item.action: item for item in ITEMS if item.case_id == "surgery-01"}
    told = by_action["Effective Inquiry"]
    replies = [
        played(told, "Effective Inquiry", " ".join(told.expected)),
        played(by_action["Demand"], "Effective Inquiry", "Yes."),
        played(by_action["Conclusion"], "Conclusion", ""),
    ]
    tests = as_tests(replies, CASES)
    samples = score_simulator(tests)
    assert [sample.value for sample in samples["ACCURACY"]] == [100.0]
    assert [sample.value for sample in samples["FOCUS"]] == [0.0]
    assert [sample.value for sample in samples["TRACKING"]] == [100.0, 0.0, 100.0]
    assert confusion(tests)[CODES["Demand"]] == Counter({CODES["Effective Inquiry"]: 1})


def test_tracking_is_told_by_part_and_language_and_without_first_turns() -> None:
    first, second = (next(item for item in ITEMS if item.action == action) for action in ("Initialization", "Demand"))
    samples = tracking_by_part([played(first, "Initialization", "x"), played(second, "Other Topic", "x")], CASES)
    assert {name: [sample.value for sample in found] for name, found in samples.items()} == {
        "TRACKING after the first turn": [0.0],
        f"TRACKING {first.part}": [100.0, 0.0],
        f"TRACKING {first.part} {first.language}": [100.0, 0.0],
    }
