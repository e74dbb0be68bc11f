"""Retrieval: earlier cases, stored as twelve features and found by their symptoms (MedCase-RAG)."""

from cases.text.symptoms import describe_symptoms
from retrieval.embedding import embed
from retrieval.embedding_models import DEFAULT_MODEL, MULTILINGUAL_MODEL, EmbeddingModelError, warn_of_languages
from retrieval.features import RememberedCase, feature_line, feature_text, remember
from retrieval.kinship import Kin, kin_of
from retrieval.memory import CaseMemoryError, Count, Memory, Neighbour
from retrieval.opening import build_memory, builtin_counts, open_memory, warn_of_other_languages

__all__ = [
    "DEFAULT_MODEL",
    "MULTILINGUAL_MODEL",
    "CaseMemoryError",
    "Count",
    "EmbeddingModelError",
    "Kin",
    "Memory",
    "Neighbour",
    "RememberedCase",
    "build_memory",
    "builtin_counts",
    "describe_symptoms",
    "embed",
    "feature_line",
    "feature_text",
    "kin_of",
    "open_memory",
    "remember",
    "warn_of_languages",
    "warn_of_other_languages",
]
