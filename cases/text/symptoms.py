"""The symptom description: the one feature of a case that is embedded and searched by (MedCase-RAG, B.3).

The paper refines the patient's words to "approximately 70 characters" of Chinese. Seventy Chinese characters say
about what forty English words say, so the English budget is 240 characters. The rule is deterministic: what is
refined when a case is filed and when a new patient is looked up comes out alike.
"""

import re
from collections.abc import Iterator
from functools import cache

from cases.text.sentences import clauses
from cases.text.statements import statements
from cases.text.words import rules_of
from cases.vocabulary import Language, normalise, word_list


def describe_symptoms(*parts: str, language: Language) -> str:
    """Refine the patient's words to a symptom description.

    Clauses are taken in the order given, whole, until the budget is used up (70 characters in Chinese, 240 in
    English). Denied symptoms, courtesies, lead-ins ("the patient reports") and repetitions are left out; the opening
    clause is the complaint itself and is kept whatever its form ("No bowel movement for three days").

    Args:
        *parts: texts in order of weight: the chief complaint first, then the present illness or further words.
        language: the language of the texts.

    Returns:
        One line, at most the budget long; empty if the parts say nothing.
    """
    words = word_list("symptoms")[rules_of(language)]
    budget: int = words["budget"]
    joint: str = words["joint"]
    kept: list[str] = []
    for clause in _told(parts, language):
        bare = normalise(clause)
        if bare in normalise(joint.join(kept)):
            continue
        # A clause that says an earlier one again, and more, takes its place.
        longer = [*(earlier for earlier in kept if normalise(earlier) not in bare), clause]
        if len(joint.join(longer)) <= budget:
            kept = longer
        elif kept:
            break
        else:
            kept = [_shorten(clause, budget)]
    return joint.join(kept)


def _told(parts: tuple[str, ...], language: Language) -> Iterator[str]:
    """What of each clause is affirmed, without what leads up to it; the opening clause whatever its form."""
    opening = True
    for part in parts:
        for clause, affirmed in _affirmed(part, language):
            if _is_filler(clause, language):
                continue
            told = affirmed or (clause if opening else "")
            told = " ".join(_pattern("lead", language).sub("", told.strip()).split()).strip(" ,，、.。")
            if told:
                yield told
            opening = False


def _affirmed(text: str, language: Language) -> Iterator[tuple[str, str]]:
    """Each clause with what of it is affirmed (empty if all of it is denied)."""
    for statement in statements(text):
        denying = False
        for clause in clauses(statement):
            if denial := _pattern("denial", language).search(clause):
                denying = True
                yield clause, clause[: denial.start()]
            else:
                denying = denying and not _pattern("new_statement", language).search(clause)
                yield clause, "" if denying else clause


def _is_filler(clause: str, language: Language) -> bool:
    bare = normalise(clause)
    return not bare or _pattern("filler", language).fullmatch(bare) is not None


@cache
def _pattern(name: str, language: Language) -> re.Pattern[str]:
    return re.compile(word_list("symptoms")[rules_of(language)][name].replace("\n", ""), re.IGNORECASE)


def _shorten(clause: str, budget: int) -> str:
    if len(clause) <= budget:
        return clause
    cut = clause[:budget]
    at_word = cut.rsplit(None, 1)[0]  # Chinese has no spaces: nothing to cut back to
    return at_word if len(at_word) > budget // 2 else cut
