from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.mvme.consensus import (
    ENDS,
    Discussion,
    discussion,
    ended_at,
    share_ended_at,
    share_in_consensus,
    share_of_end,
)
from scoring.mvme.transcripts import Collaboration, Critique, read_collaborations
from tests.scoring.ai_hospital_files import COLLABORATIONS, released


def collaboration(final_turn: int, agreed: bool | None = None, *critiques: str) -> Collaboration:
    said = [Critique(turn=turn, host_critique=critique) for turn, critique in enumerate(critiques)]
    return Collaboration(
        patient_id="1", diagnosis="", final_turn=final_turn, agreed=agreed, diagnosis_in_discussion=said
    )


@pytest.mark.parametrize(
    ("record", "end"),
    [
        (collaboration(0), "agreed"),
        (collaboration(3), "agreed"),
        (collaboration(4), "unknown"),
        (collaboration(4, True), "agreed"),
        (collaboration(4, False), "gave_up"),
        (collaboration(4, None, "(1) x", "#结束#"), "agreed"),
        (collaboration(4, None, "(1) x", "(1) y"), "gave_up"),
    ],
)
def test_only_at_the_limit_can_doctors_have_given_up(record: Collaboration, end: str) -> None:
    assert discussion(record) == Discussion(record.final_turn, end)


def test_how_a_record_says_it_ended_counts_before_the_round_and_the_directors_last_word() -> None:
    assert discussion(collaboration(2, False)).end == "gave_up", "the run may have allowed two rounds"
    assert discussion(collaboration(4, True, "(1) x")).end == "agreed"


def test_more_rounds_than_allowed_are_a_fault() -> None:
    with pytest.raises(ValueError, match="at most 4"):
        discussion(collaboration(5))


def test_what_a_record_does_not_tell_is_not_counted_as_giving_up() -> None:
    found = [discussion(collaboration(turn)) for turn in (0, 1, 4)]
    assert share_of_end(found, "gave_up").mean is None and share_of_end(found, "agreed").mean is None
    assert share_of_end(found, "unknown").mean == pytest.approx(1 / 3)
    assert share_in_consensus(found, 3).mean == pytest.approx(2 / 3)
    assert share_in_consensus(found, 4).mean is None
    known = [*found[:2], discussion(collaboration(4, False)), discussion(collaboration(4, True))]
    assert [share_in_consensus(known, number).mean for number in (0, 1, 3, 4)] == [0.25, 0.5, 0.5, 0.75]
    low, high = share_of_end(known[:2], "agreed").ci95 or (0, 0)
    assert 0 < low < high == 1, "two of two that agreed are no certainty"


@pytest.mark.slow
@given(st.lists(st.builds(Discussion, st.integers(0, 4), st.sampled_from(ENDS)), max_size=12), st.randoms())
def test_shares_ignore_the_order_and_consensus_only_grows(found: list[Discussion], random: Random) -> None:
    shares = [share_in_consensus(found, number).mean for number in range(5)]
    known = [share for share in shares if share is not None]
    assert known == sorted(known) and all(0 <= share <= 1 for share in known)
    assert sum(ended_at(found).values()) == len(found)
    random.shuffle(found)
    assert [share_in_consensus(found, number).mean for number in range(5)] == shares


@released
def test_the_released_run_ends_in_the_published_rounds() -> None:
    found = [discussion(one) for one in read_collaborations(COLLABORATIONS).records]
    assert ended_at(found) == {0: 124, 1: 206, 2: 101, 3: 21, 4: 54}
    assert share_ended_at(found, 4).mean == pytest.approx(54 / 506)
    assert share_in_consensus(found, 3).mean == pytest.approx(452 / 506)
