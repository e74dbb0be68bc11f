"""Split clinical text into sentences and clauses, in English and Chinese."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from cases.text.words import HAN

LONGEST_SENTENCE = 2_000  # characters; rules take time that grows with its square, and records have some hundreds
# A half-width semicolon between Chinese words is one too: charts are often typed so.
_STOP = re.compile(rf"(?<=[{HAN}]);(?=\s*[{HAN}\d])|" r"[。！？；.!?]+(?:[”’」』）)]|\"(?=\s|$))*|[\r\n\u2028\u2029]+")
_ENDS_ALONE = re.compile(r"[。！？；;\r\n\u2028\u2029]")
_MORE_FOLLOWS = re.compile(rf"\s|$|[{HAN}]")
_LIST_MARK = re.compile(r"^\s*(?:[-•*]\s*)?[(（]?(?:\d{1,2}|[A-Za-z])$|[:：;；,，(（]\s*\d{1,2}$")
_ABBREVIATION = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|[Vv]s|[Aa]pprox|[Ff]igs?|[Cc]f|[Rr]esp|[Ii]ncl|[Ee]\.g|[Ii]\.e|[pP]\.[oO]|[iI]\.[vVmM]"
    r"|U\.S|[A-Z]\. ?[A-Z])$"
)
# Ends a sentence unless a lower-case letter follows: "at 5 p.m. He", but "S. aureus", "2. asthma".
_OFTEN_WITHIN = re.compile(r"(?:\b[A-Z]|\.[A-Za-z]|\d)$")
# The number of a list entry (its closing sign tells the style): not the decimal "1.5", the ratio "2:1", nor the 2 of
# "stage 2.".
_ENTRY = re.compile(
    rf"(?:^|(?<=[\s,，;；。.、{HAN}]))(?P<open>[(（]?)(?P<number>\d{{1,2}})\s?(?P<close>[)）、．]|[.:：](?!\d(?!型)))\s*"
    r"|(?P<circled>[①-⑳])\s*"
)
_NEAR = 40  # characters before a number, in which what it counts stands
_COUNTED = re.compile(r"(?:stage|grade|type|class|phase|level|degree|nos?\.?|number|第)\s*$", re.IGNORECASE)
_NUMBER_OF = re.compile(r"\b[Nn]o$")
_CLAUSE_END = re.compile(
    rf"[;；，：]|[,:](?=\s|$|[{HAN}])|(?=\b(?:but|however|although|though)\b)|(?=但是?|不过|然而)", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text with their full stops; only white space is lost.

    A sentence ends at a full stop, question or exclamation mark, at a Chinese semicolon, and at the end of its line.
    The points of decimals, abbreviations, initials and list marks (``1. Pneumonia``, ``Dr. Wu``, ``E. coli``,
    ``No. 5``) do not end one; nor does the English semicolon, which only ends a clause. A part without letters or
    digits is not a sentence of its own. A sentence of more than `LONGEST_SENTENCE` characters is none, and is cut.
    """
    return [part.strip() for part in pieces(text) if part.strip()]


def first_sentence(text: str) -> str:
    """Return the first sentence of a text; empty if it has none."""
    return next(iter(sentences(text)), "")


def last_sentence(text: str) -> str:
    """Return the last sentence of a text; empty if it has none."""
    return (sentences(text) or [""])[-1]


def entries(text: str, first: int = 1) -> list[str]:
    """Return the entries of a list numbered from ``first``, without their numbers; any other text as a single entry.

    All numbers must have one style and be complete and in order ("1. A；2. B", "(1) A (2) B", "①A②B"); otherwise the
    entries cannot be told apart, and the text is not split.
    """
    marks = [
        mark for mark in _ENTRY.finditer(text) if not _COUNTED.search(text, max(0, mark.start() - _NEAR), mark.start())
    ]
    if not marks or text[: marks[0].start()].strip():
        return [text]
    style = marks[0]["open"], marks[0]["close"]
    marks = [mark for mark in marks if (mark["open"], mark["close"]) == style]
    numbers = [int(mark["number"] or ord(mark["circled"]) - ord("①") + 1) for mark in marks]
    parts = [
        text[mark.end() : after].strip(" \t\r\n,，;；。.、:：")
        for mark, after in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=True)
    ]
    return parts if numbers == [*range(first, first + len(marks))] and all(parts) else [text]


def entries_of(texts: Iterable[str]) -> list[str]:
    """Return the entries of several texts, whose numbers may run on from one text to the next ("1. A", "2. B")."""
    found: list[str] = []
    numbered = False
    for text in texts:
        own = entries(text)
        if own == [text] and numbered:  # not after "Burn": "2. degree burn" is no second entry
            own = entries(text, len(found) + 1)
        numbered = numbered or own != [text]
        found += own
    return found


@lru_cache(maxsize=1024)  # rules analyse the same few texts repeatedly
def pieces(text: str) -> tuple[str, ...]:
    """Return the sentences of a text with the white space after them, so that they join to the original text."""
    cuts, read, has_word = [0], 0, False
    for stop in _STOP.finditer(text):
        has_word, read = has_word or _has_word(text[read : stop.start()]), stop.start()
        if has_word and _ends_sentence(text, cuts[-1], stop):
            end = stop.end()
            while text[end : end + 1].isspace():
                end += 1
            cuts.append(end)
            has_word, read = False, end
    if not _has_word(text[cuts[-1] :]):
        cuts = cuts[:-1] or cuts
    whole = (text[start:end] for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True))
    return tuple(part for sentence in whole for part in _cut(sentence))


def _cut(sentence: str) -> Iterator[str]:
    """Yield the parts of a sentence that is too long to be one, cut at a blank or comma where there is one."""
    while len(sentence) > LONGEST_SENTENCE:
        end = max(sentence.rfind(mark, LONGEST_SENTENCE // 2, LONGEST_SENTENCE) for mark in " ,，、") + 1
        yield sentence[: end or LONGEST_SENTENCE]
        sentence = sentence[end or LONGEST_SENTENCE :]
    yield sentence


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence without separators; decimals are not split."""
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
