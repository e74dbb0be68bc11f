"""Text embeddings: one function for all models, cached by content.

Every vector is rounded to half precision, so that computed and cached vectors are identical; this moves the similarity
of two texts by less than 1e-4. Texts are embedded one at a time, so that a vector does not depend on the other texts
of the call (batches of 32 and 8 differ by up to 2e-7 per component). On a CPU this takes no longer (200 descriptions:
2.3 s either way), because nothing is padded.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cases.user_cache import cache_folder
from retrieval.embedding_models import DEFAULT_MODEL, encoder, identity_of, model_lock
from retrieval.vector_cache import SHIPPED, Half, ShippedVectors, user_vectors

_SAVE_EVERY = 256  # texts; a long build that is killed can resume

_shipped = ShippedVectors()


def embed(texts: Sequence[str], model: str = DEFAULT_MODEL) -> NDArray[np.float32]:
    """Embed texts.

    Args:
        texts: n texts; the default model reads the first 256 tokens of each.
        model: ``all-MiniLM-L6-v2`` (English) or ``use-multilingual-v3`` (16 languages, among them Chinese), both from
            installed packages, offline; or the sentence-transformers name or folder of another model. Loaded only if
            a text is not cached.

    Returns:
        Array (n, d) with rows of unit length; (0, 0) if there are no texts.

    Raises:
        EmbeddingModelError: the model cannot be loaded.
    """
    if not texts:
        return np.zeros((0, 0), np.float32)
    identity = identity_of(model)
    texts = [_encodable(text) for text in texts]
    digests = [_digest(identity, text) for text in texts]
    vectors = _cached(digests)
    missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in vectors}
    if missing:
        vectors |= _compute(missing, model, identity)
    return unit_rows([vectors[digest] for digest in digests])


@np.errstate(under="ignore")  # which a program may have set to be an error
def unit_rows(vectors: ArrayLike) -> NDArray[np.float32]:
    """Return the vectors, (n, d) or (d,), scaled to unit length; a zero vector stays as it is."""
    rows = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    lengths[lengths == 0] = 1
    unit: NDArray[np.float32] = rows / lengths
    return unit


def content_digest(text: str, model: str = DEFAULT_MODEL) -> bytes:
    """Return the cache key of a text's vector: SHA-256 (32 bytes) of the model and the text."""
    return _digest(identity_of(model), _encodable(text))


def ship(texts: Iterable[str], path: Path = SHIPPED, model: str = DEFAULT_MODEL) -> int:
    """Embed texts and write them as a file to ship; return the number of different texts.

    The file holds ``digests`` (n, 32) uint8, ``vectors`` (n, d) float16 and ``model``. The same texts always give the
    same file.
    """
    by_digest = {content_digest(text, model): text for text in texts}
    digests = sorted(by_digest)
    vectors = embed([by_digest[digest] for digest in digests], model).astype(np.float16)
    keys = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
    np.savez_compressed(path, digests=keys, vectors=vectors, model=np.array(model))
    return len(digests)


def _digest(identity: str, text: str) -> bytes:
    return hashlib.sha256(f"{identity}\0{text}".encode()).digest()


def _encodable(text: str) -> str:
    """Return the text without lone surrogates, which a tokenizer rejects."""
    return text.encode("utf-8", "replace").decode()


def _cached(digests: Sequence[bytes]) -> dict[bytes, Half]:
    shipped = _shipped.get(digests)
    others = dict.fromkeys(digest for digest in digests if digest not in shipped)
    return shipped | user_vectors(cache_folder()).get(others) if others else shipped


@np.errstate(under="ignore")
def _compute(texts: dict[bytes, str], model: str, identity: str) -> dict[bytes, Half]:
    """Compute the vectors of texts by digest, saving them in steps."""
    vectors: dict[bytes, Half] = {}
    digests = list(texts)
    for start in range(0, len(digests), _SAVE_EVERY):
        batch = digests[start : start + _SAVE_EVERY]
        with model_lock:
            rows = encoder(model, identity)([texts[digest] for digest in batch])
        fresh = dict(zip(batch, np.asarray(rows).astype(np.float16), strict=True))
        user_vectors(cache_folder()).put(fresh)
        vectors |= fresh
    return vectors
