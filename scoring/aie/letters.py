"""The one option that a doctor's words choose, however the letter is written."""

import re
import unicodedata
from collections.abc import Mapping

from cases.vocabulary import normalise

_LEAD = (
    r"(?:(?:the|my|final|correct|best|most likely|so|therefore)\b[\s,]*)*(?:answer|option|choice|diagnosis)\b"
    r"\s*(?:is|would be)?\s*[:=]?\s*"
    r"|(?:正确|最终|最佳|我的)?(?:答案|选项|选择|诊断|应选|选)\s*(?:应为|应是|是|为)?\s*:?\s*"
)
_LEADS = re.compile(rf"(?:{_LEAD})+", re.IGNORECASE)
_LETTER = re.compile(
    r"([(\[<{]?)\s*([A-Za-z])(?![A-Za-z])\s*([)\]>}]?)\s*((?:选?项)?[.:,;/、。\-)]*)\s*", re.IGNORECASE
)
_SAID = re.compile(rf"(?i:{_LEAD})[(\[]?\s*((?![AI]\s+\w)[A-Z])(?![A-Za-z])")
_ANOTHER = re.compile(r"\s*[)\]]?\s*(?:或者?|or|and|和|/|,)?\s*[(\[]?([A-Z])(?![A-Za-z])")
_TAKEN_BACK = re.compile(
    r"[\s)\]]*(?:(?:is|was|can be|could be|seems|would be)\s+)?"
    r"(?:not|wrong|incorrect|false|excluded|ruled out|unlikely)\b"
    r"|项?(?:以外|之外|除外|不对|不正确|不是|错|可以?排除|被排除|不可能)",
    re.IGNORECASE,
)


def chosen_letter(text: str | None, options: Mapping[str, str | None]) -> str | None:
    """The letter of the one option that a text chooses; None if it chooses none, or leaves open which.

    ``B``, ``b``, ``(B)``, ``B. name``, ``Answer: B``, ``**B**``, ``答案是B``, ``选B项`` and the whole name of one
    option. Not ``B or C``, not ``A cold``, not ``B`` with the name of another option, not a letter that is taken back
    (``Answer: B is excluded``) or followed by another answer, and no letter that is none of the options;
    without options any letter counts.
    """
    folded = unicodedata.normalize("NFKC", text or "")
    folded = "".join(sign for sign in folded if unicodedata.category(sign) != "Cf")  # what has no width
    folded = re.sub(r"[*_`#\"]", "", folded).strip()
    lead = _LEADS.match(folded)
    said = folded[lead.end() :] if lead else folded
    letter = _opening(said, options, led=lead is not None)
    if letter is None:
        named = [key for key, name in options.items() if name and normalise(name) == normalise(said)]
        letter = named[0] if len(named) == 1 else None
    told = _told(folded) | ({letter} if letter else set())
    letter = told.pop() if len(told) == 1 else None
    return letter if letter is not None and (not options or letter in options) else None


def _told(text: str) -> set[str]:
    """The letters that sentences of a text give as the answer; none of those that are taken back at once."""
    found: set[str] = set()
    for match in _SAID.finditer(text):
        rest = text[match.end() :]
        if not _TAKEN_BACK.match(rest):
            found |= {match[1].upper(), *(another[1] for another in [_ANOTHER.match(rest)] if another)}
    return found


def _opening(said: str, options: Mapping[str, str | None], *, led: bool) -> str | None:
    """The letter that a text opens with, unless another follows it or it is a word (a cold, I think)."""
    if not (found := _LETTER.match(said)):
        return None
    letter, rest = found[2].upper(), said[found.end() :]
    if ((another := _ANOTHER.match(rest)) and another[1] != letter) or _TAKEN_BACK.match(rest):
        return None
    if any(name and key != letter and normalise(rest) == normalise(name) for key, name in options.items()):
        return None  # "B. Asthma", where asthma is C
    marked = not rest or found[1] or found[3] or found[4]
    word = letter in "AI" or found[2].islower()
    name = options.get(letter)
    if name and (normalise(rest) == normalise(name) or (not word and normalise(rest).startswith(normalise(name)))):
        return letter
    return letter if marked or (led and not word) else None
