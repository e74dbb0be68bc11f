"""Where two texts differ, word by word."""

import re
from difflib import SequenceMatcher

# Scripts without spaces go sign by sign.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+|\s+|[^\w\s]")
_LONGEST = 6_000  # words; longer texts are compared line by line

Marked = list[tuple[str, bool]]


def differing(one: str, other: str) -> tuple[Marked, Marked]:
    """Both texts in pieces, each with whether the other lacks it."""
    cut = _WORD.findall if max(len(one), len(other)) < _LONGEST * 4 else (lambda text: text.splitlines(keepends=True))
    left, right = cut(one), cut(other)
    marked: tuple[Marked, Marked] = [], []
    for kind, *ends in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for pieces, words, (start, end) in zip(marked, (left, right), (ends[:2], ends[2:]), strict=True):
            if text := "".join(words[start:end]):
                pieces.append((text, kind != "equal" and bool(text.strip())))
    return marked
