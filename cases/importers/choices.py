"""The lettered options of a question and the letter of the right one, however a file writes them."""

import re
import unicodedata
from collections.abc import Mapping

from cases.text.prose import phrase
from cases.vocabulary import normalise

_MARK = re.compile(r"[(（]\s*([A-Za-zＡ-Ｚａ-ｚ])\s*[)）]|(?<!\S)([A-Za-zＡ-Ｚａ-ｚ])\s*[.．、:：)）]")


def lettered(given: object) -> dict[str, str] | None:
    """Return the options by upper-case letter (or number, if a file numbers them); None if there are no two to 26.

    Args:
        given: an object (``{"(a)": ...}``), a list of ``{"key", "value"}`` or of texts (``["A. ...", ...]``, or without
            letters in their order), or one text (``"(A) ... (B) ..."``).
    """
    if isinstance(given, str):
        found = _marked(given)
    elif isinstance(given, list) and all(isinstance(one, Mapping) and {"key", "value"} <= set(one) for one in given):
        found = {str(one["key"]): phrase(one["value"]) for one in given}  # the form used by mirrors
    elif isinstance(given, list) and all(isinstance(one, str) for one in given):
        found = _marked("\n".join(given), len(given)) or {chr(ord("A") + n): phrase(one) for n, one in enumerate(given)}
    elif isinstance(given, Mapping):
        found = {str(key): phrase(text) for key, text in given.items()}
    else:
        return None
    by_letter = {letter(key): text for key, text in found.items() if text}
    return by_letter if 2 <= len(found) <= 26 and len(by_letter) == sum(map(bool, found.values())) else None


def letter(key: object) -> str:
    """Return an option's letter without brackets or stop, in upper case: ``(b)`` and ``Ｂ.`` are ``B``."""
    return normalise(str(key)).upper()


def letter_of(answer: str, options: Mapping[str, str], stated: str = "") -> str:
    """Return the letter of the option that reads like an answer, or that the answer names; empty if none or several do.

    Case, width and a closing stop matter only between options that differ in nothing else.

    Args:
        answer: the answer, in words or as a letter.
        options: the options by letter.
        stated: the letter that the source states, which decides between options with the same words.
    """
    for folded in (str.strip, _folded):
        if alike := [name for name, text in options.items() if folded(text) == folded(answer)]:
            return stated if stated in alike else alike[0] if len(alike) == 1 else ""
    return letter(answer) if letter(answer) in options else ""


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(" .。;；,，")


def _marked(text: str, expected: int = 0) -> dict[str, str]:
    """Return the options of a text by their marks; empty if these do not run from A on, or are not as many."""
    marks = list(_MARK.finditer(text))
    marks = [mark for mark in marks if bool(mark[1]) == bool(marks[0][1])]  # not "(A) Vitamin C. (B) ..."
    names = [letter(mark[1] or mark[2]) for mark in marks]
    wanted = [chr(ord("A") + place) for place in range(expected or len(names))]
    if not marks or names != wanted or text[: marks[0].start()].strip():
        return {}
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {name: phrase(text[mark.end() : end]) for name, mark, end in zip(names, marks, ends, strict=True)}
