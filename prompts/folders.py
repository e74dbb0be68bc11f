"""Where prompts are found: in this package, in folders of plug-ins, and in one folder that a run lays over them."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from importlib.resources import files
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")

OURS = Path(str(files("prompts")))
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")
_added: list[Path] = []
_laid_over: ContextVar[Path | None] = ContextVar("laid_over", default=None)  # per run; several may be active
_seen: dict[Path, Any] = {}  # by folder that was added or laid over: what its files were then
_edits = 0  # how often such a folder had changed when it was named again


def edition() -> tuple[Any, ...]:
    """Return what a cache of anything read from prompts has to depend on: their folders, and each edit of these."""
    return _edits, *prompt_folders()


def prompt_folders() -> tuple[Path, ...]:
    """Return the folders that are searched for prompts, in order."""
    over = _laid_over.get()
    return (*([over] if over else []), *reversed(_added), OURS)


def cached_with_prompts(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Cache a function that reads prompts, as `functools.cache` does, for each `edition` of them."""
    cached: Any = cache(lambda _, /, *args, **kwargs: function(*args, **kwargs))

    @wraps(function)
    def found(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        result: Found = cached(edition(), *args, **kwargs)
        return result

    return found


def forget() -> None:
    """Forget what was read, so that every prompt is read anew."""
    global _edits
    _edits += 1


def _look_at(folder: Path) -> None:
    """Forget what was read if the folder's files have changed since it was last named, as happens in a notebook."""
    stats = {name: path.stat() for name, path in prompt_files(folder).items() if path.is_file()}
    now = {name: (stat.st_mtime_ns, stat.st_size) for name, stat in stats.items()}
    if _seen.get(folder, now) != now:
        forget()
    _seen[folder] = now


def add_prompts(folder: str | Path) -> None:
    """Add a folder of prompts, ``FOLDER/LANGUAGE/NAME.md``, for the rest of this process.

    For a plug-in whose roles have their own prompts: ``wr.add_prompts(Path(__file__).with_name("prompts"))``. After an
    edit, add the folder again, and its files are read anew.

    Raises:
        NotADirectoryError: there is no such folder.
    """
    path = Path(folder).resolve()
    if folder == "" or not path.is_dir():  # as a path, "" would be the working directory
        raise NotADirectoryError(f"prompts {folder or repr('')}: folder not found")
    _look_at(path)
    if path not in _added:
        _added.append(path)


def is_laid_over() -> bool:
    """Whether a folder overrides prompts just now."""
    return _laid_over.get() is not None


def is_language(name: str) -> bool:
    """Whether a folder of this name holds the prompts of a language."""
    return _LANGUAGE.fullmatch(name) is not None


@contextmanager
def laid_over(folder: str | Path | None) -> Iterator[None]:
    """Let a folder override prompts by name; prompts that it does not have are read from the other folders."""
    path = Path(folder).resolve() if folder else None
    if path is not None:
        _look_at(path)
    token = _laid_over.set(path)
    try:
        yield
    finally:
        _laid_over.reset(token)


def languages() -> list[str]:
    """Return the languages of all prompts, one per folder."""
    return list(_languages())


@cached_with_prompts
def _languages() -> tuple[str, ...]:
    """Return the languages; cached, since a server needs them where it must not read from disk."""
    found = {name.partition("/")[0] for folder in prompt_folders() for name in prompt_files(folder)}
    return tuple(sorted(filter(is_language, found)))


def prompt_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by relative path, such as ``en/medchain/general.md`` or ``en/saps/words.toml``."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in (".md", ".toml"))
    return {path.relative_to(folder).as_posix(): path for path in found}


def find_prompt(name: str, language: str, suffix: str = "md") -> Path | None:
    """Return the file of a prompt, or of wordings (``toml``), from the first folder that has it; None if none has."""
    if not is_language(language):
        return None
    file = f"{language}/{name}.{suffix}"
    return next((path for folder in prompt_folders() if (path := folder / file).is_file()), None)
