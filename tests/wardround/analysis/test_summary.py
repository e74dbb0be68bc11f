"""The summary of a run and the table that is printed at its end."""

import random
from typing import Any

import pytest
from rich.console import Console

from scoring.suite import SUITES
from wardround.analysis.summary import most_frequent_failures, summarise_results
from wardround.commands.summary_table import summary_table
from wardround.store.result import Result

SUITE = SUITES["medchain"]
TITLES = SUITE.titles
STAGE_NAMES = list(SUITE.published)


def scored(case_id: str, value: float = 1.0, missing: dict[str, str] | None = None, **fields: Any) -> Result:
    missing = missing or {}
    scores = {stage: None if stage in missing else value for stage in STAGE_NAMES}
    return Result.model_validate(
        {"case_id": case_id, "epoch": 0, "termination": "completed", "scores": scores, "unscored": missing, "cost": 0.0}
        | fields
    )


def failed(case_id: str, termination: str = "model_error", **fields: Any) -> Result:
    return Result.model_validate({"case_id": case_id, "epoch": 0, "termination": termination, "error": "x"} | fields)


def printed(summary: dict[str, Any], width: int = 120) -> str:
    console = Console(width=width, record=True, file=None, quiet=False)
    with console.capture() as capture:
        console.print(summary_table(summary, SUITE))
    return capture.get()


def test_attempted_is_scored_and_failed() -> None:
    summary = summarise_results([scored("a"), failed("b"), failed("c", "unparseable_answer"), scored("d")], SUITE)
    assert (summary["attempted"], summary["scored"], summary["failed"]) == (4, 2, 2)
    assert summary["terminations"] == {"completed": 2, "model_error": 1, "unparseable_answer": 1}


def test_a_summary_has_the_stable_keys() -> None:
    summary = summarise_results([scored("a")], SUITE)
    assert {"attempted", "scored", "failed", "scores", "tokens", "cost", "seconds", "models"} <= summary.keys()
    assert list(summary["scores"]) == [*STAGE_NAMES, "average"]
    assert set(summary["scores"]["average"]) == {"mean", "se", "ci95", "n"}


def test_the_average_of_the_published_columns_is_the_published_one() -> None:
    """MedChain, table 2, MedChain-Agent: 0.5269."""
    columns = dict(zip(STAGE_NAMES, (0.5873, 0.3505, 0.5836, 0.6566, 0.5218, 0.4613), strict=True))
    published = scored("a", scores=columns)
    assert summarise_results([published], SUITE)["scores"]["average"]["mean"] == pytest.approx(0.5269, abs=1e-4)


def test_a_failed_case_lowers_no_score() -> None:
    summary = summarise_results([scored("a", 0.5), failed("b")], SUITE)
    assert summary["scores"]["diagnosis"]["mean"] == 0.5 and summary["scores"]["diagnosis"]["n"] == 1


def test_what_failed_counts_as_wrong_beside_the_mean_over_what_was_scored() -> None:
    results = [
        scored("a", 0.5),
        scored("b", 0.5, missing={"diagnosis": "judge failed: model_error: x", "examination": "no reference"}),
        failed("c"),
        failed("d"),
    ]
    summary = summarise_results(results, SUITE)
    bound = summary["failed_as_wrong"]
    assert summary["scores"]["diagnosis"]["mean"] == 0.5
    assert bound["diagnosis"]["mean"] == 0.125 and bound["diagnosis"]["n"] == 4
    assert bound["examination"]["n"] == 3 and bound["treatment"]["mean"] == 0.25
    assert bound["average"]["mean"] == pytest.approx((0.125 + 0.5 / 3 + 4 * 0.25) / 6)
    assert "0.1250" in printed(summary) and "Failed as wrong" in printed(summary)
    refused = Result(case_id="e", epoch=0, termination="sex_bound", error="pregnant")  # put before nobody
    unfailing = summarise_results([results[0], refused], SUITE)
    assert unfailing["failed_as_wrong"] == {} and "ailed as wrong" not in printed(unfailing)


def test_what_failed_counts_as_wrong_only_where_its_key_has_a_reference() -> None:
    missing = dict.fromkeys((name for name in STAGE_NAMES if name != "diagnosis"), "no reference in the answer key")
    alike = summarise_results([scored("a", 0.5, missing), failed("b"), failed("c")], SUITE)["failed_as_wrong"]
    assert set(alike) == {"diagnosis", "average"} and alike["average"]["mean"] == alike["diagnosis"]["mean"] == 0.5 / 3
    mixed = summarise_results([scored("a", 0.5), failed("b", unscored=missing)], SUITE)["failed_as_wrong"]
    assert (mixed["diagnosis"]["n"], mixed["treatment"]["n"]) == (2, 1) and mixed["treatment"]["mean"] == 0.5
    nothing = summarise_results([failed("a"), failed("b")], SUITE)["failed_as_wrong"]
    assert nothing["treatment"]["mean"] == 0.0 and nothing["treatment"]["n"] == 2


def test_that_cases_count_once_an_epoch_is_said_with_their_number() -> None:
    summary = summarise_results([scored("a"), scored("a", epoch=1), failed("b"), failed("b", epoch=1)], SUITE)
    assert (summary["attempted"], summary["cases"]) == (4, 2)
    assert "4 cases attempted (2 cases, each epoch counted): 2 scored, 2 failed." in printed(summary)
    assert "epochs" not in printed(summarise_results([scored("a")], SUITE))


def test_that_an_interval_of_few_cases_is_too_narrow_is_said() -> None:
    few, enough = ([scored(name, number / 5) for number, name in enumerate(names)] for names in ("ab", "abcde"))
    told = printed(summarise_results(few, SUITE))
    assert "With fewer than 5 cases, the 95 % intervals are too narrow; run more cases." in told
    assert "too narrow" not in printed(summarise_results(enough, SUITE))


def test_that_a_score_of_few_among_many_cases_has_too_narrow_an_interval_is_said() -> None:
    without = {"examination": "no reference in the answer key"}
    results = [scored(name, number / 7, missing=without if number > 2 else {}) for number, name in enumerate("abcdefg")]
    told = printed(summarise_results(results, SUITE))
    assert "Examination: with fewer than 5 cases, the 95 % interval is too narrow." in told


def test_missing_scores_are_counted_by_stage_and_reason() -> None:
    results = [
        scored("a", missing={"examination": "no reference in the answer key"}),
        scored("b", missing={"examination": "no reference in the answer key", "diagnosis": "judge failed: e: f"}),
        scored("c", missing={"examination": "judge failed: model_error: no answer after 6 requests (a)"}),
        scored("d", missing={"examination": "judge failed: model_error: no answer after 6 requests (b)"}),
    ]
    summary = summarise_results(results, SUITE)
    assert summary["unscored"] == {
        "examination": {"no reference in the answer key": 2, "judge failed: model_error": 2},
        "diagnosis": {"judge failed: e": 1},
    }
    assert summary["scores"]["examination"]["n"] == 0 and summary["scores"]["treatment"]["n"] == 4


@pytest.mark.slow
def test_the_order_of_the_results_does_not_matter() -> None:
    drawn = random.Random(3)
    results = [
        scored(str(number), drawn.random(), epoch=epoch, seconds=drawn.random(), tokens=number, models={"a": ["m"]})
        for number in range(12)
        for epoch in range(2)
    ] + [failed("x"), failed("y", models={"b": ["n"]})]
    summary = summarise_results(results, SUITE)
    for _ in range(5):
        drawn.shuffle(results)
        assert summarise_results(results, SUITE) == summary


def test_epochs_of_a_case_are_one_case_to_the_interval() -> None:
    once = summarise_results([scored("a", 0.0), scored("b", 1.0)], SUITE)["scores"]["diagnosis"]
    epochs = [scored(case, value, epoch=epoch) for case, value in (("a", 0.0), ("b", 1.0)) for epoch in range(3)]
    thrice = summarise_results(epochs, SUITE)
    assert thrice["attempted"] == 6
    assert thrice["scores"]["diagnosis"]["se"] == pytest.approx(once["se"])


def test_tokens_calls_and_seconds_are_added_and_failed_cases_have_theirs() -> None:
    results = [scored("a", tokens=3, calls=2, seconds=1.5), failed("b", tokens=4, calls=1, seconds=2.0)]
    summary = summarise_results(results, SUITE)
    assert (summary["tokens"], summary["calls"], summary["seconds"]) == (7, 3, 3.5)


def test_a_cost_that_is_not_known_of_one_case_is_not_known_of_the_run() -> None:
    assert summarise_results([scored("a", cost=0.25), scored("b", cost=0.5)], SUITE)["cost"] == 0.75
    assert summarise_results([scored("a", cost=0.25), scored("b", cost=None)], SUITE)["cost"] is None


def test_models_are_listed_by_role() -> None:
    results = [scored("a", models={"patient": ["offline"]}), failed("b", models={"patient": ["m"], "doctor": ["n"]})]
    assert summarise_results(results, SUITE)["models"] == {"doctor": ["n"], "patient": ["m", "offline"]}


def test_stage_ends_are_counted_over_the_scored_cases_image_classes_together() -> None:
    ends = [{"examination:CT": "agreed", "examination:MRI": "exhausted"}, {"diagnosis": "agreed"}]
    ends[0]["diagnosis"] = "agreed"
    summary = summarise_results([scored(str(number), stages=end) for number, end in enumerate(ends)], SUITE)
    assert summary["stages"] == {"diagnosis": {"agreed": 2}, "examination": {"agreed": 1, "exhausted": 1}}


def test_no_results_make_a_summary_too() -> None:
    summary = summarise_results([], SUITE)
    assert summary["attempted"] == 0 and summary["scores"]["average"]["mean"] is None
    assert "0 cases attempted: 0 scored, 0 failed." in printed(summary)


def test_the_table_has_the_six_stages_and_their_average_in_order() -> None:
    text = printed(summarise_results([scored("a", 0.5), scored("b", 1.0)], SUITE))
    places = [text.index(title) for title in TITLES.values()]
    assert places == sorted(places) and len(places) == 7
    assert text.count("0.7500") == 7


def test_a_stage_without_a_score_shows_a_dash_and_why() -> None:
    text = printed(summarise_results([scored("a", missing={"examination": "no reference in the answer key"})], SUITE))
    (line,) = [line for line in text.splitlines() if "Examination " in line]
    assert "-" in line and line.count("0") == 1
    assert "Examination: 1 not scored (no reference in the answer key)" in text


def test_a_column_without_any_reference_shows_a_dash_where_what_failed_counts_as_wrong_too() -> None:
    missing = {"diagnosis": "judge failed: unparseable_answer: x", "examination": "no reference in the answer key"}
    text = printed(summarise_results([scored("a", missing=missing)], SUITE))
    (examination,) = [line for line in text.splitlines() if "Examination " in line]
    (diagnosis,) = [line for line in text.splitlines() if "Diagnosis " in line]
    assert [cell.strip() for cell in examination.split("│")][2:-1] == ["-", "-", "0", ""]
    assert [cell.strip() for cell in diagnosis.split("│")][2:-1] == ["-", "-", "0", "0.0000"]


def test_failures_are_told_by_their_reason() -> None:
    text = printed(summarise_results([failed("a"), failed("b"), failed("c", "unparseable_answer")], SUITE))
    assert "3 cases attempted: 0 scored, 3 failed." in text
    assert "2 failed: model_error" in text and "1 failed: unparseable_answer" in text


def test_the_unreadable_answers_of_a_group_are_counted_of_whoever_decides_too() -> None:
    """Without the senior doctor's answer nobody "went on": the last decision stood."""
    text = printed(summarise_results([scored("a", dropped_seats=2)], SUITE))
    assert "Unreadable answers of group members: 2; their groups decided without them." in text


def test_roles_that_ran_offline_are_named_and_others_are_not() -> None:
    results = [scored("a", models={"patient": ["offline"], "doctor": ["openai:m"], "judge": ["offline", "openai:m"]})]
    (line,) = [line for line in printed(summarise_results(results, SUITE)).splitlines() if "offline" in line]
    assert "patient" in line and "judge (in part)" in line and "doctor" not in line


def test_a_run_without_offline_roles_names_none() -> None:
    assert "offline" not in printed(summarise_results([scored("a", models={"doctor": ["openai:m"]})], SUITE))


def test_a_server_that_tells_no_tokens_is_told_of_as_limits_do_not_hold() -> None:
    models = {"doctor": ["openai:x"]}
    told, silent = scored("a", models=models, tokens=3), scored("a", models=models, tokens=0, uncounted=1)
    offline = scored("a", models={"doctor": ["offline"]}, tokens=0)
    unanswered = scored("a", models=models, tokens=0)  # its only question, a judge's, met a server that was gone
    notes = [printed(summarise_results([one], SUITE)) for one in (told, silent, offline, unanswered)]
    assert ["No model reported its token usage" in note for note in notes] == [False, True, False, False]


def test_an_average_says_which_columns_and_cases_it_covers() -> None:
    uneven, short = "which do not all cover the same cases", "Average: without the columns that have no scored case."
    whole, lacking = scored("a"), scored("b", missing={"diagnosis": "no reference in the answer key"})
    notes = [printed(summarise_results(results, SUITE)) for results in ([whole], [whole, lacking], [lacking])]
    assert [(uneven in note, short in note) for note in notes] == [(False, False), (True, False), (False, True)]


def test_calls_without_a_token_usage_are_told_of_as_tokens_and_cost_are_too_low() -> None:
    partly = scored("a", models={"doctor": ["openai:x"], "judge": ["openai:y"]}, tokens=9, calls=5, uncounted=2)
    summary = summarise_results([partly, scored("b", tokens=9, calls=5)], SUITE)
    assert summary["uncounted"] == 2
    assert "No token usage was reported for 2 calls: tokens and cost are too low." in printed(summary)


def test_brackets_in_a_reason_are_no_markup() -> None:
    summary = summarise_results([scored("a", missing={"diagnosis": "judge failed [bold]x[/bold]"})], SUITE)
    assert "judge failed [bold]x[/bold]" in printed(summary)


def test_the_most_frequent_reasons_are_named_whatever_call_number_and_quotation_they_differ_in() -> None:
    said = "no answer after {} requests ('{}', worse at night') at diagnosis/general/seat 1, model openai:a@http://b/v1"
    failed = [
        Result(case_id=f"c{number}", epoch=0, termination="model_error", error=said.format(number, number))
        for number in range(3)
    ]
    other = Result(case_id="d", epoch=0, termination="sex_bound", error="pregnant")
    assert most_frequent_failures([other, *failed, Result(case_id="e", epoch=0, termination="completed")]) == [
        {
            "termination": "model_error",
            "cases": 3,
            "reason": "no answer after 0 requests ('0', worse at night') with openai:a@http://b/v1",
        },
        {"termination": "sex_bound", "cases": 1, "reason": "pregnant"},
    ]
