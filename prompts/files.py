"""Read prompt files, and parse them: a YAML header, then sections."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import yaml

from prompts.folders import find_prompt, languages

Language = str
REFERENCE: Language = "en"  # every other language has its files, with the same sections, variables and keys

# The fields of a header; ``role`` is only for human readers.
_FIELDS = {"role": str, "opening": str, "variables": list, "stage_texts": list}
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader, if available, takes a tenth of the time


class PromptError(ValueError):
    """A prompt file is missing or invalid."""


def read(name: str, language: Language, suffix: str = "md") -> str:
    """Return the text of the file of a prompt, or of wordings (``toml``).

    Raises:
        PromptError: no folder has it, or it cannot be read.
    """
    if (path := find_prompt(name, language, suffix)) is None:
        known = (
            "" if language in languages() else f"; there are {', '.join(languages())}; name its folder with --prompts"
        )
        raise PromptError(f"there is no file prompts/{language}/{name}.{suffix}{known}")
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"prompt {path} cannot be read: {error}") from error


def parse(name: str, source: str) -> tuple[Mapping[str, Any], dict[str, str]]:
    """Return the header of a prompt file, and its sections by title; text before the first one is the section "".

    Raises:
        PromptError: the header is not one, or a section stands twice.
    """
    header: Mapping[str, Any] = {}
    body = source
    if source.startswith("---\n"):
        head, _, body = source[4:].partition("\n---\n")
        try:
            header = _header(head)
        except (ValueError, yaml.YAMLError) as error:
            raise PromptError(f"prompt {name}: header: {' '.join(str(error).split())}") from error
    before, *parts = re.split(r"^# (\w+)\s*$", body, flags=re.MULTILINE)
    titles, texts = parts[::2], parts[1::2]
    if twice := {title for title in titles if titles.count(title) > 1}:
        raise PromptError(f"prompt {name} has two sections of one name: {joined(twice)}")
    sections = {title: text.strip() for title, text in zip(titles, texts, strict=True)}
    return header, {"": before.strip(), **sections} if before.strip() else sections


@cache
def _header(head: str) -> Mapping[str, Any]:
    """Return the header of a prompt, with the type of each field checked.

    Raises:
        ValueError: it is not a mapping, or has an unknown or invalid field.
        yaml.YAMLError: it is not YAML.
    """
    header = yaml.load(head, _Loader) or {}
    if not isinstance(header, dict):
        raise ValueError(f"expected fields with values, found a {type(header).__name__}")
    for field, value in header.items():
        if field not in _FIELDS:
            raise ValueError(f"unknown field {field}; expected one of {joined(_FIELDS)}")
        names = value if isinstance(value, list) else [value]
        if not isinstance(value, _FIELDS[field]) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{field}: {value!r} is not a {'list of names' if _FIELDS[field] is list else 'name'}")
    return header


def joined(names: Iterable[str]) -> str:
    """Return names in alphabetical order, for a message."""
    return ", ".join(sorted(names))
