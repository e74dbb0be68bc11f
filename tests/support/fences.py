"""What of a prompt stands outside of the data tags, where instructions are."""

import re
from collections.abc import Iterable

from cases.injections import Attack, attacks

_FENCED = re.compile(r'<data name="[^\n]*">\n.*?\n</data>', re.DOTALL)


def outside(text: str) -> str:
    """The text without what stands in data tags."""
    return _FENCED.sub("", text)


def marks(attack: Attack) -> list[str]:
    """The longest run of each wording of an attack that no escaping changes."""
    return [max(re.split(r'[".:：，,;{}\[\]\n]', text), key=len).strip() for text in (attack.en, attack.zh)]


MARKS = [mark for attack in attacks() for mark in marks(attack)]


def obeyed(texts: Iterable[str]) -> list[str]:
    """The marks of attacks that a reader of instructions alone would read, and any tag that closes nothing."""
    found = []
    for text in texts:
        left = outside(text)
        found += [mark for mark in (*MARKS, "</data") if mark in left]
    return found
