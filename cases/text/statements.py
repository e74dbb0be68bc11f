"""Extract the content words of a text with polarity and side, for the offline judges.

Rules match words, not meanings. ``No effusion; 15 mm nodule in the left lung`` gives *effusion* (negated), *15mm*,
*nodule* (left), *lung* (left). English words are stemmed; Chinese is segmented by jieba.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from cases.text.sentences import sentences
from cases.text.words import HAN, chinese_words, stem
from cases.vocabulary import AS_TYPED, USUAL_SIGNS, word_list

_DIGIT = re.compile("[0-9]")


class Mention(NamedTuple):
    """A content word as meant in its clause."""

    word: str
    negated: bool = False
    sides: frozenset[str] = frozenset()

    @property
    def exact(self) -> bool:
        """Whether the word has a digit: a measure, grade or level, which must match exactly."""
        return _has_digit(self.word)

    @property
    def plain(self) -> "Mention":
        """The word without polarity and side, if it must match exactly."""
        return Mention(self.word) if self.exact else self


@lru_cache(maxsize=1 << 16)  # judges ask it of the same words again and again
def _has_digit(word: str) -> bool:
    return _DIGIT.search(word) is not None


_WRITTEN = word_list("statements")
_SIDES = {word: frozenset(sides) for word, sides in _WRITTEN["sides"].items()}
_UNITS = {"cm": (10, "mm"), "厘米": (10, "mm"), "mm": (1, "mm"), "毫米": (1, "mm"), "%": (1, "%")}

# Function words of reports.
_EMPTY = frozenset(word_list("function_words")["report"].split())

_CLAUSE_END = re.compile(
    r"\b(?:but|however|although|though|whereas|while|except|besides)\b|但是?|然而|不过|(?<![因从])而(?=是|考虑|支持|符合)",
    re.IGNORECASE,
)
_LIST_GOES_ON = re.compile(r"\b(?:or|nor)\b", re.IGNORECASE)
_MARKS = {name: pattern.replace("\n", "") for name, pattern in _WRITTEN["marks"].items()}
_HAN_MARK = "|".join(pattern for name, pattern in _MARKS.items() if name.startswith("han"))
_MARKS |= {"han": f"(?:(?!{_HAN_MARK})[{HAN}])+", "word": f"(?:[^\\W_{HAN}])+", "comma": "[,，]"}
_TOKEN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _MARKS.items()), re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_POSSESSIVE = re.compile(r"(?<=[a-z])'s\b", re.IGNORECASE)
_POWER = re.compile("(?<=10)[⁰¹²³⁴-⁹]+")  # else 10⁹ is 109
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_SPELLED_UNITS = [(re.compile(spelled, re.IGNORECASE), unit) for spelled, unit in _WRITTEN["units"].items()]
_PREFIX_NON = re.compile(r"\bnon[- ](?=[a-z])", re.IGNORECASE)
_LIST_MARK = re.compile(r"^\s*(?:[(（]?[0-9]{1,2}[)）、．.](?![0-9])|[-•*·①-⑳])\s*")


def statements(text: str) -> list[str]:
    """Return the statements of a text: its sentences, also split at semicolons, without list marks and full stops.

    Headings (ending in a colon) and parts without letters are dropped.
    """
    parts = (part for sentence in sentences(text.translate(USUAL_SIGNS)) for part in re.split("[;；]", sentence))
    bare = (_LIST_MARK.sub("", part).strip().rstrip("。！？!?.").rstrip() for part in parts)
    return [part for part in bare if not part.endswith((":", "：")) and any(map(str.isalpha, part))]


def mentions(sentence: str) -> list[Mention]:
    """Return the content words of a sentence, in order.

    A negation extends to the end of its clause, and past a comma only in a list that continues with "or" or "nor"; "is
    not seen", "absent" and the like extend backwards. A side applies to its clause and to later clauses without one;
    of two sides with words between them, each applies to its own part of the clause. A number has neither.
    """
    return [each.plain for clause in clauses(sentence) for each in clause]


def clauses(sentence: str) -> list[list[Mention]]:
    """Return the content words of each clause of a sentence, as :func:`mentions` does; numbers with polarity too."""
    return [clause for part in _CLAUSE_END.split(_folded(sentence)) for clause in _Reader(part).read()]


def clause_texts(sentence: str) -> list[str]:
    """Return the text of each clause of a sentence, in the order of :func:`clauses`."""
    return [text.strip() for part in _CLAUSE_END.split(_folded(sentence)) for text in re.split(_MARKS["comma"], part)]


def _folded(sentence: str) -> str:
    raised = _POWER.sub(lambda found: f"^{unicodedata.normalize('NFKC', found[0])}", sentence.translate(AS_TYPED))
    text = unicodedata.normalize("NFKC", raised)
    text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    for pattern, unit in _SPELLED_UNITS:
        text = pattern.sub(unit, text)
    return re.sub(r"\s+", " ", _PREFIX_NON.sub("non", _POSSESSIVE.sub("", text)))


class _Reader:
    """Reads a part of a sentence that negations do not cross."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last_or = max((found.start() for found in _LIST_GOES_ON.finditer(text)), default=-1)
        self._done: list[list[Mention]] = []
        self._clause: list[tuple[str, bool, frozenset[str]]] = []  # sides only where an earlier one ended
        self._sides: frozenset[str] = frozenset()
        self._own_sides: frozenset[str] = frozenset()
        self._negating = False
        self._negating_next = False
        self._side_at = self._and_at = 0  # words of the clause before its last side, and before its last "and"

    def read(self) -> list[list[Mention]]:
        for found in _TOKEN.finditer(self._text):
            self._take(found)
        self._end_clause()
        return self._done

    def _take(self, found: re.Match[str]) -> None:
        match found.lastgroup:
            case "uncertain":
                self._add("uncertain")
            case "negates_before":
                self._clause = [(word, True, sides) for word, _, sides in self._clause]
            case "negates_after" | "han_negates_after":
                self._negating = True
            case "han_negates_next":
                self._negating_next = True
            case "han_side":
                self._turn_to(_SIDES[found[0][0]])
            case "measure":
                for measure in _measures(found[0]):
                    self._add(measure)
            case "han":
                for part in chinese_words(found[0]):
                    self._add_unless_empty(part)
            case "word":
                word = found[0].casefold()
                if word in _SIDES:
                    self._turn_to(_SIDES[word])
                elif word == "and":
                    self._and_at = len(self._clause)
                else:
                    self._add_unless_empty(word)
            case "comma":
                goes_on = found[0] == "," and found.start() < self._last_or
                self._end_clause(still_negating=self._negating and goes_on)

    def _turn_to(self, sides: frozenset[str]) -> None:
        """Take a side: of another one in the same clause, the words up to here, or up to an "and", keep the earlier."""
        end = len(self._clause)
        if self._own_sides and not sides <= self._own_sides and self._side_at < end:
            before = self._and_at if self._and_at > self._side_at else end
            earlier = [(word, negated, own or self._own_sides) for word, negated, own in self._clause[:before]]
            self._clause[:before], self._own_sides = earlier, frozenset()
        self._own_sides |= sides
        self._side_at = end

    def _add_unless_empty(self, word: str) -> None:
        if word not in _EMPTY:
            opposite = _WRITTEN["opposite"].get(word)
            self._add(stem(opposite or _WRITTEN["same"].get(word, word)), flipped=opposite is not None)

    def _add(self, word: str, *, flipped: bool = False) -> None:
        self._clause.append((word, (self._negating or self._negating_next) != flipped, frozenset()))
        self._negating_next = False

    def _end_clause(self, *, still_negating: bool = False) -> None:
        self._sides = self._own_sides or self._sides
        if self._own_sides and self._clause and all(own for *_, own in self._clause):  # "more on the left than right"
            last = self._clause[-1][-1]
            more = last | self._own_sides
            self._clause = [(word, negated, more if own == last else own) for word, negated, own in self._clause]
        self._done.append([Mention(word, negated, sides or self._sides) for word, negated, sides in self._clause])
        self._clause, self._own_sides, self._side_at, self._and_at = [], frozenset(), 0, 0
        self._negating, self._negating_next = still_negating, False


def _measures(text: str) -> Iterator[str]:
    """Yield the numbers of a measure, lengths in millimetres: ``3 x 4.5 cm`` gives 30mm and 45mm."""
    factor, unit = next((scale for name, scale in _UNITS.items() if text.casefold().endswith(name)), (1, ""))
    return (f"{float(number) * factor:.10g}{unit}" for number in _NUMBER.findall(text))
