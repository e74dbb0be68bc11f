"""What a setting changes, and whether that is what the paper expects of it."""

import re
from pathlib import Path

import pytest

from tests.support.runs import run, short
from wardround.store.recorded_run import find_runs
from wardround.tables.differences import build_contrasts


@pytest.mark.slow
def test_an_ablation_says_of_each_mean_whether_it_moved_as_the_paper_expects(tmp_path: Path) -> None:
    run(short(), tmp_path / "a_full")
    run(short(sequential=False), tmp_path / "b_without_sequence")
    [table] = build_contrasts(find_runs([tmp_path / "a_full", tmp_path / "b_without_sequence"]))
    assert set(table.frame["setting"]) == {"workflow.sequential: true to false"}
    for row in table.rows:
        moved = row["difference_mean"]
        assert row["expected"] == f"up: {'yes' if moved > 0 else 'no'}", row["score"]
    assert re.match("As expected", table.notes[-1])


@pytest.mark.slow
def test_a_setting_of_which_the_paper_expects_nothing_has_no_such_column(tmp_path: Path) -> None:
    run(short(), tmp_path / "a")
    run(short(max_turns=1), tmp_path / "b")
    [table] = build_contrasts(find_runs([tmp_path / "a", tmp_path / "b"]))
    assert "expected" not in {column.name for column in table.columns}
