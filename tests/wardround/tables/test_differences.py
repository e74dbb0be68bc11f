"""What ``wardround compare`` says about the cases behind its differences."""

from pathlib import Path

from tests.support.recorded_runs import write_run
from wardround.store.recorded_run import find_runs
from wardround.store.run_directory import Result
from wardround.tables.differences import differences_table


def test_a_comparison_says_why_a_column_has_fewer_cases_than_the_runs(tmp_path: Path) -> None:
    reason = "judge failed: unparseable_answer"
    results = [
        Result(case_id="a", epoch=0, termination="completed", scores={"examination": 1.0}),
        Result(case_id="b", epoch=0, termination="completed", scores={}, unscored={"examination": f"{reason}: x"}),
    ]
    runs = find_runs([write_run(tmp_path / name, results, graph="clinical_workflow") for name in ("one", "two")])
    assert f"Examination: 1 of 2 not scored ({reason})." in differences_table(runs, None).notes
