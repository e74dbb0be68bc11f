"""The provenance of results besides their data (versions, state of the code), and how two manifests differ."""

import json
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cases.whole_files import replacing


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the installed version of each package; None if it is not installed."""
    return {package: _version(package) for package in packages}


@cache
def git_state() -> dict[str, Any] | None:
    """Return the commit of the code and whether the checkout is modified; None outside a checkout.

    Cached: the process keeps running the code that it has loaded.
    """

    def git(*arguments: str) -> bytes:
        # Without locks: one that a full disk or a kill leaves behind would stop the user's own commits.
        command = ["git", "--no-optional-locks", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, check=True, timeout=10).stdout.strip()

    try:
        return {"commit": git("rev-parse", "HEAD").decode(), "changed": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


def differences(before: Any, now: Any, where: str) -> list[str]:
    """Describe the differences between two parts of manifests, a line each."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted({*before, *now})
        return [change for key in keys for change in differences(before.get(key), now.get(key), f"{where}.{key}")]
    return [] if before == now else [f"{where}: was {before!r}, is {now!r}"]


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, also in a power cut; its folder is created if missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as out:
        out.write(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, content: Any, indent: int = 1) -> None:
    """Write indented JSON, whole or not at all."""
    write_whole(path, json.dumps(content, ensure_ascii=False, indent=indent) + "\n")


def write_json_lines(path: Path, lines: Iterable[Any]) -> int:
    """Write JSON Lines, whole or not at all, one line in memory at a time; return their number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with replacing(path) as out:
        for line in lines:
            out.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
            written += 1
    return written


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
