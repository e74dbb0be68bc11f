"""Render nested JSON values as English or Chinese prose."""

import re
from collections.abc import Iterable, Mapping

from cases.text.words import has_chinese
from cases.vocabulary import patterns

# Labels that add nothing: "Chest CT: Findings: normal" reads better without.
_BLAND = {"finding", "findings", "result", "results", "level", "value", "description", "report", "结果", "描述"}

_PATTERNS = patterns("cases", "vocabularies/patterns")
_STATEMENT = re.compile(r"(?<=[.;。；!])\s+(?=[A-Z(\u3400-\u9fff])|(?<=;)\s+|(?<=[。；])")
_ENDS_SENTENCE = tuple(".!?。！？;；:：")


def label(key: str) -> str:
    """Return a key as a person would write it: ``Right_Upper_Limb`` becomes ``Right Upper Limb``."""
    return re.sub(r"[_\s]+", " ", key).strip()


def is_bland(key: str) -> bool:
    """Whether a label says nothing about its value (``Findings``)."""
    return label(key).lower() in _BLAND


def phrase(value: object) -> str:
    """Return a JSON value as one phrase: ``Label: value; Label: value``; empty if it records nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return _joined(_entry(str(key), content) for key, content in value.items())
    if isinstance(value, list):
        return _joined(phrase(content) for content in value)
    return recorded(" ".join(str(value).split()).rstrip(" .。;；,，"))


def recorded(text: str) -> str:
    """Remove statements that nothing was recorded or done ("Not done, but would show ...")."""
    statements = _STATEMENT.split(text)
    remaining = [_recorded(part) for part in statements]
    if remaining == statements:
        return text
    return paragraph(*(part[:1].upper() + part[1:] for part in remaining if part)).rstrip(" .。;；,，")


def _recorded(statement: str) -> str:
    bare = statement.strip().rstrip(" .。;；,，")
    if _PATTERNS["declined"].search(bare):
        return ""
    main, _, rest = _PATTERNS["but"].sub("\n", bare, count=1).partition("\n")
    if not _PATTERNS["nothing"].fullmatch(main.rstrip(" ,.")):
        return statement
    empty = _PATTERNS["hypothetical"].search(rest) or _PATTERNS["nothing"].fullmatch(rest)
    return "" if empty else rest


def sentence(name: str, value: object) -> str:
    """Return ``Name: phrase.``, or nothing if nothing is recorded."""
    content = phrase(value)
    return paragraph(f"{name}{_colon(name)}{content}") if content else ""


def prose(value: object) -> str:
    """Return the entries of a value as one sentence each."""
    if isinstance(value, Mapping):
        return paragraph(
            *(phrase(content) if is_bland(str(key)) else sentence(label(str(key)), content)
              for key, content in value.items())
        )  # fmt: skip
    if isinstance(value, list):
        return paragraph(*(phrase(content) for content in value))
    return paragraph(phrase(value))


def paragraph(*parts: str) -> str:
    """Join parts as sentences; empty ones are left out."""
    text = ""
    for part in filter(None, (part.strip() for part in parts)):
        chinese = has_chinese(part)
        text += "" if not text or (chinese and not text[-1].isascii()) else " "
        text += part if part.endswith(_ENDS_SENTENCE) else part + ("。" if chinese else ".")
    return text


def texts(value: object) -> list[str]:
    """Return all texts in a value: list elements, object contents, or the single text."""
    if isinstance(value, Mapping):
        return [text for content in value.values() for text in texts(content)]
    if isinstance(value, list):
        return [text for content in value for text in texts(content)]
    text = phrase(value)
    return [text] if text else []


def listed(value: object) -> list[str]:
    """Return the entries of a list as one phrase each, any other value as a single phrase; empty ones are left out."""
    return [text for text in map(phrase, value if isinstance(value, list) else [value]) if text]


def _entry(key: str, value: object) -> str:
    content = phrase(value)
    if not content or is_bland(key):
        return content
    name = label(key)
    if isinstance(value, Mapping) and len(value) > 1:
        return f"{name}（{content}）" if has_chinese(name) else f"{name} ({content})"
    return f"{name}{_colon(name)}{content}"


def _joined(parts: Iterable[str]) -> str:
    filled = [part for part in parts if part]
    return ("；" if any(map(has_chinese, filled)) else "; ").join(filled)


def _colon(name: str) -> str:
    return "：" if has_chinese(name) else ": "
