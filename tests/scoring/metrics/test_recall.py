import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import retrieval
from retrieval import EmbeddingModelError
from scoring.metrics.recall import POLARITY_PENALTY, rate_style, recall
from scoring.metrics.samples import MissingBackendError

MEANINGS = {"liver cyst": (1, 0, 0), "hepatic cyst": (0.8, 0.6, 0), "free air": (0, 0, 1), "gallstones": (-1, 0, 0)}


@pytest.fixture
def meanings(monkeypatch: pytest.MonkeyPatch) -> None:
    def embed(texts: Sequence[str], model: str) -> Any:
        return np.array([MEANINGS[text.casefold()] for text in texts], np.float32)

    monkeypatch.setattr(retrieval, "embed", embed)


def test_rouge_is_cut_as_published_or_by_each_texts_language() -> None:
    pairs = [("Coughing for days", "cough day"), ("咳嗽三天", "咳嗽"), ("", "a"), ("a", "")]
    assert recall("rouge1", "paper")(pairs) == pytest.approx([2 / 3, 0, 0, 0])
    assert recall("rouge1")(pairs) == pytest.approx([2 / 3, 1 / 2, 0, 0])
    assert recall("rougeL")([("a b c", "c b a")]) == pytest.approx([1 / 3])


def test_rate_style_takes_the_nearest_entity_of_each(meanings: None) -> None:
    assert rate_style("Liver cyst, free air.", "Hepatic cyst.") == pytest.approx((0.8 + 0) / 2)
    assert rate_style("Liver cyst.", "Gallstones, hepatic cyst, liver cyst.") == pytest.approx(1)


def test_rate_style_weighs_a_match_that_one_side_denies(meanings: None) -> None:
    assert rate_style("Free air.", "No free air.") == pytest.approx(POLARITY_PENALTY)
    assert rate_style("No free air.", "No free air.") == pytest.approx(1)


def test_rate_style_of_nothing_is_the_minimum(meanings: None) -> None:
    assert rate_style("", "Free air.") == rate_style("Free air.", "") == 0


def test_an_embedding_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(texts: Sequence[str], model: str) -> Any:
        raise EmbeddingModelError(f"no {model}")

    monkeypatch.setattr(retrieval, "embed", fail)
    with pytest.raises(MissingBackendError, match="no mine"):
        recall("rate_style", model="mine")([("Free air.", "Free air.")])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "package"), [("bertscore", "bert_score"), ("ratescore", "RaTEScore")])
def test_a_missing_package_is_named_with_its_remedy(name: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingBackendError, match=rf"pip install 'wardround\[{name}\]'"):
        recall(name)([("a", "b")])


@pytest.mark.parametrize(("name", "package"), [("bertscore", "bert_score"), ("ratescore", "RaTEScore")])
def test_a_model_that_cannot_be_fetched_is_named(name: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(**_: Any) -> Any:
        raise OSError("no network")

    monkeypatch.setitem(sys.modules, package, SimpleNamespace(BERTScorer=offline, RaTEScore=offline))
    with pytest.raises(MissingBackendError, match="Hugging Face hub"):
        recall(name)([("a", "b")])


@pytest.mark.slow
def test_of_a_folders_model_the_last_layer_is_taken_and_a_tokenizer_without_a_length_is_given_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 3}')
    made: dict[str, Any] = {}

    def scorer(**given: Any) -> Any:
        made.update(given, tokenizer=SimpleNamespace(model_max_length=10**30))
        return SimpleNamespace(_tokenizer=made["tokenizer"], score=lambda texts, _: [None, np.array([0.5]), None])

    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(BERTScorer=scorer))
    assert recall("bertscore", model=str(tmp_path))([("a", "b")]) == [0.5]
    assert (made["num_layers"], made["tokenizer"].model_max_length) == (3, 512)


def test_ratescore_reads_both_of_its_models_from_a_folder_quietly_and_gives_nothing_to_two_letters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: dict[str, Any] = {}
    silenced: list[str] = []

    def compute_score(texts: list[str], references: list[str]) -> list[float]:
        said = [text for text in texts if len(text) > 2]  # as the package does, which then has none to give
        return [1.0000001 for text, _ in zip(said, references, strict=False)]

    def scorer(**given: Any) -> Any:
        made.update(given)
        return SimpleNamespace(compute_score=compute_score)

    monkeypatch.setitem(sys.modules, "RaTEScore", SimpleNamespace(RaTEScore=scorer))
    monkeypatch.setitem(sys.modules, "loguru", SimpleNamespace(logger=SimpleNamespace(disable=silenced.append)))
    pairs = [("reference", "no"), ("reference", "text")]
    assert recall("ratescore", model=str(tmp_path))(pairs) == [0, 1]
    assert (made["bert_model"], made["eval_model"]) == (
        str(tmp_path / "RaTE-NER-Deberta"),
        str(tmp_path / "BioLORD-2023-C"),
    )
    assert silenced == ["PyRuSH"], "it wrote each sentence of a case to the terminal"
    (tmp_path / "model.py").touch()
    with pytest.raises(MissingBackendError, match="contains code"):
        recall("ratescore", model=str(tmp_path))(pairs)


def test_the_packages_are_given_texts_and_references_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(texts: list[str], references: list[str]) -> Any:
        assert (texts, references) == (["text"], ["reference"])
        return [None, np.array([0.25]), None]

    def compute_score(texts: list[str], references: list[str]) -> list[float]:
        assert (texts, references) == (["text"], ["reference"])
        return [0.75]

    bert = SimpleNamespace(BERTScorer=lambda model_type: SimpleNamespace(score=score))
    rate = SimpleNamespace(RaTEScore=lambda use_gpu: SimpleNamespace(compute_score=compute_score))
    monkeypatch.setitem(sys.modules, "bert_score", bert)
    monkeypatch.setitem(sys.modules, "RaTEScore", rate)
    pairs = [("reference", " "), ("reference", "text")]
    assert recall("bertscore")(pairs) == [0, 0.25] and recall("ratescore")(pairs) == [0, 0.75]
    assert recall("bertscore")([]) == recall("ratescore")([]) == []
