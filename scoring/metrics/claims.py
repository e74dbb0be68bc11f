"""Claim recall of imaging reports: how much of the reference the generated report states (MedChain, after DocLens)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Self

from pydantic import Field

from cases.strict import Strict
from cases.text.statements import Mention, mentions, statements
from cases.vocabulary import normalise

MAX_CLAIMS = 30
ENTAILED_FROM = 0.8  # share of a claim's content words that the report must state
WINDOW = 2  # adjacent sentences of the report that may together state a claim


class ClaimVerdict(Strict):
    """One claim of the reference report, and whether the generated report states it."""

    claim: str
    entailed: bool


class ReportClaims(Strict):
    """The judged claims of one reference report; none if it claims nothing."""

    report: str = Field(description="Which report: its image class.")
    verdicts: list[ClaimVerdict] = Field(default_factory=list, max_length=MAX_CLAIMS)

    @classmethod
    def pair(cls, report: str, claims: Sequence[str], entailed: Sequence[bool]) -> Self:
        """Put a judge's verdicts to the claims, in order.

        Raises:
            ValueError: there is not one verdict for each claim, or there are more than 30.
        """
        verdicts = [ClaimVerdict(claim=claim, entailed=flag) for claim, flag in zip(claims, entailed, strict=True)]
        return cls(report=report, verdicts=verdicts)


def claim_recall(reports: Iterable[ReportClaims]) -> float | None:
    """Claim recall of one case: entailed claims / claims, over all its reports, in [0, 1]; higher is better.

    Micro average: each claim weighs the same, whichever report it is from. None (unscored) if there is no claim; 0 if
    the generated reports are empty (nothing is entailed by an empty report). A report that was not written counts with
    all its claims. Source: MedChain, appendix A.2 (task 3), after DocLens. The published numbers have an LLM extract
    the claims and judge them; only :func:`judge_offline` differs from that, not this average.
    """
    flags = [verdict.entailed for report in reports for verdict in report.verdicts]
    return sum(flags) / len(flags) if flags else None


def claim_precision(reports: Iterable[tuple[str, str]]) -> float | None:
    """The share of what one case's generated reports state that the reference states too, by rules, in [0, 1].

    Our partner to :func:`claim_recall`, which a report wins that asserts and denies every finding, or names both sides
    for each: half of the first, and none of the second, is in the reference. Every distinct sentence of each generated
    report counts the same (:func:`entailed` in the other direction, with its limits); a good report that says more
    than the reference has less than 1. None if nothing was written; higher is better.

    Args:
        reports: generated and reference text of each image class.
    """
    flags = [
        flag
        for generated, reference in reports
        for flag in entailed({normalise(sentence): sentence for sentence in statements(generated)}.values(), reference)
    ]
    return sum(flags) / len(flags) if flags else None


def split_claims(report: str) -> list[str]:
    """The claims of a report, offline: its distinct sentences, the first 30 of them.

    A sentence that states several things stays one claim, where an LLM would make several: the offline recall is
    coarser, and stricter on long sentences.
    """
    distinct = {normalise(sentence): sentence for sentence in reversed(statements(report))}
    return list(distinct.values())[::-1][:MAX_CLAIMS]


def judge_offline(report: str, reference: str, generated: str) -> ReportClaims:
    """The claims of a reference report, judged by rules against the generated one. See :func:`entailed`."""
    claims = split_claims(reference)
    return ReportClaims.pair(report, claims, entailed(claims, generated))


def entailed(claims: Iterable[str], report: str) -> list[bool]:
    """Whether a report states each claim, by rules.

    A claim is entailed if one window of the report (two adjacent sentences) has at least 80 % of its content words,
    all of its numbers (lengths compared in millimetres), and no content word of it only with the other polarity or on
    another side. A claim that the report has word for word is entailed.

    Limits: words are compared, not meanings. Synonyms ("opacity", "consolidation"), number words ("two nodules") and
    a claim scattered over a report are missed; so is a claim naming a side where the report says "both lungs" in other
    words. What shares words and contradicts otherwise is accepted ("small" for "large" among five or more words; "no
    fracture, mild swelling" is read rightly, "no fracture and mild swelling" is not). Good for plumbing and for
    ranking similar systems; use an LLM judge for numbers to publish.
    """
    stated = [normalise(sentence) for sentence in statements(report)]
    read = [mentions(sentence) for sentence in statements(report)]
    windows = [
        _by_word(mention for sentence in read[start : start + WINDOW] for mention in sentence)
        for start in range(max(1, len(read) - WINDOW + 1))
    ]
    return [
        normalise(claim) in stated or any(_states(window, mentions(claim)) for window in windows) for claim in claims
    ]


def _by_word(window: Iterable[Mention]) -> dict[str, list[Mention]]:
    by_word: dict[str, list[Mention]] = defaultdict(list)
    for mention in window:
        by_word[mention.word].append(mention)
    return by_word


def _states(window: dict[str, list[Mention]], claim: list[Mention]) -> bool:
    found = 0
    for mention in claim:
        candidates = window.get(mention.word, [])
        if any(other.negated == mention.negated and mention.sides <= other.sides for other in candidates):
            found += 1
        elif candidates or mention.exact:  # said otherwise, or a number that is missing
            return False
    return bool(claim) and found >= ENTAILED_FROM * len(claim)
