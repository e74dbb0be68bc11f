"""Who stands first, who says more, and who says the same to everybody: what judges and metrics make of it."""

from typing import Any

import pytest

from llm import ModelSettings
from scoring.aie import pairwise
from scoring.aie.metrics import score_aie
from scoring.aie.pairwise import ASPECTS, Consultation, Duel, PairView, View, compare, length_bias, position_bias
from tests.scoring.attacks.test_nonsense_dialogue import nonsense
from tests.scoring.transcripts_of_ours import aie, turn

RECORD = "A man has had a cough for 3 days. He smokes."
SAID = (
    turn("O", "Hello, how can I help?", "I have had a cough for 3 days."),
    turn("A-A-A", "I am sorry to hear that. Do you smoke?", "Yes, I smoke."),
)
HONEST = Consultation.of(aie(RECORD, *SAID), "en")
PADDED = Consultation.of(aie(RECORD, *SAID, *[turn("D", nonsense(60), "What?")] * 20), "en")
VIEWS: tuple[View, ...] = ("doctor", "patient")


async def duel(one: Consultation, other: Consultation, view: View = "doctor") -> Duel:
    return await compare(view, one, other, ModelSettings(), language="en", record=RECORD, answer="Flu")


def judging(monkeypatch: pytest.MonkeyPatch, prefers_first: Any) -> None:
    """A judge that goes by this alone."""

    async def ask(role: Any, view: PairView, settings: Any, **_: Any) -> Any:
        preference = "first" if prefers_first(view) else "second"
        return role.answer.model_validate(dict.fromkeys(role.answer.model_fields, preference))

    monkeypatch.setattr(pairwise, "ask", ask)


async def test_a_judge_that_takes_the_first_lets_nobody_win_and_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    judging(monkeypatch, lambda view: True)
    found = [await duel(HONEST, PADDED) for _ in range(5)]
    assert {one.outcome(aspect) for one in found for aspect in ASPECTS["doctor"]} == {"tie"}
    assert position_bias(found, "total").share == 1 and (position_bias(found, "total").p or 1) < 0.01


async def test_a_judge_that_takes_the_longer_is_found_out_in_either_place(monkeypatch: pytest.MonkeyPatch) -> None:
    judging(monkeypatch, lambda view: len(view.first.text) > len(view.second.text))
    found = [await duel(HONEST, PADDED) for _ in range(5)] + [await duel(PADDED, HONEST) for _ in range(5)]
    length = length_bias([(str(case), one) for case, one in enumerate(found)], "total")
    assert length.share == 1 and (length.p or 1) < 0.01
    assert position_bias(found, "total").share == 0.5


@pytest.mark.parametrize("view", VIEWS)
async def test_by_rules_nobody_wins_by_saying_more_nor_against_the_same_dialogue(view: View) -> None:
    assert (await duel(PADDED, HONEST, view)).outcome("total") != "one"
    same = await duel(HONEST, HONEST, view)
    assert {same.outcome(aspect) for aspect in ASPECTS[view]} == {"tie"}


def test_one_dialogue_for_every_case_is_as_distinct_and_finds_out_little() -> None:
    records = [RECORD, "A woman with a rash on both hands since spring; she works as a hairdresser.", "A boy fell."]
    found = score_aie([aie(record, *SAID, id=number) for number, record in enumerate(records)])
    own, *others = (sample.value for sample in found["COVERAGE"])
    assert len({sample.value for sample in found["DISTINCT"]}) == 1 and max(others) < 0.6 * own
