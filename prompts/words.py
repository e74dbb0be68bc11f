"""The wordings of offline rules, ``<language>/<name>.toml``, and what is made of them everywhere: marks, speakers."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from prompts.files import REFERENCE, Language, PromptError, joined, read
from prompts.folders import OURS, cached_with_prompts, find_prompt, is_language, prompt_folders

DESCRIPTIONS = "ask/answers"  # the one file that English lacks, whose descriptions stand in the code


@cached_with_prompts
def load_words(name: str, language: Language) -> Mapping[str, Any]:
    """Read the wordings of offline rules, ``<language>/<name>.toml``, with the keys of the English file.

    A file that lacks keys of ours in that language, as an older copy may, has our wordings for them.

    Raises:
        PromptError: no such file, or its keys or placeholders differ from those of the English file.
    """
    try:
        words = tomllib.loads(read(name, language, "toml"))
    except tomllib.TOMLDecodeError as error:
        raise PromptError(f"{name} ({language}) is not a TOML file: {error}") from error
    shipped = OURS / language / f"{name}.toml"
    if shipped.is_file() and find_prompt(name, language, "toml") != shipped:
        words = _filled(words, tomllib.loads(shipped.read_text("utf-8")))
    pattern = OURS / REFERENCE / f"{name}.toml"
    if pattern.is_file():
        _check_words(f"{name} ({language})", words, tomllib.loads(pattern.read_text("utf-8")))
    return words


@cached_with_prompts
def load_descriptions(language: Language) -> Mapping[str, str]:
    """Read the wordings of answers' descriptions, ``<language>/ask/answers.toml``, by the English ones in the code.

    The files of all folders count, a plug-in's beside ours. What none of them has is said in English.

    Raises:
        PromptError: a file is invalid.
    """
    found: dict[str, str] = {}
    for folder in reversed(prompt_folders()) if is_language(language) else ():
        path = folder / language / f"{DESCRIPTIONS}.toml"
        try:
            words = tomllib.loads(path.read_text("utf-8-sig")) if path.is_file() else {}
        except (OSError, ValueError) as error:
            raise PromptError(f"{path} cannot be read as a TOML file: {error}") from error
        if wrong := [text for text, wording in words.items() if not isinstance(wording, str) or not wording.strip()]:
            raise PromptError(f"{path}: {wrong[0]!r}: expected its wording as a text, found {words[wrong[0]]!r}")
        found |= words
    return found


def mark(kind: str, language: Language) -> str:
    """Return a punctuation mark, or the word for ``nothing``, by its name in `punctuation.toml`."""
    return str(load_words("punctuation", language)[kind])


def listed(things: Iterable[str], language: Language) -> str:
    """Return the things of a list in words, set apart by semicolons if one has a comma itself ("Head, Eyes, Ears")."""
    things = list(things)
    comma = mark("listed", language)
    return in_series(things, language, "series" if any(comma in thing for thing in things) else "listed")


def in_series(texts: Iterable[str], language: Language, kind: str = "series") -> str:
    """Return texts set apart by a mark, without the full stop of one before another."""
    *others, last = [*texts] or [""]
    return mark(kind, language).join([*(text.rstrip().rstrip(".。") for text in others), last])


def with_full_stop(text: str, language: Language) -> str:
    """Return a sentence with the language's full stop, unless it has an ending of its own."""
    text = text.rstrip("；;，,、")
    return text if text.endswith((".", "!", "?", "。", "！", "？")) else text + mark("stop", language)


def speaker(who: str, language: Language) -> str:
    """Return the speaker label in a dialogue that a judge reads."""
    return f"{load_words('judges/words', language)[who]}{mark('label', language)}"


def on_one_line(text: str) -> str:
    """Return a text without line ends: where each line is somebody's, a second one would be taken for another's."""
    return " ".join(text.split())


def said(who: str, words: str, language: Language) -> str:
    """Return a line of a dialogue that a judge reads: the speaker's label and what they said."""
    return f"{speaker(who, language)}{on_one_line(words)}"


def _filled(words: Any, ours: Any) -> Any:
    """Add what an older copy of our wordings lacks; with a key that is not ours, it is taken as misspelt, not older."""
    if not (isinstance(words, dict) and isinstance(ours, dict) and words.keys() <= ours.keys()):
        return words
    return {key: _filled(words[key], value) if key in words else value for key, value in ours.items()}


def _check_words(where: str, words: Any, pattern: Any) -> None:
    if isinstance(words, dict) and isinstance(pattern, dict):
        if absent := pattern.keys() - words.keys():
            raise PromptError(f"{where} lacks {joined(absent)}")
        if unknown := words.keys() - pattern.keys():
            raise PromptError(f"{where} has entries that are not used: {joined(unknown)}")
        for key, value in words.items():
            _check_words(f"{where}: {key}", value, pattern[key])
    elif type(words) is not type(pattern) or (isinstance(pattern, list) and pattern and not words):
        raise PromptError(f"{where}: expected a {type(pattern).__name__}, as in English, found {words!r}")
    elif unknown := _placeholders(words) - _placeholders(pattern):
        raise PromptError(f"{where} has placeholders that are not filled: {joined(unknown)}")
    elif isinstance(words, str) and "{}" in pattern and "{}" not in words:
        raise PromptError(f"{where} has no {{}}, where the English one says what it is about: {pattern!r}")


def _placeholders(words: Any) -> set[str]:
    return set(re.findall(r"\{\w*\}", str(words)))
