"""Where prompts lie: in this package, in folders that plug-ins add, and in one that a run lays over all of them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from pathlib import Path

OURS = Path(str(files("prompts")))
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")
_added: list[Path] = []
_laid_over: ContextVar[Path | None] = ContextVar("laid_over", default=None)  # of a run; several may go on at once


def prompt_folders() -> tuple[Path, ...]:
    """The folders that prompts are looked for in, each before the next."""
    over = _laid_over.get()
    return (*([over] if over else []), *reversed(_added), OURS)


def add_prompts(folder: str | Path) -> None:
    """Let prompts be found in a folder too, ``FOLDER/LANGUAGE/NAME.md``, for the rest of this process.

    For a plug-in whose roles have prompts of their own: ``wr.add_prompts(Path(__file__).with_name("prompts"))``.

    Raises:
        NotADirectoryError: there is no such folder.
    """
    path = Path(folder).resolve()
    if not path.is_dir():
        raise NotADirectoryError(f"prompts {folder}: there is no such folder")
    if path not in _added:
        _added.append(path)


@contextmanager
def laid_over(folder: str | Path | None) -> Iterator[None]:
    """Lay a folder of prompts over all others, name by name; what it does not have is read from them."""
    token = _laid_over.set(Path(folder).resolve() if folder else None)
    try:
        yield
    finally:
        _laid_over.reset(token)


def languages() -> list[str]:
    """The languages that there are prompts in: each a folder."""
    return list(_languages(prompt_folders()))


@cache
def _languages(folders: tuple[Path, ...]) -> tuple[str, ...]:
    """Looked up once per set of folders: a server asks for them where it may not wait for a disk."""
    found = {name.partition("/")[0] for folder in folders for name in prompt_files(folder)}
    return tuple(sorted(language for language in found if _LANGUAGE.fullmatch(language)))


def prompt_files(folder: Path) -> dict[str, Path]:
    """The prompts and words of a folder by their path in it, ``en/medchain/general.md``, ``en/saps/words.toml``."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in (".md", ".toml"))
    return {path.relative_to(folder).as_posix(): path for path in found}


def find_prompt(name: str, language: str, suffix: str = "md") -> Path | None:
    """The file of a prompt, or of words (``toml``), from the first folder that has it."""
    if _LANGUAGE.fullmatch(language) is None:
        return None
    file = f"{language}/{name}.{suffix}"
    return next((path for folder in prompt_folders() if (path := folder / file).is_file()), None)
