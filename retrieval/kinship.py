"""Kin of a case among the remembered ones: the case itself, its variants, and near duplicates of its text.

A case that recalls its kin sees its own answer. Ids alone do not show kinship: a variant has its own id, and the same
record may come in two files.
"""

import re
import unicodedata
import zlib
from functools import lru_cache

from pydantic import Field

from cases.case import AnswerKey, Case
from cases.strict import Strict
from retrieval.features import RememberedCase, remember

NEAR = 0.5  # share of the shorter record; unrelated built-in cases reach at most 0.2, attacked variants 0.85 (tests)
_LETTERS = 8  # per piece of text
_SAMPLE = 256  # the most pieces kept in the state, which is checkpointed at every step


class Kin(Strict):
    """Recognises the kin of a case, without revealing what the case says.

    ``pieces`` are hashes of pieces of the record's text: all of them, or the smallest ones, which are a random sample.
    """

    ids: frozenset[str] = Field(description="Ids of the case and of the one that it is a variant of.")
    pieces: frozenset[int] = frozenset()
    size: int = Field(default=0, description="Total number of pieces of the record.")

    def includes(self, other: RememberedCase) -> bool:
        """Whether a remembered case is the case itself, a variant of the same one, or a near duplicate."""
        return bool(self.ids & {other.id, other.parent_id}) or self.overlap(other) >= NEAR

    def parent_of(self, case_id: str) -> str | None:
        """Return the id of the case that this one is a variant of, if any."""
        return next(iter(self.ids - {case_id}), None)

    def overlap(self, other: RememberedCase) -> float:
        """Return the share of the shorter record's text that is in the other too, in [0, 1]; 0 if either is empty."""
        theirs = _pieces(_texts_of(other))
        if not self.pieces or not theirs:
            return 0.0
        shared = len(self.pieces & theirs) / len(self.pieces) * self.size
        return min(1.0, shared / min(self.size, len(theirs)))


def kin_of(case: Case) -> Kin:
    """Return the kin of a case, by its ids and its record; the answer key is not used."""
    pieces = _pieces(_texts_of(remember(case.model_copy(update={"key": AnswerKey()}))))
    ids = frozenset(name for name in (case.id, case.parent_id) if name)
    return Kin(ids=ids, pieces=frozenset(sorted(pieces)[:_SAMPLE]), size=len(pieces))


def _texts_of(case: RememberedCase) -> tuple[str, ...]:
    results = (*case.physical_examination.values(), *case.auxiliary_examination.values())
    return (case.chief_complaint, case.symptoms, case.told, case.history, *results)


@lru_cache(maxsize=4096)
def _pieces(texts: tuple[str, ...]) -> frozenset[int]:
    """Return hashes of all runs of `_LETTERS` letters, ignoring spaces, punctuation, case and width."""
    plain = (re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold()) for text in texts)
    return frozenset(
        zlib.crc32(text[start : start + _LETTERS].encode("utf-8", "replace"))
        for text in plain
        for start in range(max(1, len(text) - _LETTERS + 1))
        if text
    )
