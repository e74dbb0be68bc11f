"""Whether a text names or suspects one of some diseases, by its name, abbreviation or everyday names."""

import re
from collections.abc import Sequence
from functools import lru_cache

from cases.text.fact_preservation import terms_in
from cases.text.sentences import sentences
from cases.text.words import rules_of
from cases.vocabulary import Language, normalise, patterns, spelled, word_list
from nodes.reconstruction.parsed import illnesses

_PATTERNS = patterns("nodes.reconstruction", "content")
_IN_CAPITALS = re.compile(r"(?<![A-Za-z])[A-Z]{3,}(?![A-Za-z])")


def names_disease(text: str, diseases: Sequence[str]) -> bool:
    """Return whether a text names one of the diseases, by name or abbreviation."""
    folded, capitals = normalise(text), set(_IN_CAPITALS.findall(text))
    return any(
        _initials(disease) in capitals or any(spelled(name).search(folded) for name in _spellings(disease) if name)
        for disease in diseases
    )


def suspects_disease(text: str, diseases: Sequence[str], language: Language) -> bool:
    """Return whether a text suspects one of the diseases under any of its everyday names."""
    supposed = [sentence for sentence in sentences(text) if _PATTERNS["supposes"].search(sentence)]
    if not supposed:
        return False
    names = {name for disease in diseases for name, _ in terms_in(disease, rules_of(language))}
    names &= illnesses(vague=True)
    found = (one for sentence in supposed for one in terms_in(sentence, rules_of(language)))
    return any(name in names and not negated for name, negated in found)


@lru_cache(maxsize=4096)
def _spellings(disease: str) -> tuple[str, ...]:
    whole = _without_brackets(disease)
    found = [whole]
    for other, name in word_list("diagnoses")["same_as"].items():
        for one, another in ((name, other), (other, name)):
            if len(one) > 3 and spelled(one).search(whole):
                found.append(spelled(one).sub(another, whole))
    found += [normalise(part) for part in re.findall(r"[(（]([A-Z][\w-]{2,}|[\u4e00-\u9fff]{3,})[)）]", disease)]
    return tuple(found)


def _initials(disease: str) -> str:
    """Return the initials of a disease in capitals, so that acute lymphoblastic leukaemia does not match "all"."""
    return "".join(word[0] for word in _without_brackets(disease).split()).upper()


def _without_brackets(disease: str) -> str:
    return normalise(re.sub(r"\s*[(（][^()（）]*[)）]", "", disease))
