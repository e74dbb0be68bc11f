"""What must hold of replies, marks and discussions whatever their order, and of better answers beside worse ones."""

from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import load_cases
from scoring.aie.simulator import score_simulator
from scoring.aie.simulator_set import Played, SimulatorItem, as_tests, read_items, shipped_files
from scoring.mvme.consensus import ENDS, Discussion, share_in_consensus, share_of_end
from scoring.mvme.replies import QUESTIONS, Marks, agreement, human_scores, settle
from scoring.mvme.reply_judges import judge_consistency_offline, judge_relevance_offline, reply_view

CASES = {case.id: case for case in load_cases("builtin")}
ITEMS = [item for file in shipped_files() for item in read_items(file).records if len(item.expected) > 1]
KEYS = st.tuples(st.sampled_from("rs"), st.sampled_from("abc"), st.just("0"), st.sampled_from("123"))
MARKS = st.dictionaries(KEYS, st.fixed_dictionaries(dict.fromkeys(QUESTIONS, st.booleans())), max_size=9)


def wide(text: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) if sign.isascii() and sign.isalnum() else sign for sign in text)


def scores(items: list[SimulatorItem], replies: list[str]) -> tuple[float, float, float]:
    """The accuracy of replies, and how many the rules find relevant and consistent."""
    played = [Played(item=item, action="", reply=reply) for item, reply in zip(items, replies, strict=True)]
    views = [reply_view(one, CASES[one.item.case_id]) for one in played]
    return (
        fmean(sample.value for sample in score_simulator(as_tests(played, CASES))["ACCURACY"]),
        fmean(judge_relevance_offline(view).relevant for view in views),
        fmean(judge_consistency_offline(view).consistent for view in views),
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_due_is_best_half_of_it_less_anothers_little_and_silence_nothing(language: str) -> None:
    items = [item for item in ITEMS if item.language == language and item.action.startswith("Effective")][::8]
    whole = scores(items, [" ".join(item.expected) for item in items])
    half = scores(items, [item.expected[0] for item in items])
    others = scores(items, [" ".join(item.expected) for item in (*items[1:], items[0])])
    silent = scores(items, [""] * len(items))
    assert whole == (100.0, 1.0, 1.0)
    assert whole[0] > half[0] > others[0] > silent[0] == 0.0 and half[1] > others[1] >= silent[1] == 0.0
    for typed in (wide, str.upper, lambda text: f" {text}\r\n", lambda text: f"{text} {text}"):
        assert scores(items, [typed(" ".join(item.expected)) for item in items]) == whole


@given(MARKS, MARKS, MARKS, st.randoms())
def test_the_first_two_annotators_may_be_exchanged_and_rounds_come_in_any_order(
    first: Marks, second: Marks, third: Marks, random: Random
) -> None:
    final, undecided = settle(first, second, third)
    keys = random.sample(list(first), len(first))
    swapped = settle(second, {key: first[key] for key in keys}, third)
    assert (swapped[0], sorted(swapped[1])) == (final, sorted(undecided))
    assert {name: sorted(each) for name, each in agreement(first, second).items()} == {
        name: sorted(each) for name, each in agreement(second, first).items()
    }
    assert all(sample.value in (0.0, 100.0) for each in human_scores(final).values() for sample in each)


@given(st.lists(st.builds(Discussion, st.integers(0, 4), st.sampled_from(ENDS[:2])), min_size=1), st.integers(0, 4))
def test_discussions_told_twice_are_as_often_in_consensus_and_ends_add_up_to_all(
    found: list[Discussion], number: int
) -> None:
    assert share_in_consensus([*found, *found], number).mean == pytest.approx(share_in_consensus(found, number).mean)
    assert sum(share_of_end(found, end).mean or 0.0 for end in ENDS) == pytest.approx(1.0)
    worse = [*found, Discussion(4, "gave_up")]
    assert (share_in_consensus(worse, number).mean or 0.0) <= (share_in_consensus(found, number).mean or 0.0)
