"""Find the single option that a doctor's words choose, however the letter is written."""

import re
import unicodedata
from collections.abc import Mapping

from cases.vocabulary import normalise, patterns

_NEW_SENTENCE = re.compile(r"[.;!。\n]")
_NUMBER = re.compile(r"[(\[]?\s*([0-9]{1,2})(?![0-9])")
_PATTERNS = patterns("scoring.aie", "letters")
_LONGEST_NAME = 2_000  # characters of a text that may be an option's name beside a letter
_NEAR = 40  # characters before an answer, in which it may be denied


def chosen_letter(text: str | None, options: Mapping[str, str | None]) -> str | None:
    """Return the letter of the option that a text chooses; None if it chooses none or is ambiguous.

    Recognised are ``B``, ``b``, ``(B)``, ``B. name``, ``name (B)``, ``name - B``, ``Answer: B``, ``**B**``,
    ``答案是B``, ``选B项``, ``B is correct``, a letter alone on the first line, and the full name of one
    option, which may itself begin with a letter (``E. coli``). Not recognised are ``B or C``, ``A cold``,
    ``B-cell lymphoma``, ``B`` with the name of another option, a letter that is denied (``不能选B``), retracted
    (``Answer: B is excluded``) or followed by another answer, and a letter that is not an option; without options, any
    letter counts. Options may have numbers.
    """
    folded = unicodedata.normalize("NFKC", text or "")
    folded = "".join(sign for sign in folded if unicodedata.category(sign) != "Cf")  # zero-width characters
    folded = re.sub(r"[*_`#\"${}“”「」『』【】]|\\(?:boxed|text(?:bf)?|mathbf)|</?\w+>", "", folded).strip(" \t\n\r'‘’")
    lead = _PATTERNS["leads"].match(folded)
    rest = folded[lead.end() :] if lead else folded
    named = [key for key, name in options.items() if name and _alike(rest, name, key)]
    if len(named) == 1 and len(rest) > 2 and rest not in options:  # of blood groups, "B." is the letter
        return named[0]
    letter = _opening(rest, options, led=lead is not None) or _number(rest, options)
    if letter not in options and len(named) == 1:
        letter = named[0]
    stated = _stated_letters(folded) | ({letter} if letter else set())
    letter = stated.pop() if len(stated) == 1 else None
    return letter if letter is not None and (not options or letter in options) else None


def _alike(text: str, name: str, letter: str) -> bool:
    """Whether a text is the name of an option, alone or with the option's letter after it, set off by a sign."""
    forms = {normalise(text)}
    if beside := len(text) <= _LONGEST_NAME and _PATTERNS["letter_last"].fullmatch(text):
        forms.add(normalise(f"{beside[1]} {beside[2]}"))
        if beside[2].upper() == letter:
            forms.add(normalise(beside[1]))
    return normalise(name) in forms


def _stated_letters(text: str) -> set[str]:
    """Return the letters that sentences of a text give as the answer, without those denied or retracted at once."""
    found: set[str] = set()
    for match in _PATTERNS["said"].finditer(text):
        before = text[max(0, match.start() - _NEAR) : match.start()]
        if not _PATTERNS["denied"].search(before) and not _PATTERNS["taken_back"].match(text, match.end()):
            another = _another(text, match.end(), match.end())
            found |= {match[1].upper(), *([another] if another else [])}
    return found


def _another(text: str, letter_end: int, start: int) -> str | None:
    """Return the letter with which a text goes on behind an answer, unless a sentence denies it (``B. A is wrong``)."""
    found = _PATTERNS["another"].match(text, start)
    if found and _NEW_SENTENCE.search(text[letter_end : found.start(1)]):
        return None if _PATTERNS["taken_back"].match(text, found.end()) else found[1]
    return found[1] if found else None


def _number(text: str, options: Mapping[str, str | None]) -> str | None:
    """Return the number of an option that a file numbers, alone or before the option's own name."""
    if not (found := _NUMBER.match(text)) or found[1] not in options:
        return None
    rest, name = normalise(text[found.end() :]), options[found[1]]
    return found[1] if not rest or (name and rest == normalise(name)) else None


def _opening(text: str, options: Mapping[str, str | None], *, led: bool) -> str | None:
    """Return the letter at the start of a text, unless another follows or it is a word ("A cold", "I think")."""
    if not (found := _PATTERNS["letter"].match(text)):
        return None
    letter, rest = found[2].upper(), text[found.end() :]
    name = options.get(letter)
    if name and normalise(rest) == normalise(name):  # which may begin with a letter: "A. T-cell lymphoma"
        return letter
    if _another(text, found.end(2), found.end()) not in (None, letter) or _PATTERNS["taken_back"].match(rest):
        return None
    others = [normalise(name) for key, name in options.items() if name and key != letter]
    if normalise(rest) in others or any(len(name) > 1 and normalise(text).startswith(name) for name in others):
        return None  # "B. Asthma", where asthma is C; "E. coli is likely", where that is A
    alone = not rest or "\n" in found[0] or _PATTERNS["confirmed"].match(rest)
    marked = alone or found[1] or found[3] or found[4]
    word = letter in "AI" or found[2].islower()
    if name and not word and normalise(rest).startswith(normalise(name)):
        return letter
    if _PATTERNS["part_of_a_name"].match(text, found.end(2)):
        return None
    return letter if marked or (led and not word) else None
