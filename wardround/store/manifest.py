"""The manifest of a run: what its results rest on."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cases import Case
from llm.prices import price_source
from prompts.folders import prompt_files, prompt_folders
from wardround.config.experiment import Experiment
from wardround.config.selection import Item
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
    experiment: Experiment, items: Sequence[Item], remembered: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """What a result rests on: configuration, versions, prompts, plug-ins and data.

    Args:
        experiment: what is run.
        items: on which cases or notes.
        remembered: how many verified cases the memory holds, by department; None if it is not used.
    """
    return {
        "configuration": experiment.identity,
        "data": {"cases" if experiment.data.notes is None else "notes": len(items), "fingerprint": _fingerprint(items)},
        "memory": dict(remembered) if remembered is not None else None,
        "prompts": prompt_hashes(),
        "plugins": record_plugins(),
        "prices": price_source(),
        "seed": experiment.seed,
        "versions": versions(_PACKAGES),
        "git": git_state(),
    }


def pictures_of(items: Sequence[Item]) -> list[Path]:
    """The files of all pictures."""
    cases = (item for item in items if isinstance(item, Case))
    return [Path(case.folder, image.file) for case in cases for image in case.examinations.images]


def _fingerprint(items: Sequence[Item]) -> str:
    """A hash of the cases and their pictures."""
    digest = hashlib.sha256("\n".join(item.model_dump_json() for item in items).encode())
    for picture in pictures_of(items):
        digest.update(hashlib.sha256(picture.read_bytes()).digest())
    return digest.hexdigest()[:32]


def prompt_hashes() -> dict[str, str]:
    """A hash of every prompt file as it is found now, by its path under ``prompts/``."""
    found: dict[str, Path] = {}
    for folder in reversed(prompt_folders()):
        found |= prompt_files(folder)
    return {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in sorted(found.items())}
