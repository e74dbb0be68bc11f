"""The plug-ins that the user has loaded on this machine, noted in a file: those of others are not run unasked."""

import os
from contextlib import suppress
from pathlib import Path

import platformdirs


def noted() -> list[str]:
    """Return what loads each of them; empty if none is noted, or the file cannot be read."""
    with suppress(OSError, UnicodeError):
        return _own_file().read_text("utf-8").split("\n")
    return []


def note(source: str) -> None:
    """Record that the user has loaded a plug-in; where that cannot be written, recorded runs must be read with it.

    Several processes may append at once, so a line may be there twice; nothing is ever rewritten.
    """
    if source not in noted() and "\n" not in source:
        with suppress(OSError, UnicodeError):
            _own_file().parent.mkdir(parents=True, exist_ok=True)
            with _own_file().open("a", encoding="utf-8") as out:
                out.write(f"{source}\n")


def why_foreign(name: str) -> str:
    """Say why a plug-in that is not the user's own is not loaded."""
    file = _own_file()
    kept = next(place for place in (file, *file.parents) if place.exists())
    unnoted = "" if os.access(kept, os.W_OK) else f" (or it was not noted: {file} cannot be written)"
    return f"plug-in {name} has not been used here before{unnoted}; --plugin runs its code"


def _own_file() -> Path:
    """Return a file in the user's folder for what no cache may lose (``XDG_STATE_HOME`` on Linux)."""
    return Path(platformdirs.user_state_dir("wardround"), "plugins.txt")
