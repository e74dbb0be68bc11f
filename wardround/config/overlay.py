"""A folder of prompts that is to lie over ours (``--prompts``), checked before anybody is asked anything."""

from pathlib import Path
from typing import Any

from cases.registry import nearest
from llm.role import prompts_of_roles
from prompts import Prompt, PromptError, laid_over, load_prompt, load_words
from prompts.folders import prompt_files, prompt_folders

_PATTERN = "en"


def check_overlay(folder: str | Path) -> str:
    """Check a folder of prompts: that each lies where one is looked for, has its sections, and uses what it is given.

    Returns:
        The whole path of the folder.

    Raises:
        PromptError: no such folder, no prompt in it, or one that cannot be used; names the file and the fault.
    """
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise PromptError(f"prompts {folder}: there is no such folder")
    if not (found := prompt_files(path)):
        raise PromptError(f"prompts {folder}: holds no prompt, such as en/medchain/general.md")
    with laid_over(None):
        ours = prompts_in_use()
    names = {place.partition("/")[2] for place in ours} | {f"{name}.md" for name in prompts_of_roles()}
    for place in found:
        if (name := place.partition("/")[2]) not in names:
            raise PromptError(f"prompts {folder}: {place} is the place of no prompt: {nearest(name, names)}")
    with laid_over(path):
        laid = prompts_in_use()
        for language in {place.partition("/")[0] for place in found}:
            for place, file in laid.items():
                if place.startswith(f"{language}/") and place.endswith(".toml"):
                    _check_words(f"prompts {folder}", place, language)
                elif place.startswith(f"{language}/") and "/stages/" not in place:
                    _check(f"prompts {folder}", place, file, sorted(laid), ours)
    return str(path)


def prompts_in_use() -> dict[str, Path]:
    """Every prompt file as it is found now, by its path in its folder."""
    return {place: file for under in reversed(prompt_folders()) for place, file in prompt_files(under).items()}


def _check(where: str, place: str, file: Path, laid: list[str], ours: dict[str, Path]) -> None:
    """Load a prompt, at each stage that it may be put at, and compare what it uses with what the role gives."""
    language: Any
    language, _, name = place.removesuffix(".md").partition("/")
    texts = f"{language}/{name.rpartition('/')[0]}/stages/"
    of_a_stage = "\nstage_texts:" in file.read_text("utf-8", "replace").partition("\n---\n")[0]
    stages = [text.removeprefix(texts).removesuffix(".md") for text in laid if text.startswith(texts)]
    for stage in stages if of_a_stage else [None]:
        try:
            prompt = load_prompt(name, language, stage)
            if unknown := prompt.variables - _given(prompt, stage, language if place in ours else _PATTERN):
                raise PromptError(f"prompt {name} ({language}) uses what it is not given: {', '.join(sorted(unknown))}")
        except PromptError as error:
            raise PromptError(f"{where}: {error}") from error


def _check_words(where: str, place: str, language: str) -> None:
    try:
        load_words(place.removeprefix(f"{language}/").removesuffix(".toml"), language)
    except PromptError as error:
        raise PromptError(f"{where}: {error}") from error


def _given(prompt: Prompt, stage: str | None, language: Any) -> frozenset[str]:
    """The variables of the prompt that it lies over; its own if there is none."""
    with laid_over(None):
        try:
            return load_prompt(prompt.name, language, stage).variables
        except PromptError:
            return prompt.variables
