import itertools

from scoring.medpmc.information import information_by_round
from tests.scoring.transcripts_of_ours import MEDPMC_HISTORY, TEXT, medpmc, turn


def test_information_grows_by_kind_and_round_and_is_kept_after_the_end() -> None:
    long = medpmc(*MEDPMC_HISTORY)
    short = medpmc(turn("0", "Hello", " ".join(TEXT.values())), id=2, Image={})
    rows = information_by_round([long, short])
    assert [row.round for row in rows] == [1, 2, 3, 4]
    assert [row.image for row in rows] == [0, 0, 0.5, 0.5]
    for earlier, later in itertools.pairwise(rows):
        assert (later.general or 0) >= (earlier.general or 0) and (later.examination or 0) >= (earlier.examination or 0)
    assert information_by_round([short])[0][1:] == (1, 1, None)
    assert information_by_round([]) == information_by_round([medpmc()]) == []
    again = short.model_copy(update={"id": long.id})
    assert information_by_round([long, again]) == rows, "of a case with two consultations both count"
