"""The user's own cache folder."""

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """Return the user's cache folder: ``WARDROUND_CACHE``, or the system's default."""
    return Path(os.environ.get("WARDROUND_CACHE") or platformdirs.user_cache_dir("wardround"))
