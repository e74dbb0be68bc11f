"""Compare two texts word by word."""

import re
from difflib import SequenceMatcher

# Scripts without spaces are compared character by character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+|\s+|[^\w\s]")
_LONGEST = 6_000  # words; longer texts are compared line by line

Marked = list[tuple[str, bool]]


def differing(one: str, other: str) -> tuple[Marked, Marked]:
    """Split both texts into pieces, each with whether the other text lacks it."""
    split = _WORD.findall if max(len(one), len(other)) < _LONGEST * 4 else (lambda text: text.splitlines(keepends=True))
    left, right = split(one), split(other)
    marked: tuple[Marked, Marked] = [], []
    for operation, *ends in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for pieces, words, (start, end) in zip(marked, (left, right), (ends[:2], ends[2:]), strict=True):
            if text := "".join(words[start:end]):
                pieces.append((text, operation != "equal" and bool(text.strip())))
    return marked
