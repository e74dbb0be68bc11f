import gc
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from retrieval import (
    CaseMemoryError,
    Count,
    EmbeddingModelError,
    build_memory,
    builtin_counts,
    open_memory,
    remember,
    warn_of_other_languages,
)
from retrieval import opening as module
from tests.retrieval.examples import appendicitis, pseudo, verified
from tests.support.servers import chroma

pytestmark = pytest.mark.usefixtures("cheap_vectors")

WRITER = """
import sys
import numpy as np
from retrieval import RememberedCase, open_memory
memory = open_memory(sys.argv[1], "cheap")
memory.add([RememberedCase(id="theirs", verified=True, department="Surgery")], np.eye(1, 16))
print("written", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def _close_what_was_opened() -> Iterator[None]:
    yield
    for memory in module._open.values():
        memory.close()
    module._open.clear()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a Chroma server on this machine."""
    with chroma(tmp_path / "server") as url:
        yield url


def test_the_built_in_memory_holds_the_train_and_validation_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [appendicitis("t", "train"), appendicitis("v", "validation"), appendicitis("x", "test")]
    monkeypatch.setattr(module, "load_cases", lambda: cases)
    memory = open_memory(embedding="cheap")
    assert memory.stats() == {"Surgery": Count(verified=2, pseudo=0)}
    assert open_memory("builtin", "cheap") is memory
    assert open_memory("builtin", "another") is not memory


@pytest.fixture
def chroma_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no test of this process had opened a client, and one case were built in."""
    from chromadb.api.shared_system_client import SharedSystemClient

    for shared in ("_identifier_to_system", "_identifier_to_refcount"):
        monkeypatch.setattr(SharedSystemClient, shared, {})
    monkeypatch.setattr(module, "load_cases", lambda: [appendicitis()])


@pytest.mark.usefixtures("chroma_anew")
def test_the_built_in_memory_opens_where_someone_uses_chroma_with_other_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import chromadb

    monkeypatch.setenv("ANONYMIZED_TELEMETRY", "True")
    theirs: Any = chromadb.EphemeralClient()
    assert open_memory(embedding="cheap").stats() == {"Surgery": Count(verified=1, pseudo=0)}
    chromadb.EphemeralClient()
    theirs.close()


@pytest.mark.usefixtures("chroma_anew")
def test_someone_opens_chroma_where_the_built_in_memory_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    import chromadb

    monkeypatch.setenv("ANONYMIZED_TELEMETRY", "True")
    open_memory(embedding="cheap")
    theirs: Any = chromadb.EphemeralClient()
    assert theirs.get_or_create_collection("theirs").count() == 0 and not theirs.get_settings().anonymized_telemetry
    theirs.close()


def test_an_environment_file_names_neither_a_server_nor_a_class_of_a_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chroma read the file itself, so that a stranger's folder could send every remembered case elsewhere."""
    (tmp_path / ".env").write_text("chroma_api_impl=nowhere.Theirs\nchroma_server_host=theirs.example\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert build_memory([appendicitis()], tmp_path / "m", "cheap").stats() == {"Surgery": Count(verified=1, pseudo=0)}


def test_a_model_folder_is_the_same_under_any_path_and_refused_when_its_files_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory took a folder with other weights for its model, and the same folder by another path for another."""
    weights = tmp_path / "encoder" / "model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"1")
    monkeypatch.chdir(tmp_path)
    build_memory([appendicitis()], tmp_path / "m", "encoder").close()
    open_memory(tmp_path / "m", "./encoder/").close()
    open_memory(tmp_path / "m", str(weights.parent)).close()
    weights.write_bytes(b"other")
    with pytest.raises(CaseMemoryError, match="built with the embedding model encoder, not other files of it"):
        open_memory(tmp_path / "m", "encoder")
    weights.parent.rename(tmp_path / "away")
    with pytest.raises(EmbeddingModelError, match="encoder': folder not found"):
        open_memory(tmp_path / "m", "./encoder")


def test_a_directory_is_found_as_it_was_when_it_is_opened_again(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    memory = build_memory(
        [appendicitis("a"), appendicitis("b")],
        tmp_path / "m",
        "cheap",
        progress=lambda done, n: steps.append((done, n)),
    )
    memory.add([pseudo("p", 0)])
    found = memory.recall("pain", "Surgery")
    assert steps == [(2, 2)]
    memory.close()
    again = open_memory(tmp_path / "m", "cheap")
    assert again is not memory
    assert again.recall("pain", "Surgery") == found
    assert found[0].case == remember(appendicitis(found[0].case.id))


def test_a_directory_that_lost_what_its_cases_are_says_what_to_do(tmp_path: Path) -> None:
    build_memory([appendicitis()], tmp_path / "m", "cheap").close()
    with closing(sqlite3.connect(tmp_path / "m" / "chroma.sqlite3")) as database, database:
        database.execute("DROP TABLE embedding_metadata")
    memory = open_memory(tmp_path / "m", "cheap")
    with pytest.raises(CaseMemoryError, match=r"cannot be read: .*; if it is damaged, build another"):
        memory.recall("pain", "Surgery")
    memory.close()


def test_a_department_that_its_last_case_has_left_is_searched_and_filled_again(tmp_path: Path) -> None:
    """Opened again, such a memory could not be read any more."""
    [case] = [appendicitis("a", "train")]
    build_memory([case], tmp_path, "cheap")
    key = case.key.model_copy(update={"department": "Dentistry", "sub_departments": []})
    build_memory([case.model_copy(update={"key": key})], tmp_path, "cheap").close()
    memory = open_memory(tmp_path, "cheap")
    assert memory.recall("pain", "Surgery") == []
    assert [found.case.id for found in memory.recall("pain", None)] == ["a"]
    build_memory([appendicitis("b", "train")], tmp_path, "cheap")
    assert [found.case.id for found in memory.recall("pain", "Surgery")] == ["b"]


def test_a_directory_is_opened_once_for_all_threads_and_spellings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = build_memory([appendicitis()], tmp_path / "m", "cheap")
    monkeypatch.chdir(tmp_path)
    assert open_memory("m", "cheap") is memory
    assert open_memory(tmp_path / "x" / ".." / "m", "cheap") is memory


def test_a_directory_built_with_another_embedding_is_refused(tmp_path: Path) -> None:
    build_memory([appendicitis()], tmp_path, "cheap").close()
    with pytest.raises(CaseMemoryError, match=f"{tmp_path}.*built with the embedding model cheap, not dear"):
        open_memory(tmp_path, "dear")
    with pytest.raises(CaseMemoryError, match="cheap, not dear"):
        build_memory([appendicitis()], tmp_path, "dear")
    assert open_memory(tmp_path, "cheap").stats()["Surgery"].verified == 1


def test_a_directory_without_a_memory_is_one_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CaseMemoryError, match=r"does not exist; build it first"):
        open_memory(tmp_path / "missing", "cheap")
    assert not (tmp_path / "missing").exists()
    with pytest.raises(CaseMemoryError, match=r"contains no case memory; build it first"):
        open_memory(tmp_path, "cheap")
    (tmp_path / "cases.jsonl").touch()
    with pytest.raises(CaseMemoryError, match=r"cases\.jsonl' contains no case memory; build it first"):
        open_memory(tmp_path / "cases.jsonl", "cheap")
    (tmp_path / "chroma.sqlite3").write_bytes(b"no database" * 1000)
    with pytest.raises(CaseMemoryError, match=f"{tmp_path}.* cannot be opened.*; see that it is whole"):
        open_memory(tmp_path, "cheap")


def test_the_built_in_memory_cannot_be_built() -> None:
    with pytest.raises(CaseMemoryError, match="name a directory or a server"):
        build_memory([], "builtin")


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:1", "http://127.0.0.1:99999", "http://127.0.0.1:1/a b"])
def test_a_server_that_is_not_there_is_one_error_that_names_it(url: str) -> None:
    with pytest.raises(CaseMemoryError, match=r"'http://.*(start a server|write http://host:port)"):
        open_memory(url, "cheap")


@pytest.mark.slow
def test_a_second_writing_process_is_told_and_a_stale_reader_must_open_again(tmp_path: Path) -> None:
    build_memory([appendicitis()], tmp_path, "cheap").close()
    reader = open_memory(tmp_path, "cheap")
    assert len(reader.recall("pain", "Surgery")) == 1
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin and writer.stdout
        assert writer.stdout.readline() == "written\n"
        with pytest.raises(CaseMemoryError, match="another process is writing to it"):
            reader.add([verified("mine")])
        with pytest.raises(CaseMemoryError, match="another process is writing to it"):
            reader.close()
            build_memory([appendicitis()], tmp_path, "cheap")
        reader = open_memory(tmp_path, "cheap")
        assert len(reader.recall("pain", "Surgery")) == 2
        writer.communicate("\n")
    reader.add([verified("mine")])
    assert reader.stats()["Surgery"].verified == 3


@pytest.mark.slow
def test_a_reader_that_another_process_has_overtaken_may_not_write(tmp_path: Path) -> None:
    build_memory([appendicitis()], tmp_path, "cheap").close()
    reader = open_memory(tmp_path, "cheap")
    subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], input="\n", text=True, check=True)
    with pytest.raises(CaseMemoryError, match="close and open it again"):
        reader.add([verified("mine")])
    reader.close()
    again = open_memory(tmp_path, "cheap")
    again.add([verified("mine")])
    assert again.stats()["Surgery"].verified == 3


@pytest.mark.slow
def test_a_chroma_server_is_a_memory_like_any_other(server: str, tmp_path: Path) -> None:
    local = build_memory([appendicitis("a"), appendicitis("b")], tmp_path / "m", "cheap")
    served = build_memory([appendicitis("a"), appendicitis("b")], server, "cheap")
    for memory in (local.for_run("r"), served.for_run("r")):
        memory.add([verified("c", "Dentistry"), pseudo("p", 0), pseudo("q", 1)])
    assert open_memory(server, "cheap") is served
    for department in ("Surgery", None):
        ours = local.for_run("r").recall("pain", department, exclude=["a"], before=1)
        theirs = served.for_run("r").recall("pain", department, exclude=["a"], before=1)
        assert [neighbour.case for neighbour in ours] == [neighbour.case for neighbour in theirs]
        assert [n.similarity for n in ours] == pytest.approx([n.similarity for n in theirs], abs=1e-6)
    other = build_memory([appendicitis("z")], f"{server}/trial", "dear")
    assert [neighbour.case.id for neighbour in other.recall("pain", None)] == ["z"]
    with pytest.raises(CaseMemoryError, match="cheap, not dear"):
        open_memory(server, "dear")


@pytest.mark.slow
def test_a_server_that_goes_away_is_an_error_that_names_it(server: str, tmp_path: Path) -> None:
    memory = build_memory([appendicitis()], server, "cheap")
    memory._client._server._session.base_url = "http://127.0.0.1:1"  # type: ignore[attr-defined]
    memory._client._server._api_url = "http://127.0.0.1:1/api/v2"  # type: ignore[attr-defined]
    with pytest.raises(CaseMemoryError, match=f"{server}.*cannot be read: .*; check its server, then"):
        memory.recall("pain", "Surgery")


@pytest.mark.parametrize("location", ["builtin", "builtin:validation"])
def test_the_cases_of_a_built_in_memory_are_counted_without_it(location: str) -> None:
    stats = open_memory(location, "cheap").stats()
    assert builtin_counts(location) == {department: count.verified for department, count in stats.items()}
    assert builtin_counts("a-directory") is None


@pytest.mark.parametrize(
    ("location", "other"), [("builtin", "'de', 'fr'"), ("builtin:validation", "'de', 'fr'"), ("a-directory", "")]
)
def test_cases_in_a_language_that_the_built_in_memory_does_not_hold_are_warned_of(
    location: str, other: str, caplog: pytest.LogCaptureFixture
) -> None:
    """German doctors were shown English and Chinese cases, found by a model that reads English, without a word."""
    warn_of_other_languages(location, {"en", "zh"})
    assert not caplog.messages
    warn_of_other_languages(location, {"en", "de", "fr"})
    assert [f"are in 'en' and 'zh', none in {other}, " in line for line in caplog.messages] == [True] * bool(other)


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no such limit")
@pytest.mark.parametrize("may_be_raised", [True, False])
def test_a_process_with_few_files_opens_more_for_a_memory_or_says_so(
    may_be_raised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS lets a shell open 256 files, where the built-in memory ended in "Error finding id"."""
    import resource

    gc.collect()  # closes what earlier tests left open
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not may_be_raised:
        monkeypatch.setattr("retrieval.opening.allow_many", lambda: None)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    try:
        memory = build_memory([appendicitis()], tmp_path / "memory")
        assert (resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 512) is may_be_raised
        monkeypatch.setattr(memory._shelves, "count", lambda *_: 1 / 0)
        with pytest.raises(CaseMemoryError) as error:
            memory.stats()
        assert ("may open only 512 files: allow more (`ulimit -n" in str(error.value)) is not may_be_raised
        monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
        with pytest.raises(CaseMemoryError, match="only 256 files: start in a shell that allows more, or have the"):
            memory.stats()
        monkeypatch.undo()
        memory.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
