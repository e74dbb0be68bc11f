"""Claim recall of imaging reports: how much of the reference the generated report states (MedChain, after DocLens)."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Self

from pydantic import Field

from cases.strict import Strict
from cases.text.numbers import in_digits
from cases.text.statements import Mention, statements
from cases.vocabulary import normalise
from scoring.metrics.amounts import as_in, told_otherwise
from scoring.metrics.content import Window, agreeing_in, clauses_of, known_terms, read_clauses
from scoring.metrics.opposites import (
    Clause,
    has_opposite,
    is_contrary,
    is_of_other_relatives,
    names_another_organ,
    without_other_relatives,
)
from scoring.metrics.samples import mean
from scoring.metrics.stated_share import agrees, is_opposite, likeness

MAX_CLAIMS = 30
ENTAILED_FROM = 0.8  # share of a claim's words that a report must state if none is a known finding
_HALF = 0.5  # the same of the other words if one is
SURELY_SAME = 0.8  # cosine similarity of two clauses, where it decides alone
_OPPOSITE = {"larg": "small", "small": "larg"}
_CLAUSE = re.compile(
    r"(?:[,，、；]|;(?= ))(?! ?(?:or|nor)\b)|\band (?=there\b|no\b|the\b|an?\b)|\bwith\b|\b(?=without\b)"
    "|伴(?!随)|(?=[无未])",
    re.IGNORECASE,
)
_COMMA = re.compile("[,，、；;]")
_NORMAL = "normal"
_ONE = re.compile(r"(\bone\b|(?<![十百])一(?![十百]))", re.IGNORECASE)
_CONTINUES = re.compile(r"(?:it|its|they|their|these|this)\b|其|该|此", re.IGNORECASE)  # the sentence before


class ClaimVerdict(Strict):
    """One claim of the reference report, and whether the generated report states it."""

    claim: str
    entailed: bool


class ReportClaims(Strict):
    """The judged claims of one reference report; none if it claims nothing."""

    report: str = Field(description="Image class of the report.")
    verdicts: list[ClaimVerdict] = Field(default_factory=list, max_length=MAX_CLAIMS)

    @classmethod
    def pair(cls, report: str, claims: Sequence[str], entailed: Sequence[bool]) -> Self:
        """Pair a judge's verdicts with the claims, in order.

        Raises:
            ValueError: there is not one verdict for each claim, or there are more than 30.
        """
        verdicts = [ClaimVerdict(claim=claim, entailed=flag) for claim, flag in zip(claims, entailed, strict=True)]
        return cls(report=report, verdicts=verdicts)


def claim_recall(reports: Iterable[ReportClaims]) -> float | None:
    """Return the claim recall of one case: entailed claims / claims, over all its reports, in [0, 1]; higher is better.

    Micro average: each claim has the same weight, whichever report it is from. None (unscored) if there is no claim; 0
    if the generated reports are empty. A missing report counts with all its claims. Source: MedChain, appendix A.2
    (task 3), after DocLens. For the published numbers, an LLM extracts and judges the claims; only
    :func:`entailed` differs from that, not this average.
    """
    return mean([verdict.entailed for report in reports for verdict in report.verdicts])


def claim_precision(reports: Iterable[tuple[str, str]]) -> float | None:
    """Return the share of what a case's generated reports state that the reference states too, by rules, in [0, 1].

    Our complement to :func:`claim_recall`, which can be maximised by a report that asserts and denies every finding, or
    names both sides for each: half of the first, and none of the second, is in the reference. Every distinct sentence
    of each generated report counts the same (:func:`entailed` in the other direction, with its limits). A good report
    that says more than the reference has less than 1. None if nothing was written; higher is better.
    """
    distinct = [({normalise(one): one for one in statements(generated)}, reference) for generated, reference in reports]
    return mean([flag for sentences, reference in distinct for flag in entailed(sentences.values(), reference)])


def split_claims(report: str) -> list[str]:
    """Split a report into claims, offline: its first 30 distinct sentences.

    A sentence with several statements stays one claim, where an LLM would make several: the offline recall is coarser,
    and stricter on long sentences.
    """
    distinct = {normalise(sentence): sentence for sentence in reversed(statements(report))}
    return list(distinct.values())[::-1][:MAX_CLAIMS]


def entailed(claims: Iterable[str], report: str) -> list[bool]:
    """Whether a report states each claim, by rules for meaning and polarity.

    Synonyms of findings are mapped to one name (``cases/vocabularies/finding_terms.toml``). A claim is entailed if one
    sentence of the report (or two, if the second continues with "it") has all of its findings with their polarity and
    side, all of its numbers (lengths in millimetres; no other amount, and no other number of how often), half of its
    other words (locations, and words in no list), no opposite size and no other organ. A finding is also absent if
    normality is stated. A claim contradicted by another sentence is not entailed; a claim that the report states
    verbatim is. So is one of which each clause is stated so, or means the same as a clause of the report with its
    polarity, side and numbers (`SURELY_SAME`).

    Limits: no inference ("a rim of pleural air" does not entail pneumothorax, nor "acid-fast bacilli" tuberculosis),
    and words in no list are compared literally or by their clause. Its agreement with labelled claims is in the docs;
    use an LLM judge for numbers to publish.
    """
    claims = [as_in(claim, report) for claim in claims]
    read = _Report(without_other_relatives(report, "\n".join(claims)))
    return [read.has(claim) or read.implies(claim) for claim in claims]


class _Report:
    """A report as read once, in which claims are looked up."""

    def __init__(self, text: str) -> None:
        self._text = text
        lines = statements(text)
        read = [_read(line) for line in lines]
        self._verbatim = {normalise(line) for line in lines}
        self._windows = [
            *((line, Window(own)) for line, own in zip(lines, read, strict=True)),
            *(
                (f"{line} {later}", Window([*one, *two]))
                for (line, later), (one, two) in zip(pairwise(lines), pairwise(read), strict=True)
                if _CONTINUES.match(later)
            ),
        ]
        self._whole = Window(mention for line in read for mention in line)

    @cached_property  # only if a claim is not stated outright
    def _clauses(self) -> list[Clause]:
        return clauses_of(self._text)

    @cached_property
    def _words(self) -> Window:
        return Window(each for clause in self._clauses for each in clause.mentions)

    @cached_property
    def _numbers(self) -> set[str]:
        return {number for clause in self._clauses for number in clause.numbers}

    def has(self, claim: str) -> bool:
        """Whether the claim stands in the report verbatim."""
        own = {normalise(part) for part in statements(claim)}
        return bool(own) and own <= self._verbatim

    def implies(self, claim: str) -> bool:
        """Whether the claim is stated or meant, as a whole or by its parts, and nothing else in its place."""
        if is_of_other_relatives(claim, self._text) or told_otherwise(claim, self._text):
            return False
        return self._says(claim) or self._says_each(claim) or self._means(claim)

    def _says(self, claim: str) -> bool:
        read, (subject, *_) = _read(claim), _CLAUSE.split(claim)
        of_it = [window for line, window in self._windows if not names_another_organ(subject, line)]
        return any(_states(window, read, self._whole) for window in of_it) and not self._is_denied(claim)

    def _is_denied(self, claim: str) -> bool:
        read = _read(claim)
        return any(_denies(window, read) for _, window in self._windows)

    def _says_each(self, claim: str) -> bool:
        """Whether each part is stated, and none with its place, which may stand in another part, is contradicted."""
        parts = [part for part in _CLAUSE.split(claim) if _read(part)]
        return len(parts) > 1 and all(map(self._says, parts)) and not any(map(self._is_denied, _COMMA.split(claim)))

    def _means(self, claim: str) -> bool:
        """Whether each clause is stated or meant, with all numbers of the claim, and of none the opposite."""
        own, others = [clause for clause in clauses_of(claim) if clause.mentions], self._clauses
        if not own or any(clause.numbers - self._numbers or has_opposite(clause, others) for clause in own):
            return False
        if any(is_opposite(each, self._words) for clause in own for each in clause.mentions if not each.exact):
            return False
        return all((len(own) > 1 and self._says(clause.text)) or _is_surely_meant(clause, others) for clause in own)


def _is_surely_meant(clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether one of the other clauses surely means the same, with the same polarity, side and numbers.

    What tells a finding of one thing and what calls it normal are opposites, however much they share.
    """
    findings = known_terms().findings

    def is_normal_instead(one: Clause, other: Clause) -> bool:
        return _NORMAL in one.words and _NORMAL not in other.words and not findings.isdisjoint(other.words)

    others = [each for each in others if agrees(clause, each) and not is_contrary(clause, each)]
    others = [each for each in others if not (is_normal_instead(clause, each) or is_normal_instead(each, clause))]
    return bool(others) and likeness(clause, others) >= SURELY_SAME


@lru_cache(maxsize=4096)
def _read(sentence: str) -> list[Mention]:
    """Return a sentence's words, synonyms mapped to one name, numbers in digits, without an examination's label.

    "One" stays a word, as it seldom counts.
    """
    counted = "".join(part if _ONE.fullmatch(part) else in_digits(part) for part in _ONE.split(sentence))
    return [mention.plain for clause in read_clauses(counted) for mention in clause]


def _states(window: Window, claim: list[Mention], whole: Window) -> bool:
    """Whether all findings of a claim are in a window, and enough of its other words.

    An absent finding needs none of the other words, unless the report affirms it elsewhere: then the places must agree.
    """
    findings = known_terms().findings
    named = [mention for mention in claim if mention.word in findings]
    others = [mention for mention in claim if mention.word not in findings and not mention.exact]
    met = sum(
        any(named or each.negated == mention.negated for each in agreeing_in(mention, window)) for mention in others
    )
    if any(mention.exact and not any(mention.word == other.word for other in window) for mention in claim):
        return False
    if {_OPPOSITE.get(mention.word) for mention in claim} & {other.word for other in window}:
        return False
    enough = met >= (_HALF if named else ENTAILED_FROM) * len(others)
    for mention in named:
        agreeing = agreeing_in(mention, window)
        if any(other.negated == mention.negated for other in agreeing):
            found = any(other.negated != mention.negated for other in agreeing_in(mention, whole))
            enough = enough or (mention.negated and not found)
        elif any(mention.word == other.word for other in window) or not _as_normal(mention, window, findings):
            return False
    return bool(claim) and enough


def _denies(window: Window, claim: list[Mention]) -> bool:
    """Whether a window states the opposite of the claim's only finding, about everything else in the claim."""
    findings = known_terms().findings
    found = [mention for mention in claim if mention.word in findings]
    others = [mention for mention in claim if mention.word not in findings]
    if len(found) != 1 or not others or not all(agreeing_in(mention, window) for mention in others):
        return False
    polarities = {each.negated for each in agreeing_in(found[0], window)}
    return bool(polarities) and found[0].negated not in polarities


def _as_normal(mention: Mention, window: Window, findings: frozenset[str]) -> bool:
    """Whether a finding's absence is stated as normality, or normality as the absence of a finding."""
    if mention.word == _NORMAL:
        return any(other.word in findings and other.negated != mention.negated for other in window)
    return mention.negated and any(other.word == _NORMAL and not other.negated for other in window)
