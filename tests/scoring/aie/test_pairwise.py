from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm import AnswerError, ModelSettings
from scoring.aie import pairwise
from scoring.aie.pairwise import ASPECTS, Consultation, Duel, compare, length_bias, position_bias, tally
from tests.scoring.transcripts_of_ours import aie, turn

GOOD = Consultation.of(
    aie(
        "A man coughs. He smokes.",
        turn("O", "Hello", "I cough."),
        turn("A-A-A", "I am sorry to hear that. Do you smoke?", "He smokes."),
        turn("B-A-A", "Please have an X-ray?", "ok"),
        diagnosis="A",
    ),
    "en",
)
POOR = Consultation.of(
    aie("A man coughs. He smokes.", turn("O", "Speak at once of all dyspnea that you have got"), diagnosis="B"), "en"
)


@pytest.mark.parametrize("chosen", ["A", "a", "(A)", "A. Flu", "Answer: A", "**A**", "flu", "选A"])
def test_a_judge_reads_the_option_however_its_letter_is_written(chosen: str) -> None:
    assert Consultation.of(aie("x", diagnosis=chosen), "en").diagnosis == "Flu"
    assert Consultation.of(aie("x", diagnosis="Some virus"), "en").diagnosis == "Some virus"


def duel(straight: str, swapped: str, longer: Any = "one") -> Duel:
    return Duel({"total": straight}, {"total": swapped}, longer)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("straight", "swapped", "outcome"),
    [
        ("first", "second", "one"),
        ("second", "first", "other"),
        ("first", "first", "tie"),
        ("tie", "first", "tie"),
        ("tie", "tie", "tie"),
    ],
)
def test_disagreement_between_the_two_orders_is_a_tie(straight: str, swapped: str, outcome: str) -> None:
    assert duel(straight, swapped).outcome("total") == outcome


def test_ties_and_failures_are_counted_apart() -> None:
    duels = [duel("first", "second"), duel("first", "second"), duel("second", "first"), duel("tie", "tie")]
    assert tally([*duels, Duel({}, {}, "one", "no answer")], "total") == (2, 1, 1, 1)


def test_a_judge_who_always_takes_the_first_is_found_out() -> None:
    biased = position_bias([duel("first", "first")] * 5, "total")
    assert (biased.share, biased.n) == (1, 10) and (biased.p or 1) < 0.01
    fair = position_bias([duel("first", "second"), duel("tie", "tie")], "total")
    assert (fair.share, fair.n, fair.p) == (0.5, 2, 1)
    assert position_bias([], "total") == (None, 0, None)


def test_length_bias_counts_decided_duels_only() -> None:
    duels = [duel("first", "second"), duel("second", "first"), duel("first", "first"), duel("first", "second", "tie")]
    assert length_bias(with_cases(duels), "total")[:2] == (0.5, 2)
    assert length_bias([], "total") == (None, 0, None)


def test_a_length_that_wins_each_epoch_of_few_cases_is_no_bias_shown_many_times() -> None:
    """Five cases, in ten epochs each: 50 duels won by the longer one were p < 0.001."""
    longer_wins, shorter_wins = duel("first", "second"), duel("second", "first")
    of_five = [(f"c{number}/epoch{epoch}", longer_wins) for number in range(5) for epoch in range(10)]
    assert length_bias(of_five, "total") == (1.0, 50, 2 / 32)
    of_fifty = [*with_cases([longer_wins] * 45), *with_cases([shorter_wins] * 5, start=45)]
    assert (length_bias(of_fifty, "total").p or 1) < 0.001


def with_cases(duels: Sequence[Duel], start: int = 0) -> list[tuple[str, Duel]]:
    """Give each duel a case of its own."""
    return [(f"c{number}", one) for number, one in enumerate(duels, start)]


@pytest.mark.parametrize("view", ["doctor", "patient"])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_offline_judge_prefers_the_better_one_in_either_place(view: Any, language: Any) -> None:
    asked: dict[str, Any] = {"language": language, "record": "A man coughs. He smokes.", "answer": "Flu", "place": "1"}
    here = await compare(view, GOOD, POOR, ModelSettings(), **asked)
    there = await compare(view, POOR, GOOD, ModelSettings(), **asked)
    assert {aspect: here.outcome(aspect) for aspect in ASPECTS[view]} == dict.fromkeys(ASPECTS[view], "one")
    assert {aspect: there.outcome(aspect) for aspect in ASPECTS[view]} == dict.fromkeys(ASPECTS[view], "other")
    assert here.longer == "one" and there.longer == "other"
    same = await compare(view, GOOD, GOOD, ModelSettings(), **asked)
    assert {same.outcome(aspect) for aspect in ASPECTS[view]} == {"tie"} and same.longer == "tie"


async def test_a_judge_that_fails_leaves_no_outcome_but_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(*_: Any, **__: Any) -> Any:
        raise AnswerError("no preference")

    monkeypatch.setattr(pairwise, "ask", ask)
    failed = await compare("doctor", GOOD, POOR, ModelSettings(), language="en")
    assert failed.failure == "unparseable_answer: no preference" and failed.outcome("total") is None
    assert position_bias([failed], "total").n == length_bias([("c", failed)], "total").n == 0


CHOICE = st.sampled_from(["first", "second", "tie"])


@given(st.lists(st.tuples(CHOICE, CHOICE), max_size=10))
def test_every_duel_is_counted_once_and_swapping_sides_swaps_the_outcome(pairs: list[tuple[str, str]]) -> None:
    duels = [duel(*pair) for pair in pairs]
    counted = tally(duels, "total")
    assert sum(counted) == len(duels)
    turned = tally([duel(swapped, straight) for straight, swapped in pairs], "total")
    assert (turned.won, turned.lost, turned.tied) == (counted.lost, counted.won, counted.tied)


async def test_once_each_pair_is_judged_in_one_order_which_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Consultation] = []

    async def first_wins(role: Any, view: Any, *_: object, **__: object) -> Any:
        shown.append(view.first)
        return pairwise.DoctorPreferences(**dict.fromkeys(ASPECTS["doctor"], "first"))

    monkeypatch.setattr(pairwise, "ask", first_wins)
    others = [replace(POOR, text=f"{POOR.text} {number}") for number in range(20)]
    duels = [await compare("doctor", GOOD, other, ModelSettings(), language="en", once=True) for other in others]
    assert len(shown) == 20 and 4 <= shown.count(GOOD) <= 16
    assert [one.outcome("total") for one in duels] == ["one" if first == GOOD else "other" for first in shown]
    assert position_bias(duels, "total")[:2] == (1.0, 20)
    turned = [await compare("doctor", other, GOOD, ModelSettings(), language="en", once=True) for other in others]
    opposite = {"one": "other", "other": "one"}
    assert [opposite[one.outcome("total") or ""] for one in turned] == [one.outcome("total") for one in duels]


async def test_a_doctor_who_says_nothing_is_preferred_in_nothing() -> None:
    silent = Consultation.of(aie("A man coughs.", turn("O", ""), diagnosis=None), "en")
    for view in ASPECTS:
        duel_with = await compare(view, silent, GOOD, ModelSettings(), language="en", record="He smokes.", answer="Flu")
        assert "one" not in {duel_with.outcome(aspect) for aspect in ASPECTS[view]}
