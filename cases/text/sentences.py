"""Where one sentence of a clinical text ends and the next begins, and one clause; in English and Chinese."""

import re
from functools import lru_cache

from cases.text.words import HAN

_STOP = re.compile(r"[。！？；.!?]+(?:[”’」』）)]|\"(?=\s|$))*|[\r\n\u2028\u2029]+")
_ENDS_ALONE = re.compile(r"[。！？；\r\n\u2028\u2029]")
_MORE_FOLLOWS = re.compile(rf"\s|$|[{HAN}]")
_LIST_MARK = re.compile(r"^\s*(?:[-•*]\s*)?[(（]?(?:\d{1,2}|[A-Za-z])$|[:：;；,，(（]\s*\d{1,2}$")
_ABBREVIATION = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|[Vv]s|[Aa]pprox|[Ff]igs?|[Cc]f|[Rr]esp|[Ii]ncl|[Ee]\.g|[Ii]\.e|[pP]\.[oO]|[iI]\.[vVmM]"
    r"|U\.S|[A-Z]\. ?[A-Z])$"
)
# Ends a sentence unless it goes on with a small letter: "at 5 p.m. He", but "S. aureus", "2. asthma".
_OFTEN_WITHIN = re.compile(r"(?:\b[A-Z]|\.[A-Za-z]|\d)$")
# What numbers an entry of a list (its closing sign tells the style): not the decimal "1.5", nor the 2 of "stage 2.".
_ENTRY = re.compile(
    rf"(?:^|(?<=[\s,，;；。.、{HAN}]))(?P<open>[(（]?)(?P<number>\d{{1,2}})\s?(?P<close>[)）、．:：]|\.(?!\d))\s*"
    r"|(?P<circled>[①-⑳])\s*"
)
_COUNTED = re.compile(r"(?:stage|grade|type|class|phase|level|degree|nos?\.?|number|第)\s*$", re.IGNORECASE)
_NUMBER_OF = re.compile(r"\b[Nn]o$")
_CLAUSE_END = re.compile(
    rf"[;；，：]|[,:](?=\s|$|[{HAN}])|(?=\b(?:but|however|although|though)\b)|(?=但是?|不过|然而)", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with its full stop; nothing but white space is lost.

    A sentence ends at a full stop, question or exclamation mark, at a Chinese semicolon, and with its line. The points
    of decimals, abbreviations, initials and list marks (``Dr. Wu``, ``E. coli``, ``No. 5``, ``1. Pneumonia``) end
    none; nor does the English semicolon, at which only clauses end. What has neither letter nor digit is no sentence
    of its own.
    """
    return [part.strip() for part in pieces(text) if part.strip()]


def first_sentence(text: str) -> str:
    """The first sentence of a text; empty if it has none."""
    return next(iter(sentences(text)), "")


def entries(text: str) -> list[str]:
    """The entries of a list that is numbered from 1 on, without their numbers; any other text as it is, by itself.

    The numbers stand in one style, each once and in order ("1. A；2. B", "(1) A (2) B", "①A②B"): where one is missing
    or stands twice, nobody can tell what belongs together, and nothing is parted.
    """
    marks = [mark for mark in _ENTRY.finditer(text) if not _COUNTED.search(text[: mark.start()])]
    if not marks or text[: marks[0].start()].strip():
        return [text]
    style = marks[0]["open"], marks[0]["close"]
    marks = [mark for mark in marks if (mark["open"], mark["close"]) == style]
    numbers = [int(mark["number"] or ord(mark["circled"]) - ord("①") + 1) for mark in marks]
    parts = [
        text[mark.end() : after].strip(" \t\r\n,，;；。.、:：")
        for mark, after in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=True)
    ]
    return parts if numbers == [*range(1, len(marks) + 1)] and all(parts) else [text]


def pieces(text: str) -> list[str]:
    """The sentences of a text with the white space after them: joined again, they are the text."""
    return list(_pieces(text))


@lru_cache(maxsize=1024)  # rules ask it of the same few texts again and again
def _pieces(text: str) -> tuple[str, ...]:
    cuts = [0]
    for stop in _STOP.finditer(text):
        if _has_word(text[cuts[-1] : stop.start()]) and _ends_sentence(text, cuts[-1], stop):
            cuts.append(len(text) - len(text[stop.end() :].lstrip()))
    if not _has_word(text[cuts[-1] :]):
        cuts = cuts[:-1] or cuts
    return tuple(text[start:end] for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True))


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence, without the commas, colons and semicolons between them; decimals are not cut."""
    return [clause for part in _CLAUSE_END.split(sentence) if (clause := part.strip())]


def _has_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _ends_sentence(text: str, start: int, stop: re.Match[str]) -> bool:
    if _ENDS_ALONE.search(stop[0]):
        return text[stop.end() : stop.end() + 1] not in ("，", "、", ",")
    before = text[max(start, stop.start() - 24) : stop.start()]
    after_chinese = re.match(f"[{HAN}]", before[-1:]) is not None
    if not (after_chinese or _MORE_FOLLOWS.match(text, stop.end())):
        return False
    if stop[0] != ".":
        return True
    follows = text[stop.end() : stop.end() + 8].lstrip()[:1]
    if _LIST_MARK.search(before) and follows:
        return False
    if _NUMBER_OF.search(before) and follows.isdigit():
        return False
    return not (_ABBREVIATION.search(before) or (_OFTEN_WITHIN.search(before) and follows.islower()))
