"""The recalls that Med-PMC's columns use: how much of a reference text another text states.

| name | measures | needs |
|---|---|---|
| ``rouge1``, ``rougeL`` | shared words, or the longest common subsequence of words | nothing |
| ``rate_style`` | the most similar entity, with negations weighted | our sentence embedding, offline |
| ``bertscore`` | the most similar word in context | the package, and a model from the hub |
| ``ratescore`` | the official RaTEScore | the package, two models from the hub, ideally a GPU |
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from scoring.metrics.entities import entities
from scoring.metrics.samples import Definition, MissingBackendError
from scoring.metrics.text_overlap import rouge_1, rouge_l, rouge_words, words

RecallName = Literal["rouge1", "rougeL", "bertscore", "ratescore", "rate_style"]
Recall = Callable[[Sequence[tuple[str, str]]], list[float]]  # of each (reference, text), in order

BERT_MODEL = "roberta-large"  # BERTScore's default for English
BERT_TOKENS = 512  # context length of such models
RATE_MODELS = {"bert_model": "Angelakeke/RaTE-NER-Deberta", "eval_model": "FremyCompany/BioLORD-2023-C"}
POLARITY_PENALTY = 0.36  # RaTEScore's weight of a match that only one side denies (its "short" setting)


def recall(name: RecallName, definition: Definition = "sound", *, model: str | None = None) -> Recall:
    """Return the recall function of that name.

    Args:
        name: which recall.
        definition: for ROUGE, ``paper`` tokenises every text with rouge-score, ``sound`` each by its own language.
        model: the embedding of ``rate_style``, the model of ``bertscore``, or the folder with both models of
            ``ratescore``; None for the defaults.

    Raises:
        MissingBackendError: when called, if a package or model is missing.
    """
    match name:
        case "rouge1" | "rougeL":
            cut = rouge_words if definition == "paper" else words
            overlap = rouge_1 if name == "rouge1" else rouge_l
            return lambda pairs: [overlap(cut(text), cut(reference)).recall for reference, text in pairs]
        case "rate_style":
            return lambda pairs: [rate_style(reference, text, model) for reference, text in pairs]
        case "bertscore":
            return lambda pairs: bertscore(pairs, model or BERT_MODEL)
        case "ratescore":
            return lambda pairs: ratescore(pairs, model)


def rate_style(reference: str, text: str, model: str | None = None) -> float:
    """Return the mean, over the reference's entities, of the similarity of the text's nearest entity; in [0, 1].

    Higher is better; 0 if either side has no entities. Similarity: cosine of the sentence embeddings, at least 0, times
    0.36 if only one of the two is denied. It is built like the recall of RaTEScore (Zhao et al. 2024, which Med-PMC
    uses), but is no substitute: entities come from rules instead of a trained tagger
    (:func:`scoring.metrics.entities.entities`), have no types and equal weights, and the embedding is general instead
    of medical. Never compare its numbers with RaTEScore's.
    """
    wanted, given = entities(reference), entities(text)
    if not (wanted and given):
        return 0.0
    import numpy as np

    from retrieval import DEFAULT_MODEL, EmbeddingModelError, embed

    try:
        reference_vectors = embed([entity.phrase for entity in wanted], model or DEFAULT_MODEL)
        text_vectors = embed([entity.phrase for entity in given], model or DEFAULT_MODEL)
    except EmbeddingModelError as error:
        raise MissingBackendError(f"rate_style: {error}") from error
    differ = np.not_equal.outer([entity.denied for entity in wanted], [entity.denied for entity in given])
    similarity = np.clip(reference_vectors @ text_vectors.T, 0, 1) * np.where(differ, POLARITY_PENALTY, 1.0)
    return float(min(similarity.max(axis=1).mean(), 1.0))


def bertscore(pairs: Sequence[tuple[str, str]], model: str = BERT_MODEL) -> list[float]:
    """Return the BERTScore recall of each text against its reference; mostly in [0, 1]; higher is better.

    0 for an empty side. Source: Zhang et al. 2020, not rescaled. Med-PMC's Table 10 names no model; long reports are
    cut at 512 tokens. ``model`` is a name on the hub or a folder.

    Raises:
        MissingBackendError: the package or the model is missing.
    """
    scorer = _bert_scorer(model)
    return _score_filled(pairs, lambda texts, references: scorer.score(texts, references)[1].tolist())


def ratescore(pairs: Sequence[tuple[str, str]], model: str | None = None) -> list[float]:
    """Return the official RaTEScore of each text against its reference, in [0, 1]; higher is better.

    0 for an empty side. Source: Zhao et al. 2024. Med-PMC calls it a recall, but the package returns the harmonic mean
    of both directions, and 0.5 if it finds no entity. ``model`` is a folder that holds both of its models, each under
    its name on the hub (`RaTE-NER-Deberta`, `BioLORD-2023-C`).

    Raises:
        MissingBackendError: the package or one of its models is missing.
    """
    scorer = _rate_scorer(model)

    def score_all(texts: list[str], references: list[str]) -> list[float]:
        return [_rate(scorer, text, reference) for text, reference in zip(texts, references, strict=True)]

    return _score_filled(pairs, score_all)


def _rate(scorer: Any, text: str, reference: str) -> float:
    try:
        found: float = scorer.compute_score([text], [reference])[0]
    except IndexError:  # the package drops two-letter sentences, and fails on a text without others
        return 0.0
    return min(found, 1.0)


def _score_filled(pairs: Sequence[tuple[str, str]], score: Callable[[list[str], list[str]], Any]) -> list[float]:
    """Score the pairs in which both sides have text; the others are 0."""
    filled = [place for place, (reference, text) in enumerate(pairs) if reference.strip() and text.strip()]
    found = score([pairs[place][1] for place in filled], [pairs[place][0] for place in filled]) if filled else []
    scores = {place: float(value) for place, value in zip(filled, found, strict=True)}
    return [scores.get(place, 0.0) for place in range(len(pairs))]


def _bert_scorer(model: str) -> Any:
    try:
        from bert_score import BERTScorer

        # The package knows the best layer of hub models; of a model in a folder, use the last one.
        layers = {"num_layers": _layers(model)} if Path(model).is_dir() else {}
        scorer = BERTScorer(model_type=model, **layers)
        if layers:  # a tokenizer saved without a length has none to truncate to
            scorer._tokenizer.model_max_length = min(scorer._tokenizer.model_max_length, BERT_TOKENS)
        return scorer
    except ImportError as error:
        raise MissingBackendError(
            "bertscore needs an additional package: run `pip install 'wardround[bertscore]'`"
        ) from error
    except (OSError, KeyError, ValueError) as error:
        raise MissingBackendError(
            f"bertscore cannot load the model {model!r} ({error}); it is fetched once from the Hugging Face hub, "
            "which needs the network, or name the folder of one"
        ) from error


def _layers(folder: str) -> int:
    from transformers import AutoConfig

    from llm.model_folders import only_data

    only_data(Path(folder))  # the package would ask whether to run the model's code
    layers: int = AutoConfig.from_pretrained(folder, trust_remote_code=False).num_hidden_layers
    return layers


def _rate_scorer(model: str | None) -> Any:
    folder = Path(model) if model is not None else None
    models = {seat: str(folder / name.rpartition("/")[2]) for seat, name in RATE_MODELS.items()} if folder else {}
    try:
        import torch
        from RaTEScore import RaTEScore

        if folder:
            from llm.model_folders import only_data

            only_data(folder)
        scorer = RaTEScore(use_gpu=torch.cuda.is_available(), **models)
    except ImportError as error:
        raise MissingBackendError(
            "ratescore needs an additional package: run `pip install 'wardround[ratescore]'`"
        ) from error
    except (OSError, ValueError) as error:
        raise MissingBackendError(
            f"ratescore cannot load its two models ({error}); they are fetched once from the Hugging Face hub, which "
            "needs the network, or name a folder that holds both (`--model FOLDER`, with "
            f"{' and '.join(name.rpartition('/')[2] for name in RATE_MODELS.values())} in it); `--recall rate_style` "
            "works offline and measures something similar"
        ) from error
    if log := sys.modules.get("loguru"):
        log.logger.disable("PyRuSH")  # its sentence splitter prints its input
    return scorer
