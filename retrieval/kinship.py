"""Kin of a case among the remembered: itself, its variants, and whatever tells of the same patient in the same words.

A case that recalls its kin is answered from its own key. Ids alone do not tell: a variant has an id of its own, and the
same record may come in two files.
"""

import re
import zlib
from functools import lru_cache

from pydantic import Field

from cases.case import AnswerKey, Case
from cases.strict import Strict
from retrieval.features import RememberedCase, remember

NEAR = 0.5  # of the shorter record; unrelated built-in cases share at most 0.2, attacked variants 0.85 (tests)
_LETTERS = 8  # of a piece of text
_SAMPLE = 256  # pieces: at most so many stand in a state that is written at every step


class Kin(Strict):
    """What tells a case's kin, without telling anything that the case says.

    ``pieces`` are hashes of pieces of the record's text: all, or the least of them, which are a random sample.
    """

    ids: frozenset[str] = Field(description="Of the case, and of the one that it is a variant of.")
    pieces: frozenset[int] = frozenset()
    size: int = Field(0, description="How many pieces the record has in all.")

    def includes(self, other: RememberedCase) -> bool:
        """Whether a remembered case is the case itself, of its family, or a near duplicate."""
        return bool(self.ids & {other.id, other.parent_id}) or self.overlap(other) >= NEAR

    def parent_of(self, case_id: str) -> str | None:
        """Of which case the case is a variant."""
        return next(iter(self.ids - {case_id}), None)

    def overlap(self, other: RememberedCase) -> float:
        """The share of the shorter record's text that stands in the other too, in [0, 1]; 0 if either has none."""
        theirs = _pieces(_told(other))
        if not self.pieces or not theirs:
            return 0.0
        shared = len(self.pieces & theirs) / len(self.pieces) * self.size
        return min(1.0, shared / min(self.size, len(theirs)))


def kin_of(case: Case) -> Kin:
    """The kin of a case, by its ids and its record; the answer key plays no part."""
    pieces = _pieces(_told(remember(case.model_copy(update={"key": AnswerKey()}))))
    ids = frozenset(name for name in (case.id, case.parent_id) if name)
    return Kin(ids=ids, pieces=frozenset(sorted(pieces)[:_SAMPLE]), size=len(pieces))


def _told(case: RememberedCase) -> tuple[str, ...]:
    results = (*case.physical_examination.values(), *case.auxiliary_examination.values())
    return (case.chief_complaint, case.symptoms, case.history, *results)


@lru_cache(maxsize=4096)
def _pieces(texts: tuple[str, ...]) -> frozenset[int]:
    """Hashes of all runs of so many letters, without spaces, punctuation and case."""
    plain = (re.sub(r"[\W_]+", "", text.casefold()) for text in texts)
    return frozenset(
        zlib.crc32(text[start : start + _LETTERS].encode("utf-8", "replace"))
        for text in plain
        for start in range(max(1, len(text) - _LETTERS + 1))
        if text
    )
