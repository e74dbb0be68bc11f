from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from cases.text.record_sentences import RecordSentence
from nodes.offline.pairs import answer_scores
from retrieval import embedding
from retrieval.vector_cache import StoredVectors


def test_the_sentences_of_a_record_are_written_to_the_users_cache_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written: list[int] = []
    put = StoredVectors.put

    def counted(cache: StoredVectors, vectors: Mapping[bytes, embedding.Half]) -> None:
        written.append(len(vectors))
        put(cache, vectors)

    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path))
    monkeypatch.setattr(StoredVectors, "put", counted)
    monkeypatch.setattr(
        embedding, "encoder", lambda model, identity: lambda texts: np.tile(np.eye(1, 512), (len(texts), 1))
    )
    told = [f"The lodger from number {number} coughs, and the canary sneezes." for number in range(71, 79)]
    facts = [RecordSentence("present_illness", text) for text in told]
    answer_scores("Does the lodger of 71 to 78 cough?", facts, "en")
    assert sorted(written) == [1, 2 * len(told) + 1]  # the question; all sentences, their first clauses, the second
