"""Check words of one kind, such as parts of the body, relatives or degrees: another word means something else."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from cases.dialogues import PATIENT
from cases.text.sentences import sentences
from cases.vocabulary import Language, data_file, patterns
from nodes.reconstruction.parsed import Finding, ParsedDialogue, Rule, content_words

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
SAME = 2  # words that a statement shares with its sentence of the note
UNSAID = 1  # the same, if that word is nowhere said; a relative may be named by another ("my mother's brother")


def other_of_its_kind(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a body part, relative, degree, etc. other than that of the matching sentence of the note."""
    known, used = _kinds_in(parsed.note), {one for turn in parsed.dialogue.spoken for one in _kinds_in(turn.content)}
    of_note = [
        (found, _about(one, parsed.language), bool(_PATTERNS["denies"].search(one)))
        for one in sentences(parsed.note)
        if (found := _kinds_in(one))
    ]
    for number, role, sentence in parsed.statements:
        if not (new := _kinds_in(sentence).keys() - known.keys()):
            continue
        turn = _kinds_in(parsed.dialogue.spoken[number - 1].content)
        # A mother who speaks of "my son" does not replace herself by a son.
        kinds, parts = {_kind(one) for one in new if _part(one) != "relative_child"}, {_part(one) for one in new}
        asked = parsed.dialogue.spoken[number - 2].content if role == PATIENT and number > 1 else ""
        denied = bool(_PATTERNS["denies"].search(_PATTERNS["none_at_all"].sub("", sentence)))
        about = _about(sentence, parsed.language) | _about(asked, parsed.language)
        for found, matter, negated in of_note:
            shared = len(matter & about) if denied or not negated else 0
            missing = [
                word
                for one, word in found.items()
                if (
                    shared >= (SAME if one in used or _kind(one) == "relative" else UNSAID)
                    and _kind(one) in kinds
                    and one not in turn
                )
                or (_part(one) in _ALONE & parts and one not in used)
            ]
            if missing:
                yield f"{sentence!r}: the note has {', '.join(missing)}", number
                break


@lru_cache(maxsize=4096)
def _kinds_in(text: str) -> Mapping[str, str]:
    return {str(found.lastgroup): found[0] for found in _KINDS.finditer(text)}


def _kind(name: str) -> str:
    return name.partition("_")[0]


def _part(name: str) -> str:
    return name.rpartition("_")[0]


@lru_cache(maxsize=4096)
def _about(text: str, language: Language) -> frozenset[str]:
    """Return the content words of a sentence, without those of a kind."""
    return content_words(_KINDS.sub(" ", text), language)


RULES: Mapping[str, Rule] = {"kinds_of_the_note": other_of_its_kind}
