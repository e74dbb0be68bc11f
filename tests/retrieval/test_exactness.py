from pathlib import Path

import numpy as np
import pytest

from cases.vocabulary import DEPARTMENTS
from retrieval import Memory, RememberedCase, build_memory, open_memory
from tests.retrieval.examples import appendicitis


@pytest.mark.slow
def test_two_thousand_clustered_cases_are_found_as_an_exact_scan_finds_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    departments = rng.integers(0, 19, 2_040)
    centres = rng.normal(size=(19, 5, 384))
    vectors = centres[departments, rng.integers(0, 5, 2_040)] + 0.5 * rng.normal(size=(2_040, 384))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    stored, queries = vectors[:2_000], vectors[2_000:]
    memory = build_memory([], tmp_path, embedding="synthetic")
    cases = [
        RememberedCase(id=f"{row:04}", verified=True, department=DEPARTMENTS.names[departments[row]])
        for row in range(2_000)
    ]
    memory.add(cases, stored)
    by_index = Memory(memory._client, location="test", embedding="synthetic", shared=True)
    for department, query in zip(departments[2_000:], queries, strict=True):
        similarities = stored.astype(float) @ query.astype(float)
        for name, rows in (
            (DEPARTMENTS.names[department], np.flatnonzero(departments[:2_000] == department)),
            (None, np.arange(2_000)),
        ):
            nearest = rows[np.argsort(-similarities[rows])[:3]]
            for found in (memory.recall(query, name), by_index.recall(query, name)):
                assert [int(neighbour.case.id) for neighbour in found] == nearest.tolist()
    memory.close()


@pytest.mark.slow
def test_real_embeddings_find_the_case_with_the_symptoms_asked_for(tmp_path: Path) -> None:
    stroke = appendicitis("stroke").model_copy(
        update={
            "patient": appendicitis().patient.model_copy(
                update={"chief_complaint": "Sudden weakness of the left arm and slurred speech", "present_illness": ""}
            )
        }
    )
    build_memory([appendicitis(), stroke], tmp_path).close()
    memory = open_memory(tmp_path)
    found = memory.recall("I suddenly can't lift my arm and my words come out wrong", "Surgery")
    assert [neighbour.case.id for neighbour in found] == ["stroke", "a1"]
    assert found[0].similarity > found[1].similarity + 0.1
    assert memory.recall("belly pain on the right side", "Surgery", exclude={"stroke"})[0].case.id == "a1"
    memory.close()
