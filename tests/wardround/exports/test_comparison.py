"""Paired differences between runs as a data frame."""

import csv
import math
from pathlib import Path

import pandas
import pytest

import wardround as wr
from tests.support.commands import wardround
from tests.support.recorded_runs import graded, write_run


def test_the_differences_are_those_of_the_command_under_the_names_of_the_scores(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [graded("a", 1.0), graded("b", 2.0)])
    two = write_run(tmp_path / "two", [graded("a", 2.0), graded("b", 4.0)])
    three = write_run(tmp_path / "three", [graded("a", 1.0)])
    frame = wr.compare(one, two, str(three), margin=0.5)
    assert list(frame["run"].unique()) == ["two", "three"]
    assert wr.compare([one, two, three], margin=0.5).equals(frame), "as `to_dataframe` takes runs"
    assert not [name for name in frame if name.endswith("narrow")]
    assert set(frame["score"]) <= {*wr.to_dataframe(one).columns}
    first = frame[frame["run"] == "two"].set_index("score").loc["diagnosis"]
    assert (first["difference_mean"], first["difference_n"], first["p"], first["margin"]) == (1.5, 2, 0.5, 0.5)
    assert list(frame[frame["score"] == "diagnosis"]["percent"]) == [100.0, 0.0], "the third run has one case"
    wardround("compare", one, two, three, "--margin", "0.5", "--csv", tmp_path / "c.csv")
    written = list(csv.DictReader((tmp_path / "c.csv").read_text("utf-8").splitlines()))
    assert len(written) == len(frame)
    for row, found in zip(written, frame.to_dict("records"), strict=True):
        numbers = [name for name in found if name not in ("run", "score", "interval")]
        ours = {name: None if pandas.isna(found[name]) else float(found[name]) for name in numbers}
        assert ours == {name: float(row[name]) if row[name] else None for name in numbers}


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [graded("a")])
    empty = write_run(tmp_path / "empty", [])
    with pytest.raises(wr.ConfigurationError, match="at least two"):
        wr.compare(one)
    with pytest.raises(wr.ConfigurationError, match="has no results yet"):
        wr.compare(one, empty)
    for margin in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(wr.ConfigurationError, match=r"margin .*: expected a number above 0"):
            wr.compare(one, one, margin=margin)
