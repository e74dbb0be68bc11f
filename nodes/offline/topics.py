"""The topic of a question, found by the lists of clinical words.

A topic consists of parts of the record (the family), parts of the body, complaints and habits, words in no list, and
the way of asking (when, how bad, what makes it worse).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cases.text.words import stem
from cases.text.words import words as cut
from cases.vocabulary import Language
from nodes.offline.consultation_words import Concept, concepts, matters_in


@dataclass(frozen=True)
class Topic:
    """What a question is about, by kind of concept; ``words`` are stems that no concept covers."""

    sections: tuple[Concept, ...]
    matters: tuple[Concept, ...]
    places: tuple[Concept, ...]
    frames: tuple[Concept, ...]
    words: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names of all concepts that it names."""
        return frozenset(each.name for each in (*self.sections, *self.matters, *self.places, *self.frames))

    @property
    def clinical(self) -> int:
        """The number of concepts of the record that it names."""
        return len(self.sections) + len(self.matters) + len(self.places)

    @property
    def is_empty(self) -> bool:
        """Whether the question is about nothing in particular."""
        return not (self.sections or self.matters or self.places or self.frames or self.words)


@lru_cache(maxsize=1024)
def topic_of(words: str, language: Language) -> Topic:
    """Return what the doctor's words are about."""
    found: dict[str, list[Concept]] = {"section": [], "matter": [], "place": [], "frame": []}
    rest = words
    for concept in concepts(language):
        if concept.asked.search(words):
            found[concept.kind].append(concept)
            rest = concept.asked.sub(" ", rest)
    return Topic(
        sections=tuple(found["section"]),
        matters=tuple(found["matter"]),
        places=tuple(found["place"]),
        frames=tuple(found["frame"]),
        words=tuple(dict.fromkeys(stem(word) for word in matters_in(rest, language))),
    )


def words_in(text: str, words: Sequence[str]) -> int:
    """Count these stems, or Chinese words, that occur in a text."""
    folded = text.casefold()
    stems = _stems_in(folded)
    return sum(word in stems if word.isascii() else word in folded for word in words)


@lru_cache(maxsize=4096)  # every question about a record needs them
def _stems_in(folded: str) -> frozenset[str]:
    return frozenset(map(stem, cut(folded)))
