"""The user's own folders: a cache, and what is to be kept."""

import os
from functools import cache
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """Return the user's cache folder: ``WARDROUND_CACHE``, or the system's default."""
    return Path(os.environ.get("WARDROUND_CACHE") or _systems_cache_folder())


@cache  # asked for each text that is embedded
def _systems_cache_folder() -> str:
    return platformdirs.user_cache_dir("wardround")


def state_folder() -> Path:
    """Return the user's folder for what no cache may lose, by the system's convention (``XDG_STATE_HOME`` on Linux)."""
    return Path(platformdirs.user_state_dir("wardround"))
