"""The manifest of a run: everything that its results depend on.

It is written twice, each with its checksum, as a run without its manifest could be mistaken for any other.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cases.readable import unpiped
from llm.build import without_seed
from llm.checksums import CHECKSUM, checksum, digest, unsealed
from llm.model_folders import fingerprint
from llm.prices import price_source
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.overlay import prompts_in_use
from wardround.config.selection import StoredItem
from wardround.plugins import record_plugins
from wardround.store.durable_lines import DAMAGED
from wardround.store.provenance import differences, git_state, versions, write_whole

MANIFEST = "manifest.json"
COPY = ".manifest.json"

FORMAT = 1  # of a run directory; higher where an earlier version would misread it, and not for further fields
_PACKAGES = (
    *("wardround", "langgraph", "langchain-core", "langchain-openai", "chromadb", "sentence-transformers", "pydantic"),
)
_CHANGES_LISTED = 12  # of a configuration, in a message
_SCORE_AGAIN = " How a changed metric scores what is recorded: docs/doors/metric.md."
_FILLED = (
    " A list or dictionary of your script that its code fills while it runs counts as changed: start Python again, or "
    "let functools.cache remember."
)
_NAME_FILES = ("data.cases", "data.notes", "plugins", "prompts", "workflow.example")
_PLACES = tuple(f"configuration.{key}: " for key in _NAME_FILES)
_PLACE_OF = {
    "memory_content": "configuration.workflow.memory: ",
    "embedding": "configuration.workflow.embedding: ",
    "terms": "configuration.data.terms: ",
}


def manifest_of(
    experiment: Experiment, items: Sequence[StoredItem], beside: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what the results depend on: configuration, versions, prompts, plug-ins and data.

    ``beside`` has what they depend on besides the experiment and its cases: `memory` and the like (``runner.py``).
    """
    example = experiment.context.example  # the user's own consultation
    weights = {folder: fingerprint(folder) for _, folder in experiment.context.model_folders()}
    terms = experiment.data.terms
    return {
        "format": FORMAT,
        "configuration": experiment.identity,
        "data": {"cases" if experiment.data.notes is None else "notes": len(items), "fingerprint": _fingerprint(items)},
        "memory": None,
        **({"weights": weights} if weights else {}),
        **({"terms": digest(Path(terms).read_bytes())} if terms else {}),
        **(beside or {}),
        "prompts": {**prompt_hashes(), **({"workflow.example": digest(Path(example).read_bytes())} if example else {})},
        "plugins": record_plugins(experiment.known_names),
        "prices": price_source(),
        "seed": experiment.seed,
        "without_seed": without_seed(experiment.context.models, experiment.context),
        "versions": versions(_PACKAGES),
        "git": git_state(),
    }


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run: a manifest, or its copy."""
    return (folder / MANIFEST).is_file() or (folder / COPY).is_file()


def this_program() -> str:
    """Return version and commit of the program that is running."""
    return program_of({"versions": versions(_PACKAGES), "git": git_state()})


def other_program(manifest: Mapping[str, Any]) -> str:
    """Return which other state of the program made a run, as far as it is recorded; empty if it was this one."""
    then = program_of(manifest)
    return "" if then == this_program() else then


def program_of(manifest: Mapping[str, Any]) -> str:
    """Return version and commit of the program that began a run."""
    version, commit = (manifest.get("versions") or {}).get("wardround"), (manifest.get("git") or {}).get("commit")
    return f"wardround {version}" + (f" of commit {commit[:12]}" if commit else "")


def refuse_other_run(root: Path, before: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Do nothing if a run directory's manifest, written ``before``, is that of this run, wherever its files lie.

    Raises:
        ConfigurationError: the results would depend on something else now; names the differences.
    """
    recorded = [part for part in (*_PLACE_OF, "sub_departments", "weights") if part in before]  # not in older runs
    places = (*_PLACES, *(place for part, place in _PLACE_OF.items() if part in before and part in manifest))
    changes = [
        change
        for part in ("configuration", "data", "memory", "prompts", "plugins", *recorded)
        for change in differences(before.get(part), manifest.get(part), part)
        # Where these lie does not affect results; their content has fingerprints, compared here too.
        if not change.startswith(places)
    ]
    if not changes:
        return
    listed = "\n".join(f"  {change}" for change in changes[:_CHANGES_LISTED])
    more = f"\n  and {len(changes) - _CHANGES_LISTED} more" if len(changes) > _CHANGES_LISTED else ""
    # Another version may have other prompts, and read the same file of cases otherwise.
    made = other_program(before) if any(change.startswith(("prompts", "data")) for change in changes) else ""
    raise ConfigurationError(
        f"{root}: contains a run with another configuration:\n{listed}{more}\n"
        f"Choose another --out, or use the previous configuration{made and f' and program, {made}'}."
        + (_SCORE_AGAIN if any(change.startswith("plugins") for change in changes) else "")
        + (_FILLED if any(change.startswith("plugins.__main__.") for change in changes) else "")
    )


def planned(manifest: Mapping[str, Any]) -> int:
    """Return the number of cases in the whole run, counted once per epoch."""
    data = manifest["data"]
    return int(data["cases"] if "cases" in data else data["notes"]) * int(manifest["configuration"]["epochs"])


def write_manifest(root: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest and its copy, each whole or not at all."""
    content = {name: part for name, part in manifest.items() if name != CHECKSUM}
    text = json.dumps({**content, CHECKSUM: checksum(content)}, ensure_ascii=False, indent=2) + "\n"
    for name in (COPY, MANIFEST):
        write_whole(root / name, text)


def read_manifest(file: Path) -> dict[str, Any]:
    """Read a manifest, without its checksum.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a manifest, or its checksum is wrong.
        ConfigurationError: it is of a later version, in a format that this one would misread.
    """
    manifest: dict[str, Any] = json.loads(unsealed(unpiped(file).read_text("utf-8")))
    if isinstance(form := manifest.get("format"), int) and form > FORMAT:
        raise ConfigurationError(
            f"{file}: has format {form}, and this version reads up to {FORMAT}; use the program of the run, "
            f"{program_of(manifest)}, or a later one"
        )
    if not isinstance(manifest.get("configuration"), dict) or not isinstance(manifest.get("run"), str):
        raise ValueError(
            "it has no configuration or no run id; of what `reconstruct` 0.1.0 wrote, use the dialogue file"
        )
    return manifest


def recorded_manifest(root: Path) -> dict[str, Any] | None:
    """Return the manifest of a run directory, or else its copy; None if there is neither.

    Raises:
        ValueError: neither can be read, or they are of two runs.
    """
    return _both(root)[0]


def _both(root: Path) -> tuple[dict[str, Any] | None, dict[Path, str]]:
    """Read the manifest and its copy: the content of either, None if there is neither, and the faults by file."""
    found: list[dict[str, Any]] = []
    faults: dict[Path, str] = {}
    for file in (root / MANIFEST, root / COPY):
        try:
            found.append(read_manifest(file))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except ConfigurationError:
            raise
        except (OSError, ValueError) as error:
            faults[file] = f"is not a manifest ({error})"
    if found and any(other != found[0] for other in found):
        raise ValueError(
            f"{root}: {MANIFEST} and {COPY} belong to two runs; delete the one that does not belong to the results"
        )
    if faults and not found:
        file, why = next(iter(faults.items()))
        raise ValueError(f"{file}: {why}")
    if found and not (root / MANIFEST).exists():
        faults = {root / MANIFEST: "is missing", **faults}
    return found[0] if found else None, faults


def mend_manifest(root: Path, *, mend: bool = True) -> list[str]:
    """Restore a missing or damaged manifest from its copy, or the copy from the manifest; return what was wrong.

    A missing copy is no fault, as older runs have none. Without ``mend``, nothing is written.

    Raises:
        ValueError: both are damaged, or they are of two runs.
        OSError: a file cannot be read or written.
    """
    manifest, faults = _both(root)
    for file in faults if mend else ():
        if file.exists():
            (root / DAMAGED).mkdir(exist_ok=True)
            file.replace(root / DAMAGED / file.name)
    if mend and manifest is not None and (faults or not (root / COPY).exists()):
        write_manifest(root, manifest)
    return [f"{file}: {why}" for file, why in faults.items()]


def _fingerprint(items: Sequence[StoredItem]) -> str:
    """Return a hash of the cases and their pictures."""
    content = hashlib.sha256()
    for at, item in enumerate(items):
        content.update((b"\n" if at else b"") + item.json)
    for picture in (picture for item in items for picture in item.pictures):
        content.update(hashlib.sha256(picture.read_bytes()).digest())
    return content.hexdigest()[:32]


def prompt_hashes() -> dict[str, str]:
    """Return a hash of every prompt file in use, by its path under ``prompts/``."""
    return {name: digest(path.read_bytes()) for name, path in sorted(prompts_in_use().items())}
