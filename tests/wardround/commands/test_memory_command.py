"""``wardround memory build | query | stats``: exit codes, and what is told."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from cases import AnswerKey, Case, PatientRecord, Provenance, save_cases
from tests.support.fake_server import FakeServer
from wardround.commands.memory import memory_app


@pytest.fixture(autouse=True)
def _vectors_by_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    def embed(texts: Sequence[str], model: str = "") -> NDArray[np.float32]:
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") for text in texts]
        rows = np.array([np.random.default_rng(seed).normal(size=8) for seed in seeds], np.float32)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    monkeypatch.setattr("retrieval.memory.embed", embed)
    monkeypatch.setattr("retrieval.opening.embed", embed)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(memory_app, [str(argument) for argument in arguments])


def case(case_id: str, complaint: str, department: str | None, split: str | None = "train") -> Case:
    return Case.model_validate(
        {
            "id": case_id,
            "split": split,
            "patient": PatientRecord(chief_complaint=complaint),
            "key": AnswerKey.model_validate({"department": department, "diagnosis": [f"disease of {case_id}"]}),
            "provenance": Provenance(source="a test"),
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    cases = [
        case("stone", "Flank pain", "Surgery"),
        case("tooth", "Toothache [b]\x1b[31mred", "Dentistry", "validation"),
        case("hidden", "Hidden pain", "Surgery", "test"),
        case("free", "Rash", None),
    ]
    save_cases(cases, tmp_path / "cases.jsonl")
    return tmp_path / "cases.jsonl"


@pytest.fixture
def memory(tmp_path: Path, file: Path) -> Path:
    assert run("build", file, "--out", tmp_path / "memory").exit_code == 0
    return tmp_path / "memory"


def test_a_memory_is_built_without_the_test_cases(tmp_path: Path, file: Path) -> None:
    built = run("build", file, "-o", tmp_path / "memory")
    assert built.exit_code == 0 and f"3 cases stored in {tmp_path / 'memory'}" in built.stdout
    assert "hidden" not in run("query", "Hidden pain", "--memory", tmp_path / "memory").stdout


def test_cases_without_a_split_are_not_remembered_unless_all_are_asked_for(tmp_path: Path) -> None:
    save_cases([case("one", "Rash", "Surgery", None), case("two", "Cough", "Surgery")], tmp_path / "new.jsonl")
    refused = run("build", tmp_path / "new.jsonl", "-o", tmp_path / "memory")
    assert refused.exit_code == 2 and "1 of 2 cases have no split (one, ...)" in refused.stderr
    assert "wardround cases split" in refused.stderr and not (tmp_path / "memory").exists()
    assert run("build", tmp_path / "new.jsonl", "-o", tmp_path / "memory", "--every-split").exit_code == 0


def test_a_memory_of_the_train_split_alone_has_no_other_case(tmp_path: Path, file: Path) -> None:
    assert "2 cases stored" in run("build", file, "-o", tmp_path / "memory", "--split", "train").stdout
    none = run("build", file, "-o", tmp_path / "memory", "--split", "dev")
    assert none.exit_code == 2 and "no case of split dev" in none.stderr


def test_test_cases_are_remembered_when_asked_for(tmp_path: Path, file: Path) -> None:
    built = run("build", file, "-o", tmp_path / "memory", "--every-split")
    assert "4 cases stored" in built.stdout
    assert "hidden" in run("query", "Hidden pain", "--memory", tmp_path / "memory").stdout


def test_a_refiner_describes_remembered_cases_as_it_does_new_ones(tmp_path: Path, file: Path) -> None:
    with FakeServer(answer=lambda request: {"symptoms": "colic" if "Flank" in request.text else "ache"}) as server:
        build = ("build", file, "-o", tmp_path / "memory", "--refiner", f"openai:fake-model@{server.base_url}")
        build += ("--cache", tmp_path / "answers.sqlite")
        assert run(*build).exit_code == 0
        asked = len(server.requests)
        assert any("Flank pain.\n" in request.text for request in server.requests)
        assert asked == 3 and run(*build).exit_code == 0 and len(server.requests) == asked  # none is paid twice
    assert run("query", "colic", "--memory", tmp_path / "memory").stdout.startswith("stone  similarity 1.000\n")


def test_a_case_that_the_refiner_does_not_answer_for_is_described_by_rule_and_named(tmp_path: Path, file: Path) -> None:
    with FakeServer(answer=lambda request: "" if "Flank" in request.text else {"symptoms": "found"}) as server:
        build = ("build", file, "-o", tmp_path / "memory", "--refiner", f"openai:fake-model@{server.base_url}")
        built = run(*build)
    assert (
        built.exit_code == 1
        and "stone: described by rule, as the refiner gave no answer (" in built.stderr
        and "tooth" not in built.stderr
    )
    assert run("query", "Flank pain", "--memory", tmp_path / "memory").stdout.startswith("stone  similarity 1.000\n")


def test_a_refiner_is_asked_as_set_says(tmp_path: Path, file: Path) -> None:
    with FakeServer(answer=lambda _: {"symptoms": "ache"}) as server:
        build = ["build", file, "-o", tmp_path / "memory", "--refiner", "small", "--set", "max_tokens=80"]
        spec = f"model.small.spec=openai:fake-model@{server.base_url}"
        assert run(*build, "--set", spec, "--set", "model.small.temperature=0.5").exit_code == 0
        assert {(one.body["max_tokens"], one.body["temperature"]) for one in server.requests} == {(80, 0.5)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--refiner", "human"], "a person cannot answer here"),
        (["--refiner", "small", "--set", "model.small.temperature=0"], "add --set model.small.spec=SPEC"),
        (["--refiner", "openai:x", "--set", "feedback=off"], "does not say how a model is asked"),
        (["--set", "max_tokens=80"], "--set needs --refiner"),
        (["--refiner", "nobody:x"], "--refiner: models.refiner: 'nobody:x': unknown provider"),
        (["--cache", "answers.sqlite"], "--cache needs --refiner"),
        (["--refiner", "openai:x", "-o", f"{__file__}/memory"], "cannot be created"),
    ],
)
def test_a_refiner_that_cannot_be_asked_is_refused_before_anything_is_built(
    tmp_path: Path, file: Path, options: list[str], said: str
) -> None:
    refused = run("build", file, "-o", tmp_path / "memory", *options)
    assert refused.exit_code == 2 and said in refused.stderr and not (tmp_path / "memory").exists()


def test_building_again_adds_nothing_twice(memory: Path, file: Path) -> None:
    assert run("build", file, "-o", memory).exit_code == 0
    assert run("query", "Rash", "--memory", memory, "--k", 9).stdout.count("similarity") == 3


def test_the_nearest_case_comes_first_with_its_similarity_and_features(memory: Path) -> None:
    told = run("query", "Flank pain", "--memory", memory)
    assert told.exit_code == 0 and told.stdout.startswith("stone  similarity 1.000\n")
    assert "Chief complaint: Flank pain" in told.stdout and "disease of stone" in told.stdout


def test_a_query_gives_as_many_as_asked_for(memory: Path) -> None:
    assert run("query", "Rash", "--memory", memory, "--k", 1).stdout.count("similarity") == 1


def test_a_query_can_be_kept_to_a_department_by_any_of_its_names(memory: Path) -> None:
    for name in ("Dentistry", "dentistry", "口腔科"):
        told = run("query", "Flank pain", "--memory", memory, "--department", name)
        assert told.exit_code == 0 and "tooth" in told.stdout and "stone" not in told.stdout, name


def test_a_department_without_cases_says_so(memory: Path) -> None:
    told = run("query", "Flank pain", "--memory", memory, "--department", "Oncology")
    assert told.exit_code == 0 and told.stdout == "no cases in this memory for department Oncology\n"


def test_an_unknown_department_is_bad_input(memory: Path) -> None:
    told = run("query", "Flank pain", "--memory", memory, "--department", "Ward 9")
    assert told.exit_code == 2 and told.stdout == "" and "Ward 9" in told.stderr and "Surgery" in told.stderr


def test_a_query_without_words_is_bad_input(memory: Path) -> None:
    told = run("query", " ", "--memory", memory)
    assert told.exit_code == 2 and told.stdout == "" and "description of symptoms" in told.stderr


def test_case_text_gives_the_terminal_no_orders(memory: Path) -> None:
    told = run("query", "Toothache", "--memory", memory, "--department", "Dentistry").stdout
    assert "\x1b" not in told and "Toothache [b][31mred" in told


def test_statistics_count_the_cases_of_each_department(memory: Path) -> None:
    told = run("stats", "--memory", memory)
    rows = [line.split() for line in told.stdout.splitlines()]
    assert told.exit_code == 0
    assert [row[1:-1:2] for row in rows if len(row) == 7 and row[0] == "│"] == [
        ["Dentistry", "1", "0"],
        ["Surgery", "1", "0"],
        ["(none)", "1", "0"],
    ]


@pytest.mark.parametrize("command", [["stats"], ["query", "pain"]])
def test_a_missing_directory_is_bad_input_and_is_not_made(tmp_path: Path, command: list[str]) -> None:
    told = run(*command, "--memory", tmp_path / "absent")
    assert told.exit_code == 2 and "does not exist; build it first" in told.stderr
    assert not (tmp_path / "absent").exists()


def test_a_directory_without_a_memory_is_bad_input(tmp_path: Path) -> None:
    told = run("stats", "--memory", tmp_path)
    assert told.exit_code == 2 and "contains no case memory" in told.stderr and not list(tmp_path.iterdir())


def test_a_memory_of_another_embedding_model_is_bad_input(memory: Path) -> None:
    told = run("stats", "--memory", memory, "--embedding", "other-model")
    assert told.exit_code == 2 and "built with the embedding model all-MiniLM-L6-v2" in told.stderr


def test_a_faulty_case_file_is_bad_input_and_nothing_is_built(tmp_path: Path, file: Path) -> None:
    file.write_text(file.read_text("utf-8") + "{}\n", "utf-8")
    told = run("build", file, "-o", tmp_path / "memory")
    assert told.exit_code == 2 and "line 5" in told.stderr and not (tmp_path / "memory").exists()


@pytest.mark.parametrize("inside", ["", "memory"])
def test_a_place_that_is_a_file_is_bad_input_with_the_remedy(file: Path, inside: str) -> None:
    told = run("build", file, "-o", file / inside)
    assert told.exit_code == 2 and "cannot be a directory" in told.stderr and "use a new one" in told.stderr


def test_an_embedding_model_that_cannot_be_loaded_leaves_no_folder_behind(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    told = run("build", file, "-o", tmp_path / "memory", "--embedding", tmp_path / "absent")
    assert told.exit_code == 2 and "folder not found" in told.stderr and not (tmp_path / "memory").exists()


def test_the_built_in_memory_cannot_be_built_again(file: Path) -> None:
    told = run("build", file, "-o", "builtin")
    assert told.exit_code == 2 and "name a directory or a server" in told.stderr
