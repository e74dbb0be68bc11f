"""Check a folder of prompts that overrides ours (``--prompts``) before any model is asked."""

import logging
import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cases.validation import nearest
from llm.role import declared_roles
from prompts import Prompt, PromptError, laid_over, load_descriptions, load_prompt, load_words
from prompts.folders import is_language, prompt_files, prompt_folders
from prompts.words import DESCRIPTIONS
from wardround.config.sections import leaves

_log = logging.getLogger(__name__)

_REFERENCE = "en"
_LONGEST = 2**20  # bytes; no prompt of ours has more than 11,000


def check_overlay(folder: str | Path) -> str:
    """Check that each prompt of a folder has a valid path and sections, and uses only variables that its role gives.

    A prompt that leaves out a variable of ours, as an older copy may, is told as a warning, and so are
    wordings without a key of ours, for which ours is used.

    Returns:
        The absolute path of the folder.

    Raises:
        PromptError: no such folder, no prompt in it, or an invalid one; names the file and the fault.
    """
    path = Path(os.path.expanduser(folder)).resolve()
    if not path.is_dir():
        raise PromptError(f"prompts {folder}: folder not found")
    if not (found := prompt_files(path)):
        raise PromptError(f"prompts {folder}: contains no prompt; expected files such as en/medchain/general.md")
    with laid_over(None):
        builtin = prompts_in_use()
    for place, file in found.items():
        _check_place(folder, place, file, builtin)
    changed = {place.partition("/")[0] for place in found}
    with laid_over(path):
        in_use = prompts_in_use()
        for place, file in in_use.items():
            if place.partition("/")[0] in changed:
                try:
                    _check_in_use(folder, place, file, sorted(in_use), builtin)
                except PromptError as error:
                    raise PromptError(f"prompts {folder}: {error}") from error
    return str(path)


def _check_in_use(
    folder: str | Path, place: str, file: Path, in_use: Sequence[str], builtin: Mapping[str, Path]
) -> None:
    """Load a prompt, wordings or descriptions in a language that the folder changes."""
    language, _, name = place.partition("/")
    if name == f"{DESCRIPTIONS}.toml":
        load_descriptions(language)
    elif name.endswith(".toml"):
        words = load_words(name.removesuffix(".toml"), language)
        if older := _keys_of(words) - _keys_of(tomllib.loads(file.read_text("utf-8-sig"))):
            _log.warning("prompts %s: %s lacks %s; ours is used", folder, place, ", ".join(sorted(older)))
    elif "/stages/" not in place:
        _check_prompt(place, file, in_use, builtin)


def _check_place(folder: str | Path, place: str, file: Path, builtin: Mapping[str, Path]) -> None:
    """Check that a file of the folder is of a sound size, in the folder of a language, and overrides a prompt."""
    language, _, name = place.partition("/")
    names = {place.partition("/")[2] for place in builtin} | {f"{name}.md" for _, _, name in declared_roles()}
    if not file.is_file() or file.stat().st_size > _LONGEST:
        raise PromptError(f"prompts {folder}: {place} is not a file of {_LONGEST:,} bytes at most")
    if not is_language(language):
        raise PromptError(
            f"prompts {folder}: {place} is in no folder of a language; expected a place such as en/medchain/general.md"
        )
    if name not in names:
        raise PromptError(f"prompts {folder}: {place} matches no prompt: {nearest(name, names)}")


def prompts_in_use() -> dict[str, Path]:
    """Return every prompt file in use, by its path in its folder."""
    return {place: file for under in reversed(prompt_folders()) for place, file in prompt_files(under).items()}


def _keys_of(words: Mapping[str, Any]) -> set[str]:
    """Return the keys of wordings, those of a table behind its name, such as ``patient.off_topic``."""
    return {".".join(place) for place, _ in leaves(words)}


def _check_prompt(place: str, file: Path, in_use: Sequence[str], builtin: Mapping[str, Path]) -> None:
    """Load a prompt, at each stage where it is used, and compare its variables with those of the overridden prompt."""
    language, _, name = place.removesuffix(".md").partition("/")
    stage_folder = f"{language}/{name.rpartition('/')[0]}/stages/"
    has_stages = "\nstage_texts:" in file.read_text("utf-8-sig", "replace").partition("\n---\n")[0]
    stages = [text.removeprefix(stage_folder).removesuffix(".md") for text in in_use if text.startswith(stage_folder)]
    for stage in stages if has_stages else [None]:
        prompt = load_prompt(name, language, stage)
        given = _given_to(prompt, stage, language if place in builtin else _REFERENCE)
        if unknown := prompt.variables - given:
            raise PromptError(
                f"prompt {name} ({language}) uses variables that it is not given: {', '.join(sorted(unknown))}"
            )
        if unused := given - prompt.variables:
            _log.warning("prompt %s (%s) does not use what ours does: %s", name, language, ", ".join(sorted(unused)))


def _given_to(prompt: Prompt, stage: str | None, language: str) -> frozenset[str]:
    """Return the variables of the overridden prompt; the prompt's own if it overrides none."""
    with laid_over(None), suppress(PromptError):
        return load_prompt(prompt.name, language, stage).variables
    return prompt.variables
