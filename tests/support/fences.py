"""The parts of a prompt outside the data tags, where instructions belong."""

import re
from collections.abc import Iterable

from cases.injections import Attack, attacks

_FENCED = re.compile(r'<data name="[^\n]*">\n.*?\n</data>', re.DOTALL)


def outside(text: str) -> str:
    """Return the text without the contents of data tags."""
    return _FENCED.sub("", text)


def marks(attack: Attack) -> list[str]:
    """Return the longest part of each wording of an attack that escaping leaves unchanged."""
    return [max(re.split(r'[".:：，,;{}\[\]\n]', text), key=len).strip() for text in (attack.en, attack.zh)]


MARKS = [mark for attack in attacks() for mark in marks(attack)]


def obeyed(texts: Iterable[str]) -> list[str]:
    """Return the marks of attacks outside the data tags, and closing tags without an opening one."""
    found = []
    for text in texts:
        instructions = outside(text)
        found += [mark for mark in (*MARKS, "</data") if mark in instructions]
    return found
