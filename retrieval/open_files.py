"""How many files this process may open: Chroma holds as many indexes as a fifth of it, and loses what is in others."""

import sys
from contextlib import suppress

_WANTED = 10_240  # macOS, where a shell allows 256, takes no more
_NEEDED = 1_024  # the built-in memory fails at 600 and works at 650


def allow_many() -> None:
    """Raise this process's limit as far as the system lets it."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def remedy() -> str:
    """Return what to do about a limit that may be why a memory cannot be used; empty if it is high enough."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < _NEEDED:
            if soft < hard or hard == resource.RLIM_INFINITY:
                how = f"allow more (`ulimit -n {_WANTED}`)"
            else:
                how = "start in a shell that allows more, or have the hard limit raised (`ulimit -Hn`)"
            return f"; this process may open only {soft} files: {how}"
    return ""
