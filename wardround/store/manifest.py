"""The manifest of a run: what its results rest on.

It is kept twice, each with its checksum: a run whose manifest is gone could be taken for any other.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cases import Case
from llm.build import without_seed
from llm.checksums import CHECKSUM, checksum, unsealed
from llm.prices import price_source
from wardround.config.experiment import Experiment
from wardround.config.overlay import prompts_in_use
from wardround.config.selection import Item
from wardround.plugins import record_plugins
from wardround.store.durable_lines import DAMAGED
from wardround.store.provenance import git_state, versions, write_whole

MANIFEST = "manifest.json"
COPY = ".manifest.json"

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

    ``remembered`` is how many verified cases the memory holds, by department; None if it is not used.
    """
    return {
        "configuration": experiment.identity,
        "data": {"cases" if experiment.data.notes is None else "notes": len(items), "fingerprint": _fingerprint(items)},
        "memory": dict(remembered) if remembered is not None else None,
        "prompts": prompt_hashes(),
        "plugins": record_plugins(),
        "prices": price_source(),
        "seed": experiment.seed,
        "without_seed": without_seed(experiment.context.models, experiment.context),
        "versions": versions(_PACKAGES),
        "git": git_state(),
    }


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run: a manifest, or the copy of one that is gone."""
    return (folder / MANIFEST).is_file() or (folder / COPY).is_file()


def planned(manifest: Mapping[str, Any]) -> int:
    """How many cases, each epoch counted, the run has in all."""
    data = manifest["data"]
    return int(data["cases"] if "cases" in data else data["notes"]) * int(manifest["configuration"]["epochs"])


def write_manifest(root: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest and its copy, each whole or not at all."""
    content = {name: part for name, part in manifest.items() if name != CHECKSUM}
    text = json.dumps({**content, CHECKSUM: checksum(content)}, ensure_ascii=False, indent=2) + "\n"
    for name in (COPY, MANIFEST):
        write_whole(root / name, text)


def read_manifest(file: Path) -> dict[str, Any]:
    """A manifest, without its checksum.

    Raises:
        OSError: it cannot be read.
        ValueError: it is none, or not as it was written.
    """
    manifest: dict[str, Any] = json.loads(unsealed(file.read_text("utf-8")))
    if not isinstance(manifest.get("configuration"), dict) or not isinstance(manifest.get("run"), str):
        raise ValueError("it has no configuration or no run")
    return manifest


def recorded_manifest(root: Path) -> dict[str, Any] | None:
    """The manifest of a run directory, from its copy if need be; None if it has neither.

    Raises:
        ValueError: none of them can be read, or they are of two runs.
    """
    found: list[dict[str, Any]] = []
    faults = []
    for file in (root / MANIFEST, root / COPY):
        try:
            found.append(read_manifest(file))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            faults.append(f"{file}: is not a manifest ({error})")
    if found and any(other != found[0] for other in found):
        raise ValueError(f"{root}: {MANIFEST} and {COPY} are of two runs; delete the one that is not of these results")
    if faults and not found:
        raise ValueError(faults[0])
    return found[0] if found else None


def manifest_faults(root: Path) -> dict[Path, str]:
    """What is wrong with the manifest and its copy, by file; that an older run has no copy is nothing wrong.

    Raises:
        ValueError: there is no good one.
    """
    faults: dict[Path, str] = {}
    if recorded_manifest(root) is not None:
        for file in (root / MANIFEST, root / COPY):
            try:
                read_manifest(file)
            except FileNotFoundError:
                faults |= {file: "is gone"} if file.name == MANIFEST else {}
            except (OSError, ValueError) as error:
                faults[file] = f"is not a manifest ({error})"
    return faults


def mend_manifest(root: Path) -> list[str]:
    """Put the copy in the place of a manifest that is gone or damaged, and the other way round; names what was so.

    Raises:
        ValueError: there is no good one.
        OSError: a file cannot be read or written.
    """
    good, faults = recorded_manifest(root), manifest_faults(root)
    for file in faults:
        if file.exists():
            (root / DAMAGED).mkdir(exist_ok=True)
            file.replace(root / DAMAGED / file.name)
    if good is not None and (faults or not (root / COPY).exists()):
        write_manifest(root, good)
    return [f"{file}: {why}" for file, why in faults.items()]


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
    found = sorted(prompts_in_use().items())
    return {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in found}
