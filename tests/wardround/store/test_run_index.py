from pathlib import Path

from tests.support.recorded_runs import ENGLISH, graded, write_run
from wardround.store.run_directory import RunDirectory
from wardround.store.run_index import RunIndex

CASE, OTHER = ENGLISH


def test_an_index_says_whether_there_is_anything_new_and_reads_a_replaced_file_from_its_first_line(
    tmp_path: Path,
) -> None:
    path = write_run(tmp_path / "run", [graded(CASE)], data={"case_ids": [CASE, OTHER]})
    index = RunIndex(RunDirectory(path))
    assert [index.read_on(), index.read_on()] == [True, False]
    RunDirectory(path).add(graded(OTHER))
    assert [index.read_on(), index.read_on()] == [True, False]
    assert [*index.results] == [(CASE, 0), (OTHER, 0)] and index.faults == []
    kept = (path / "results.jsonl").read_text("utf-8").splitlines(keepends=True)[1:]
    (path / "draft").write_text("".join(["{}\n", *kept]), "utf-8")
    (path / "draft").replace(path / "results.jsonl")
    assert index.read_on() and [*index.results] == [(OTHER, 0)]
    assert [fault.partition(" ")[2][:2] for fault in index.faults] == ["1 "]
