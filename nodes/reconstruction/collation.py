"""A dialogue collated with its note: the same words around other words.

Whatever a word is changed into, the words around it remain: "the pain is mild and constant" beside the note's "the
pain is severe and constant". So do those around a denial that is gone, or one that is put in.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

from cases.text.fact_preservation import terms_in
from cases.text.numbers import NUMBER_WORDS
from cases.text.words import stem
from cases.vocabulary import Language, data_file, patterns
from nodes.reconstruction.content import Rule, Told, common_words
from nodes.reconstruction.kinds import contrast

Words = tuple[str, ...]
Frame = tuple[Words, Words]  # what stands before and after a gap

_PATTERNS = patterns("nodes.reconstruction", "collation")
_EMPTY_ZH = frozenset(data_file("nodes.reconstruction", "collation")["empty_zh"])
_EDGE = ""  # of a clause
# Words (signs of Chinese) before and after a gap, and in it, least and most; beside words of one kind one is enough.
_SHAPES: Mapping[Language, tuple[tuple[int, int, int, int], ...]] = {
    "en": ((2, 2, 0, 2), (1, 3, 0, 2), (3, 1, 0, 2), (2, 3, 1, 1), (3, 2, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1)),
    "zh": ((2, 2, 0, 5), (1, 3, 0, 5), (3, 1, 0, 5)),
}
TELLING = 2  # words around a gap, at least, that mean something
SURE: Mapping[Language, int] = {"en": 5, "zh": 4}  # words around one that is no denial: people put things otherwise


def other_words(told: Told) -> Iterator[tuple[str, int | None]]:
    """Where the note has the same words around another word, or a denial, that nobody says."""
    language = told.language
    of_note, said = defaultdict[Frame, set[Words]](set), defaultdict[Frame, set[Words]](set)
    for frame, gap in _gaps(told.note, language):
        of_note[frame].add(gap)
    turns: dict[tuple[Frame, Words], int] = {}
    for number, _, sentence in told.statements:
        for frame, gap in _gaps(sentence, language):
            said[frame].add(gap)
            turns.setdefault((frame, gap), number)
    for frame, gaps in said.items():
        for gap in gaps - of_note.get(frame, gaps):
            meant = [other for other in of_note[frame] if _is_other(gap, other, frame, language)]
            if len(meant) == len(of_note[frame]) and not gaps & set(meant):
                yield (
                    f"{_joined(gap, language)!r}, where the note has {_joined(meant[0], language)!r}",
                    turns[frame, gap],
                )


def _gaps(text: str, language: Language) -> Iterator[tuple[Frame, Words]]:
    """Every gap of a text that could be filled otherwise, none longer than a clause, in its frame of stems."""
    row = [_EDGE]
    for found in _PATTERNS["token"].finditer(text.casefold().replace("’", "'")):
        word = found["word"] or _EDGE
        if word or row[-1]:
            row.append(word)
    row += [_EDGE] * bool(row[-1])
    stems = [stem(word) for word in row]
    for before, after, least, most in _SHAPES[language]:
        for start in range(max(1, before), len(row) - after):
            for end in range(start + least, min(start + most, len(row) - after) + 1):
                if _EDGE in row[start:end]:
                    break
                yield (tuple(stems[start - before : start]), tuple(stems[end : end + after])), tuple(row[start:end])


def _is_other(gap: Words, of_note: Words, frame: Frame, language: Language) -> bool:
    """Whether two gaps mean something else; no number does, which has rules of its own, and no other name of a term."""
    around = (*frame[0], *frame[1])
    telling = sum(_tells(word, language) for word in around)
    if len(around) < TELLING + 1:
        return telling > 0 and contrast(_joined(gap, language), _joined(of_note, language))
    if telling < TELLING or frame[0][-1] == frame[1][0] == _EDGE:
        return False
    if any(word.isnumeric() or word in NUMBER_WORDS for word in (*gap, *of_note)):
        return False
    own, others = ({stem(word) for word in words if _tells(stem(word), language)} for words in (gap, of_note))
    if _denies(gap) != _denies(of_note):
        return own == others and bool(frame[0][-1] or (gap and of_note))  # "None, except ..." denies before the edge
    if not own or not others or own & others or len(around) < SURE[language]:
        return False
    if language == "en" and len(gap) != len(of_note):
        return False
    terms, of_others = ({name for name, _ in terms_in(_joined(words, language), language)} for words in (gap, of_note))
    return terms.isdisjoint(of_others)


def _denies(words: Words) -> bool:
    return any(_PATTERNS["denies"].fullmatch(word) for word in words)


def _tells(word: str, language: Language) -> bool:
    empty = _EMPTY_ZH if language == "zh" else _empty_en()
    return word != _EDGE and not word.isdigit() and word not in empty and not _PATTERNS["denies"].fullmatch(word)


@cache
def _empty_en() -> frozenset[str]:
    own = data_file("nodes.reconstruction", "collation")["empty_en"]
    return frozenset(stem(word) for word in (*common_words(), *NUMBER_WORDS, *own))


def _joined(words: Words, language: Language) -> str:
    return ("" if language == "zh" else " ").join(words)


RULES: Mapping[str, Rule] = {"words_of_the_note": other_words}
