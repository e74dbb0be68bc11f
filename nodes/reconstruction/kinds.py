"""Words of a kind, of which another is another matter: a part of the body, a relative, a degree."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from cases.dialogues import PATIENT
from cases.text.sentences import sentences
from cases.vocabulary import Language, data_file, patterns
from nodes.reconstruction.content import Finding, Rule, Told, content_words

_WORDS = data_file("nodes.reconstruction", "kinds")
_KINDS = re.compile(
    r"(?i)(?<![A-Za-z])(?:"
    + "|".join(
        f"(?P<{kind}_{place}>{words})" for kind, values in _WORDS["kinds"].items() for place, words in enumerate(values)
    )
    + r")(?![A-Za-z-])"
)
_ALONE = frozenset(_WORDS["alone"])
_PATTERNS = patterns("nodes.reconstruction", "particulars")
SAME = 2  # words shared with the sentence of the note that is meant


def other_of_its_kind(told: Told) -> Iterator[Finding]:
    """Another part of the body, relative, degree, ...: the note has of the same matter one that the statement lacks."""
    known, every = _of_kinds(told.note), _of_kinds(" ".join(message.content for message in told.dialogue.spoken))
    of_note = [
        (found, _about(one, told.language), bool(_PATTERNS["denies"].search(one)))
        for one in sentences(told.note)
        if (found := _of_kinds(one))
    ]
    for number, role, sentence in told.statements:
        if not (new := _of_kinds(sentence).keys() - known.keys()):
            continue
        turn = _of_kinds(told.dialogue.spoken[number - 1].content)
        # A mother who tells of "my son" has not put a son in place of herself.
        kinds, parts = {_kind(one) for one in new if _part(one) != "relative_child"}, {_part(one) for one in new}
        asked = told.dialogue.spoken[number - 2].content if role == PATIENT and number > 1 else ""
        denied = bool(_PATTERNS["denies"].search(_PATTERNS["none_at_all"].sub("", sentence)))
        about = _about(sentence, told.language) | _about(asked, told.language)
        for found, matter, negated in of_note:
            alike = (denied or not negated) and len(matter & about) >= SAME
            lost = [
                word
                for one, word in found.items()
                if (alike and _kind(one) in kinds and one not in turn)
                or (_part(one) in _ALONE & parts and one not in every)
            ]
            if lost:
                yield f"{sentence!r}: the note has {', '.join(lost)}", number
                break


@lru_cache(maxsize=4096)
def _of_kinds(text: str) -> Mapping[str, str]:
    return {str(found.lastgroup): found[0] for found in _KINDS.finditer(text)}


def _kind(name: str) -> str:
    return name.partition("_")[0]


def _part(name: str) -> str:
    return name.rpartition("_")[0]


@cache
def _about(text: str, language: Language) -> frozenset[str]:
    """What a sentence is about but for its words of a kind."""
    return frozenset(content_words(_KINDS.sub(" ", text), language))


RULES: Mapping[str, Rule] = {"kinds_of_the_note": other_of_its_kind}
