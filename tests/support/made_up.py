"""A made-up language: the English prompts and words in rot13."""

import codecs
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from prompts.folders import OURS, prompt_files

MADE_UP = "xx"
_CODE = re.compile(r"(\{\{.*?\}\}|\{%.*?%\}|\{\w*\}|<[^<>\n]{1,12}>)", re.DOTALL)  # not words of the language
_LONG = 12  # letters; shorter phrases occur in any text


def write_made_up(folder: Path) -> Path:
    """Write the language into a folder that can be overlaid on ours."""
    for name, source in prompt_files(OURS).items():
        language, _, path = name.partition("/")
        if language == "en":
            target = folder / MADE_UP / path
            target.parent.mkdir(parents=True, exist_ok=True)
            convert = _markdown if target.suffix == ".md" else _toml
            target.write_text(convert(source.read_text("utf-8")), "utf-8")
    return folder


@cache
def phrases(language: str, folder: Path = OURS) -> set[str]:
    """Return all phrases of a language that are long enough to be recognised."""
    found: set[str] = set()
    for name, path in prompt_files(folder).items():
        if name.startswith(f"{language}/"):
            text = path.read_text("utf-8")
            texts = [_body(text)[1]] if path.suffix == ".md" else _strings(tomllib.loads(text))
            found |= {part for words in texts for part in _long_phrases(words)}
    return found


def _long_phrases(words: str) -> Iterator[str]:
    for line in _CODE.sub("\n", words).splitlines():
        if sum(letter.isalpha() * (1 if letter.isascii() else 2) for letter in line) >= _LONG:
            yield line.strip(" #*-.,:;，。：；\t")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _rot13(text: str) -> str:
    return "".join(
        part if number % 2 else codecs.encode(part, "rot13") for number, part in enumerate(_CODE.split(text))
    )


def _body(text: str) -> tuple[str, str]:
    head, mark, body = text.partition("\n---\n") if text.startswith("---\n") else ("", "", text)
    return head + mark, body


def _markdown(text: str) -> str:
    head, body = _body(text)
    return head + "".join(part if part.startswith("# ") else _rot13(part) for part in re.split(r"(?m)^(# \w+\n)", body))


def _toml(text: str) -> str:
    def convert(found: re.Match[str]) -> str:
        return _rot13(found[0].replace("\\n", "\0")).replace("\0", "\\n")

    lines = []
    for line in text.splitlines():
        key, mark, value = line.partition(" = ")
        if line.startswith("#") or line.startswith("["):
            lines.append(line)
        elif mark:
            lines.append(key + mark + re.sub(r'"(?:[^"\\]|\\.)*"', convert, value))
        else:
            lines.append(re.sub(r'"(?:[^"\\]|\\.)*"', convert, line))
    return "\n".join(lines) + "\n"
