"""How much of a reference a text states, by words, polarity, sides and numbers, and by meaning."""

from collections.abc import Collection, Iterable, Sequence, Set

from cases.text.statements import Mention
from cases.text.words import has_chinese
from scoring.metrics.amounts import as_in, told_otherwise
from scoring.metrics.content import Window, agreeing_in, clauses_of, stated
from scoring.metrics.opposites import (
    Clause,
    has_opposite,
    is_contrary,
    is_of_other_relatives,
    names_another_drug,
    names_another_organ,
    without_other_relatives,
)
from scoring.metrics.samples import mean

SAME_MEANING = 0.55  # cosine similarity of two clauses
MEANT = 0.75  # how much of a word is stated by a clause of the same meaning
MOST = 0.7  # share of a claim that is most of it
_DECIMALS = 3
_HALF = 0.5  # share of a clause's words up to which its meaning may count instead


def stated_share(report: str, reference: str, beside: str = "") -> float:
    """Return how much of a reference a report states: the share of its content words, in [0, 1]; 0 if it has none.

    Each word counts once, with polarity and side, and synonyms as one, as in `entailed`; numbers count too. If at
    most half of the words of a clause are stated, but a clause of the report means the same, with its polarity, side
    and numbers and without an opposite word, each of them counts `MEANT`: by `same_meaning.is_same` in English, and
    from a similarity of `SAME_MEANING` in Chinese. A clause that states the opposite of the truth, which is
    the reference and the further texts in ``beside``, by its polarity, by a word for the opposite, by another drug or
    by another number of the same unit, states nothing: neither "the lungs are not clear" nor "the skin is moist" nor
    "pulse 150/min" speaks of clear lungs, dry skin and a pulse of 94. A number in another unit is not stated (500 g is
    not 500 mg, but 0.5 g is), nor one of how often if the report says otherwise. A word that the report both asserts
    and denies is not stated, unless the truth does so too.
    """
    reference, beside = as_in(reference, report), as_in(beside, report)
    read = clauses_of(without_other_relatives(report, f"{reference}\n{beside}"))
    truth = [clause for text in (reference, beside) for clause in clauses_of(text)]
    true = Window(dict.fromkeys(each for clause in truth for each in clause.mentions))
    copied = [clause for clause in read if clause in truth]
    others = [clause for clause in read if clause not in copied]
    opposed = {each for clause in others for each in clause.mentions if is_opposite(each, true)}
    kept = [
        clause
        for clause in others
        if (opposed.isdisjoint(clause.mentions) or _is_true_denial(clause.mentions, opposed, true))
        and not has_opposite(clause, truth)
    ]
    kept += copied
    found = Window(dict.fromkeys(each.plain for clause in kept for each in clause.mentions))
    denied = Window(each for each in opposed if not each.exact)
    states: dict[Mention, float] = {}
    for clause in clauses_of(reference):
        misread, is_theirs = told_otherwise(clause.text, report), is_of_other_relatives(clause.text, report)
        flags = {
            each.plain: not is_theirs and each.word not in misread and _is_stated(each.plain, found, denied)
            for each in clause.mentions
        }
        is_meant = sum(flags.values()) <= _HALF * len(flags) and not (misread or is_theirs) and _is_meant(clause, kept)
        for each, flag in flags.items():
            meant = MEANT if is_meant and not agreeing_in(each, denied) else 0.0
            states[each] = max(states.get(each, 0.0), float(flag), meant)
    return mean(list(states.values())) or 0.0


def _is_stated(mention: Mention, said: Window, denied: Window) -> bool:
    """Whether a word is said, and nowhere the opposite of it."""
    agreeing = agreeing_in(mention, said)
    if mention.exact:
        return bool(agreeing)
    return any(each.negated == mention.negated for each in agreeing) and not agreeing_in(mention, denied)


def mostly_stated(claims: Iterable[str], report: str) -> list[bool]:
    """Whether a report states most of each claim (`MOST` of :func:`stated_share`), all its amounts, and no opposite.

    A claim whose clauses the report has word for word is stated, whatever the report denies of something else.
    """
    read = clauses_of(report)
    numbers = {each.word for each in stated(report) if each.exact}

    def is_stated(claim: str) -> bool:
        claim = as_in(claim, report)
        clauses = clauses_of(claim)
        if clauses and all(clause in read for clause in clauses):
            return True
        return (
            {each.word for each in stated(claim) if each.exact} <= numbers
            and not told_otherwise(claim, report)
            and stated_share(report, claim) >= MOST
            and not any(has_opposite(clause, read) for clause in clauses)
        )

    return [*map(is_stated, claims)]


def _is_meant(clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether one of the other clauses means the same, with the same polarity, side and numbers."""
    others = [other for other in others if agrees(clause, other) and not is_contrary(clause, other)]
    if not others:
        return False
    if not has_chinese(clause.text):
        from scoring.metrics.same_meaning import is_same

        return is_same(clause, others)
    return likeness(clause, others) >= SAME_MEANING


def likeness(clause: Clause, others: Sequence[Clause]) -> float:
    """Return the highest cosine similarity of a clause to others, by the multilingual model."""
    from retrieval import MULTILINGUAL_MODEL, embed

    meant, *meanings = embed([clause.text, *(other.text for other in others)], MULTILINGUAL_MODEL)
    return round(max(float(meaning @ meant) for meaning in meanings), _DECIMALS)


def agrees(one: Clause, other: Clause) -> bool:
    """Whether what must match of two clauses does: any denial, the numbers, the sides, the organ and the drug."""
    return (
        bool(one.mentions and other.mentions)
        and one.denied == other.denied
        and one.numbers <= other.numbers
        and not names_another_organ(one.text, other.text)
        and not names_another_drug(one.text, other.text)
        and (not (one.sides and other.sides) or one.sides <= other.sides)
    )


def is_opposite(mention: Mention, true: Window) -> bool:
    """Whether the truth has a word with the other polarity alone."""
    polarities = {other.negated for other in agreeing_in(mention, true)}
    return bool(polarities) and mention.negated not in polarities


def _is_true_denial(clause: Collection[Mention], opposed: Set[Mention], true: Window) -> bool:
    """Whether a clause denies what the truth denies, and only what it denies that of is told otherwise.

    "My head does not ache" is "no headache".
    """
    denied = [each for each in clause if each.negated]
    return opposed.isdisjoint(denied) and any(other.negated for each in denied for other in agreeing_in(each, true))
