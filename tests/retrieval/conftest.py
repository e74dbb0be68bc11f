"""Fixtures: no test reads or writes the user's cache; texts get cheap vectors unless a test wants the real model."""

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval import Memory
from retrieval.embedding import unit_rows


def cheap_embed(texts: Sequence[str], model: str = "cheap") -> NDArray[np.float32]:
    """A vector of 16 numbers for each text, the same for the same text."""
    seeds = [int.from_bytes(hashlib.sha256(f"{model} {text}".encode()).digest()[:8]) for text in texts]
    rows = np.stack([np.random.default_rng(seed).normal(size=16) for seed in seeds])
    return unit_rows(rows)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def cheap_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.memory.embed", cheap_embed)
    monkeypatch.setattr("retrieval.opening.embed", cheap_embed)


@pytest.fixture
def memory(cheap_vectors: None) -> Iterator[Memory]:
    """An empty memory in this process."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    opened = Memory(client, location="test", embedding="cheap", prefix=f"test-{uuid.uuid4().hex}")  # type: ignore[arg-type]
    yield opened
    opened.close()
