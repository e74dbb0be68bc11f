"""The symptom description, by which similar cases are embedded and retrieved (MedCase-RAG, B.3).

The paper refines the patient's words to "approximately 70 characters" of Chinese. Seventy Chinese characters say about
as much as forty English words, so the English budget is 240 characters. The rule is deterministic, so that stored cases
and queries are refined alike.
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

    Whole clauses are taken in order until the budget is used up (70 characters in Chinese, 240 in English). Negated
    symptoms, courtesies, lead-ins ("the patient reports") and repetitions are left out; the opening clause is the
    complaint and is always kept ("No bowel movement for three days").

    Args:
        *parts: texts in order of importance: the chief complaint first, then the present illness or further words.
        language: of the texts.

    Returns:
        One line within the budget; empty if the parts say nothing.
    """
    words = word_list("symptoms")[rules_of(language)]
    budget: int = words["budget"]
    joint: str = words["joint"]
    chosen: list[str] = []
    for clause in _content_of(parts, language):
        bare = normalise(clause)
        if bare in normalise(joint.join(chosen)):
            continue
        # A clause that contains an earlier one replaces it.
        longer = [*(earlier for earlier in chosen if normalise(earlier) not in bare), clause]
        if len(joint.join(longer)) <= budget:
            chosen = longer
        elif chosen:
            break
        else:
            chosen = [_shorten(clause, budget)]
    return joint.join(chosen)


def _content_of(parts: tuple[str, ...], language: Language) -> Iterator[str]:
    """Yield the affirmed part of each clause without lead-ins; the opening clause in any case."""
    opening = True
    for part in parts:
        for clause, kept in affirmed(part, language):
            if _is_filler(clause, language):
                continue
            content = kept or (clause if opening else "")
            content = " ".join(_pattern("lead", language).sub("", content.strip()).split()).strip(" ,，、.。")
            if content:
                yield content
            opening = False


def affirmed(text: str, language: Language) -> Iterator[tuple[str, str]]:
    """Yield each clause with its affirmed part (empty if all of it is negated)."""
    for statement in statements(text):
        negated = False
        for clause in clauses(statement):
            if denial := _pattern("denial", language).search(clause):
                negated = True
                yield clause, clause[: denial.start()]
            else:
                negated = negated and not _pattern("new_statement", language).search(clause)
                yield clause, "" if negated else clause


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
    at_word = cut.rsplit(None, 1)[0]  # Chinese has no spaces to cut at
    return at_word if len(at_word) > budget // 2 else cut
