"""The user's cache folder."""

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
