"""Which languages have all prompts. A language is a folder; English is the reference."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from prompts.files import REFERENCE, Language, PromptError, joined, parse, read
from prompts.folders import OURS, cached_with_prompts, languages, prompt_files, prompt_folders
from prompts.loading import load_prompt
from prompts.templates import compiled
from prompts.words import load_descriptions, load_words

_SHIPPED = frozenset(languages())


def check_language(language: Language) -> Language:
    """Return the language if it has all built-in prompts; those of plug-ins are checked when they are used.

    Raises:
        PromptError: the language has no folder, a file is missing, or a file lacks something that the English one has.
    """
    if language not in _SHIPPED or prompt_folders() != (OURS,):  # tests check the built-in ones
        _check_language(language)
    return language


@cached_with_prompts
def whole_languages() -> tuple[str, ...]:
    """Return the languages that have all built-in prompts; a plug-in may bring its own prompts in further ones."""
    return tuple(filter(_is_whole, languages()))


def _is_whole(language: Language) -> bool:
    try:
        check_language(language)
    except PromptError:
        return False
    return True


def warm_up() -> None:
    """Read all prompts and wordings of every language, so that no file is read later."""
    for language in whole_languages():
        _check_language(language)
        load_descriptions(language)


@cached_with_prompts
def _check_language(language: Language) -> None:
    if language not in languages():
        raise PromptError(
            f"there are no prompts in the language {language!r}; available: {', '.join(languages())}; name a folder "
            "that has them with --prompts (docs/languages.md)"
        )
    known = {name for folder in prompt_folders() for name in prompt_files(folder)}
    wanted = _reference_files(prompt_files(OURS))
    if absent := [name for name in wanted if f"{language}/{name}" not in known]:
        more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        raise PromptError(f"the language {language!r} lacks {', '.join(absent[:5])}{more}, which English has")
    names = [name for name in _reference_files(known) if f"{language}/{name}" in known]
    for name, _, suffix in (name.rpartition(".") for name in names):
        if suffix == "toml":
            load_words(name, language)
        elif "/stages/" not in name:
            _check_prompt(name, language, [stage for stage in names if "/stages/" in stage])


def _reference_files(files: Iterable[str]) -> list[str]:
    return sorted(name.removeprefix(f"{REFERENCE}/") for name in files if name.startswith(f"{REFERENCE}/"))


def _check_prompt(name: str, language: Language, stages: list[str]) -> None:
    names = [Path(stage).stem for stage in stages]
    for stage in names if _is_of_a_stage(name, language) else [None]:
        prompt = load_prompt(name, language, stage)
        if unknown := prompt.variables - (passed := _passed_variables(name)):
            raise PromptError(
                f"prompt {name} ({language}) declares variables that are not provided: {joined(unknown)}; the English "
                f"one declares {joined(passed) or 'none'}"
            )
        for template in (prompt.system, prompt.user):
            compiled(template)


def _is_of_a_stage(name: str, language: Language) -> bool:
    """Whether a prompt, or an opening before it, takes words from the text of a stage."""
    seen: set[str] = set()  # that a prompt opens itself is refused when it is loaded
    while name not in seen:
        seen.add(name)
        header = parse(name, read(name, language))[0]
        if "stage_texts" in header:
            return True
        name = header.get("opening", name)
    return False


def _passed_variables(name: str) -> frozenset[str]:
    """Return what a role passes to its prompt: the variables of the built-in (or else a plug-in's) English prompt."""
    *_, first = (path for folder in prompt_folders() if (path := folder / REFERENCE / f"{name}.md").is_file())
    header = parse(name, first.read_text("utf-8-sig"))[0]
    before = _passed_variables(header["opening"]) if "opening" in header else frozenset()
    return before | frozenset(header.get("variables", ()))


class _LanguageSchema:
    """Offers the existing languages in a form."""

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "enum": languages()}


# A language that has all prompts.
SpokenLanguage = Annotated[str, AfterValidator(check_language), _LanguageSchema()]
