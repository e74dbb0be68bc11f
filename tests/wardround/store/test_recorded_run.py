"""Runs read from the disk."""

import json
from pathlib import Path

import pytest

from tests.support.recorded_runs import ENGLISH, call, graded, write_run
from wardround.config.experiment import ConfigurationError
from wardround.store.recorded_run import find_runs


def test_a_sweep_is_read_in_the_order_of_its_file_and_what_came_later_after_it(tmp_path: Path) -> None:
    for name in ("apart", "one", "two"):
        write_run(tmp_path / name, [graded("a")])
    (tmp_path / "sweep.json").write_text(json.dumps({"runs": ["two", "gone", "one"]}), "utf-8")
    assert [run.name for run in find_runs([tmp_path])] == ["two", "one", "apart"]


def test_runs_of_one_name_in_two_places_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    places = [write_run(tmp_path / place / "run", [graded("a")]) for place in ("x", "y")]
    assert [run.name for run in find_runs(places)] == [str(place) for place in places]
    assert [run.name for run in find_runs([places[0], places[0]])] == ["run", "run"]


def test_a_directory_without_a_run_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not a run directory"):
        find_runs([tmp_path])


def test_a_manifest_whose_configuration_is_unknown_is_refused_in_one_line(tmp_path: Path) -> None:
    file = write_run(tmp_path / "run", [graded("a")]) / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest["configuration"]["graph"] = "another"
    manifest.pop("checksum", None)
    file.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ConfigurationError, match=r"cannot use manifest\.json \(graph: [^\n]*\)$"):
        find_runs([tmp_path])


def test_a_result_that_a_kill_has_cut_off_is_left_out(tmp_path: Path) -> None:
    (run,) = find_runs([write_run(tmp_path / "run", [graded("a")])])
    with (run.path / "results.jsonl").open("a", encoding="utf-8") as out:
        out.write('{"case_id": "b", ')
    assert [result.case_id for result in run.each_answered()] == ["a"]


def test_of_a_call_that_was_asked_again_the_last_record_counts(tmp_path: Path) -> None:
    calls = [call(error="model_error: no"), call(started=1.0, answer={"text": "yes"})]
    (run,) = find_runs([write_run(tmp_path / "run", [], {("a", 0): calls})])
    ((_, found),) = run.each_trace()
    assert [one.error for one in found] == [None]


def test_cases_that_have_changed_since_are_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [graded(ENGLISH[0])], data={"limit": 1})
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    manifest["data"]["fingerprint"] = "other"
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ConfigurationError, match="have changed"):
        _ = find_runs([path])[0].cases
