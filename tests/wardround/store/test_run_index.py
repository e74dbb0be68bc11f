import json
from pathlib import Path

from llm.replies import texts_in
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


def test_of_a_result_all_that_is_written_is_searched_and_nothing_else() -> None:
    content = {"case_id": "a", "scores": {"diagnosis": 2.0}, "answers": {"dialogue": [{"text": "b"}, None, True]}}
    assert [*texts_in(json.loads(json.dumps(content)))] == ["a", "b"]
