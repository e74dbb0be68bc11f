"""What a result says of the way its case ended, on which a resumed run and the tables rely."""

import pytest

from scoring.case_scores import JUDGE_FAILED
from tests.support.recorded_runs import call
from wardround.store.result import Result


def ended(termination: str, **fields: object) -> Result:
    """Return the result of a case that ended so."""
    return Result.model_validate({"case_id": "a", "epoch": 0, "termination": termination, **fields})


@pytest.mark.parametrize(
    ("termination", "scored", "limited", "limited_by_run", "final"),
    [
        ("completed", True, False, False, True),
        ("token_limit", True, True, False, True),
        ("run_token_limit", True, True, True, False),
        ("run_lost", False, False, False, False),
        ("unparseable_answer", False, False, False, True),
    ],
)
def test_a_case_that_a_limit_of_the_whole_run_stopped_is_scored_and_run_again(
    termination: str, scored: bool, limited: bool, limited_by_run: bool, final: bool
) -> None:
    one = ended(termination)
    assert (one.scored, one.limited, one.limited_by_run, one.final) == (scored, limited, limited_by_run, final)


FOR_GOOD, UNREACHABLE = f"{JUDGE_FAILED}: unparseable_answer: none", f"{JUDGE_FAILED}: model_error: gone"


@pytest.mark.parametrize(
    ("termination", "unscored", "kept", "kept_if_failed_ones_are_tried_again"),
    [
        ("completed", {}, True, True),
        ("completed", {"diagnosis": "no reference in the key"}, True, True),
        ("completed", {"diagnosis": FOR_GOOD}, True, False),
        ("completed", {"diagnosis": UNREACHABLE}, False, False),
        ("unparseable_answer", {}, True, False),
        ("model_error", {}, False, False),
        ("token_limit", {}, True, True),
        ("run_token_limit", {}, False, False),
    ],
)
def test_a_resumed_run_keeps_what_running_again_would_not_change_and_of_that_no_failure_if_asked(
    termination: str, unscored: dict[str, str], kept: bool, kept_if_failed_ones_are_tried_again: bool
) -> None:
    one = ended(termination, unscored=unscored)
    assert one.is_kept(retry_failed=False) is kept
    assert one.is_kept(retry_failed=True) is kept_if_failed_ones_are_tried_again


def test_calls_are_missing_where_fewer_questions_to_models_are_recorded_than_were_asked() -> None:
    asked, by_rule = [call(), call("doctor/turn2")], call("patient/turn1", "patient", model="offline")
    counted = ended("completed", calls=2, uncounted=0)
    assert not counted.misses_of([*asked, by_rule]) and counted.misses_of([asked[0], by_rule])
    older = ended("completed", calls=3)  # of a version that counted what rules answered
    assert not older.misses_of([*asked, by_rule]) and older.misses_of(asked)
