"""What a result rests on besides its data: versions, the state of the code; and how two manifests differ."""

import os
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """The installed version of each package; None if it is not installed."""
    return {package: _version(package) for package in packages}


def git_state() -> dict[str, Any] | None:
    """The commit that the code was run from and whether it was changed; None outside a checkout."""
    folder = Path(__file__).parent
    command = ["git", "-C", str(folder)]
    try:
        commit = subprocess.run([*command, "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10)
        status = subprocess.run(
            [*command, "status", "--porcelain"], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit.stdout.strip(), "changed": bool(status.stdout.strip())}


def differences(before: Any, now: Any, where: str) -> list[str]:
    """What differs between two parts of manifests, a line each."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted({*before, *now})
        return [change for key in keys for change in differences(before.get(key), now.get(key), f"{where}.{key}")]
    return [] if before == now else [f"{where}: was {before!r}, is {now!r}"]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut; its folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.part")
    with draft.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
