"""The manifest of a run: what its results rest on."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cases import Case
from llm.prices import price_source
from prompts.folders import prompt_files, prompt_folders
from wardround.config.experiment import Experiment
from wardround.plugins import record_plugins
from wardround.store.provenance import git_state, versions

_PACKAGES = (
    "wardround",
    "langgraph",
    "langchain-core",
    "langchain-openai",
    "chromadb",
    "sentence-transformers",
    "pydantic",
)


def manifest_of(
    experiment: Experiment, cases: Sequence[Case], remembered: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """What a result rests on: configuration, versions, prompts, plug-ins and data.

    Args:
        experiment: what is run.
        cases: on which cases.
        remembered: how many verified cases the memory holds, by department; None if it is not used.
    """
    return {
        "configuration": experiment.identity,
        "data": {"cases": len(cases), "fingerprint": _fingerprint(cases)},
        "memory": dict(remembered) if remembered is not None else None,
        "prompts": prompt_hashes(),
        "plugins": record_plugins(),
        "prices": price_source(),
        "seed": experiment.seed,
        "versions": versions(_PACKAGES),
        "git": git_state(),
    }


def _fingerprint(cases: Sequence[Case]) -> str:
    """A hash of the cases and their pictures."""
    digest = hashlib.sha256("\n".join(case.model_dump_json() for case in cases).encode())
    for case in cases:
        for image in case.examinations.images:
            digest.update(hashlib.sha256(Path(case.folder, image.file).read_bytes()).digest())
    return digest.hexdigest()[:32]


def prompt_hashes() -> dict[str, str]:
    """A hash of every prompt file as it is found now, by its path under ``prompts/``."""
    found: dict[str, Path] = {}
    for folder in reversed(prompt_folders()):
        found |= prompt_files(folder)
    return {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in sorted(found.items())}
