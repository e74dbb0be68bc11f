"""The closing question of a record, its lettered options and the right letter, however a file writes them."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from cases.text.prose import phrase
from cases.text.sentences import last_sentence
from cases.vocabulary import normalise, patterns

_MOST_MARKS = 300  # each of which the options may begin at; there are 26 letters
_MARK = re.compile(r"[(（]\s*([A-Za-zＡ-Ｚａ-ｚ])\s*[)）]|(?<!\S)([A-Za-zＡ-Ｚａ-ｚ])\s*[.．、:：)）]")
_PATTERNS = patterns("cases", "vocabularies/patterns")


def closing_question(record: str) -> tuple[str, str]:
    """Split the closing question from a record; one of them is empty if the text is only the other.

    The question is the last sentence, if it ends in a question mark or a colon, or the end of that sentence: where a
    record breaks off without a full stop (:func:`cut_question`), and where all of it is one sentence, in whose last
    clause something is asked.
    """
    record = record.strip()
    last = last_sentence(record)
    if not last.endswith(("?", "？", ":", "：")):
        return record, ""
    begins = len(record) - len(cut_question(last)[1])
    if not begins and (clauses := [*_PATTERNS["clause_asks"].finditer(record)]):
        begins = clauses[-1].end()
    return record[:begins].rstrip(" ,，；;\r\n\t"), record[begins:].strip()


def cut_question(sentence: str) -> tuple[str, str]:
    """Split what runs into a question without a full stop, as tables of results do: "... AST: 12 U/L Which of ...".

    The first part is empty if the question begins the sentence.
    """
    begins = max((match.start() for match in _PATTERNS["asks_within"].finditer(sentence)), default=0)
    return sentence[:begins].rstrip(), sentence[begins:]


def asked_for(question: str) -> str:
    """Return what a question asks for: ``diagnosis``, ``plan`` (the next step), or nothing of a case (empty)."""
    return next((what for what in ("diagnosis", "plan") if _PATTERNS[f"asks_{what}"].search(question)), "")


def exam_key(
    items: list[str], question: str, options: Mapping[str, str], option: str, right: Sequence[str], what: str
) -> dict[str, Any]:
    """Return the answer key of an exam's case, in which the right answers are ``what`` they say (:func:`asked_for`)."""
    return {
        "examination_items": items,
        "diagnosis": list(right) if what == "diagnosis" else [],
        "treatment_course": "; ".join(right) if what == "plan" else "",
        "question": question,
        "options": options,
        "option": option,
        "inferred": ["examination_items"],
    }


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
        found = _entries(given) or {chr(ord("A") + n): phrase(one) for n, one in enumerate(given)}
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


def _entries(texts: list[str]) -> dict[str, str]:
    """Return the options of a list by the marks that its entries begin with; empty if these do not run from A on."""
    marks = [_MARK.match(text.strip()) for text in texts]
    found = {_letter_in(mark): phrase(mark.string[mark.end() :]) for mark in marks if mark}
    return found if list(found) == [chr(ord("A") + place) for place in range(len(texts))] else {}


def _marked(text: str) -> dict[str, str]:
    """Return the options of a text by its marks, which run from A on; empty if there are no two, or one is left out."""
    marks = list(islice(_MARK.finditer(text), _MOST_MARKS))
    at_start = [mark for mark in marks if not text[: mark.start()].rpartition("\n")[2].strip()]
    # "A. Hepatitis B.\nB. ...": a letter that ends a line marks nothing.
    before_text = [mark for mark in marks if mark in at_start or text[mark.end() :].partition("\n")[0].strip()]
    runs = [_run(pool[place:]) for pool in (at_start, before_text) for place in range(len(pool))]
    run = max(runs, key=len, default=[])
    if len(run) < 2:
        return {}
    left_out = ord("A") + len(run) + 1
    for mark in before_text:
        beyond = mark.start() > run[-1].start() and (mark[1] or mark in at_start) and _kind(mark) == _kind(run[0])
        if beyond and ord(_letter_in(mark)) == left_out:
            return {}
    ends = [*(mark.start() for mark in run[1:]), len(text)]
    return {_letter_in(mark): phrase(text[mark.end() : end]) for mark, end in zip(run, ends, strict=True)}


def _run(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the first mark, if an A, with the next B after it, the next C, ... of its kind and case."""
    run: list[re.Match[str]] = []
    for mark in marks:
        if _letter_in(mark) == chr(ord("A") + len(run)) and _kind(mark) == _kind(marks[0]):
            run.append(mark)
    return run if run[:1] == marks[:1] else []


def _letter_in(mark: re.Match[str]) -> str:
    return letter(mark[1] or mark[2])


def _kind(mark: re.Match[str]) -> tuple[bool, bool]:
    return bool(mark[1]), (mark[1] or mark[2]).islower()  # not "(A) Vitamin C. (B) ...", nor "(A) Lipoprotein(a) ..."
