"""Claim recall of imaging reports: how much of the reference the generated report states (MedChain, after DocLens)."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple, Self

from pydantic import Field

from cases.strict import Strict
from cases.text.numbers import in_digits
from cases.text.statements import Mention, clause_texts, clauses, statements
from cases.text.words import has_chinese, stem
from cases.vocabulary import EXAMINATION_ITEMS, normalise, word_list
from scoring.metrics.opposites import ROOT, Clause, alike, has_opposite, is_contrary
from scoring.metrics.samples import mean

MAX_CLAIMS = 30
ENTAILED_FROM = 0.8  # share of a claim's words that a report must state if none is a known finding
SAME_MEANING = 0.55  # cosine similarity of two clauses
SURELY_SAME = 0.8  # the same, where it decides alone
MEANT = 0.75  # how much of a word is stated by a clause of the same meaning
MOST = 0.7  # share of a claim that is most of it
_DECIMALS = 3
HALF = 0.5  # share of the other words if one is
_GROUPS = ("plain", "findings", "places", "degrees")
_OPPOSITE = {"larg": "small", "small": "larg"}
_CLAUSE = re.compile(
    r"(?:[,，、；]|;(?= ))(?! ?(?:or|nor)\b)|\band (?=there\b|no\b|the\b|an?\b)|\bwith\b|\b(?=without\b)"
    "|伴(?!随)|(?=[无未])",
    re.IGNORECASE,
)
_WITH = re.compile(r"\bwith\b|\b(?=without\b)|伴(?!随)", re.IGNORECASE)
_COMMA = re.compile("[,，、；;]")
_NORMAL = "normal"
_LABEL = re.compile(f"^(?:{'|'.join(re.escape(name) for term in EXAMINATION_ITEMS.terms for name in term.names)})[:：]")
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
    side, all of its numbers (lengths in millimetres), half of its other words (locations, and words in no list), and no
    opposite size. A finding is also absent if normality is stated. A claim contradicted by another sentence is not
    entailed; a claim that the report states verbatim is. So is one of which each clause is stated so, or means the same
    as a clause of the report with its polarity, side and numbers (`SURELY_SAME`).

    Limits: no inference ("a rim of pleural air" does not entail pneumothorax, nor "acid-fast bacilli" tuberculosis),
    and words in no list are compared literally or by their clause. Its agreement with labelled claims is in the docs;
    use an LLM judge for numbers to publish.
    """
    lines = statements(report)
    verbatim, read = {normalise(sentence) for sentence in lines}, [_read(sentence) for sentence in lines]
    windows = [
        *map(_Window, read),
        *(
            _Window([*one, *two])
            for (one, two), later in zip(pairwise(read), lines[1:], strict=False)
            if _CONTINUES.match(later)
        ),
    ]
    whole = _Window(mention for sentence in read for mention in sentence)

    @cache  # only if a claim is not stated outright
    def everything_said() -> tuple[list[Clause], Set[str], _Window]:
        """Return the report's clauses, with all their numbers and words."""
        clauses = clauses_of(report)
        numbers = {number for clause in clauses for number in clause.numbers}
        return clauses, numbers, _Window(each for clause in clauses for each in clause.mentions)

    def has(claim: str) -> bool:
        own = {normalise(part) for part in statements(claim)}
        return bool(own) and own <= verbatim

    def says(claim: str) -> bool:
        read = _read(claim)
        return any(_states(window, read, whole) for window in windows) and not contradicted(claim)

    def contradicted(claim: str) -> bool:
        read = _read(claim)
        return any(_contradicts(window, read) for window in windows)

    def says_each(claim: str) -> bool:
        """Whether each part is stated, and none with its place, which may stand in another part, is contradicted."""
        parts = [part for part in _CLAUSE.split(claim) if _read(part)]
        return len(parts) > 1 and all(map(says, parts)) and not any(map(contradicted, _COMMA.split(claim)))

    def means(claim: str) -> bool:
        """Whether each clause is stated or meant, with all numbers of the claim, and of none the opposite."""
        own = [clause for clause in clauses_of(claim) if clause.mentions]
        others, numbers, everything = everything_said()
        if not own or any(clause.numbers - numbers or has_opposite(clause, others) for clause in own):
            return False
        if any(_is_opposite(each, everything) for clause in own for each in clause.mentions if not each.exact):
            return False
        return all((len(own) > 1 and says(clause.text)) or _is_surely_meant(clause, others) for clause in own)

    return [has(claim) or says(claim) or says_each(claim) or means(claim) for claim in claims]


class _Window(tuple[Mention, ...]):
    """Words among which others are looked for, many times."""

    @cached_property
    def sides(self) -> frozenset[str]:
        """The sides that they name."""
        return frozenset(side for each in self for side in each.sides)

    @cached_property
    def by_root(self) -> Mapping[str, list[Mention]]:
        """The words by their first letters, which are those of all forms of an English word."""
        found = defaultdict[str, list[Mention]](list)
        for each in self:
            found[each.word[:ROOT]].append(each)
        return found

    def near(self, word: str) -> list[Mention]:
        """Return the few words to which one may be alike: with the same beginning, or shared characters."""
        if word.isascii():
            return self.by_root.get(word[:ROOT], [])
        return [each for each in self if each.word in word or word in each.word]


def _is_stated(mention: Mention, said: _Window, denied: _Window) -> bool:
    """Whether a word is said, and nowhere the opposite of it."""
    agreeing = _agreeing(mention, said)
    if mention.exact:
        return bool(agreeing)
    return any(each.negated == mention.negated for each in agreeing) and not _agreeing(mention, denied)


def stated_share(report: str, reference: str, beside: str = "") -> float:
    """Return how much of a reference a report states: the share of its content words, in [0, 1]; 0 if it has none.

    Each word counts once, with polarity and side, and synonyms as one, as in :func:`entailed`; numbers count too. If at
    most half of the words of a clause are stated, but a clause of the report means the same, with its polarity, side
    and numbers and without an opposite word, each of them counts `MEANT`: by `same_meaning.is_same` in English, and
    from a similarity of `SAME_MEANING` in Chinese. A clause that states the opposite of the truth, which is
    the reference and the further texts in ``beside``, by its polarity, by a word for the opposite or by another number
    of the same unit, states nothing: neither "the lungs are not clear" nor "the skin is moist" nor "pulse 150/min"
    speaks of clear lungs, dry skin and a pulse of 94. A word that the report both asserts and denies is not stated,
    unless the truth does so too.
    """
    read = clauses_of(report)
    truth = [clause for text in (reference, beside) for clause in clauses_of(text)]
    true = _Window(dict.fromkeys(each for clause in truth for each in clause.mentions))
    opposed = {each for clause in read for each in clause.mentions if _is_opposite(each, true)}
    kept = [
        clause
        for clause in read
        if (opposed.isdisjoint(clause.mentions) or _is_true_denial(clause.mentions, opposed, true))
        and not has_opposite(clause, truth)
    ]
    found = _Window(dict.fromkeys(each.plain for clause in kept for each in clause.mentions))
    denied = _Window(each for each in opposed if not each.exact)
    states: dict[Mention, float] = {}
    for clause in clauses_of(reference):
        flags = {each.plain: _is_stated(each.plain, found, denied) for each in clause.mentions}
        is_meant = sum(flags.values()) <= HALF * len(flags) and _is_meant(clause, kept)
        for each, flag in flags.items():
            meant = MEANT if is_meant and not _agreeing(each, denied) else 0.0
            states[each] = max(states.get(each, 0.0), float(flag), meant)
    return mean(list(states.values())) or 0.0


def mostly_stated(claims: Iterable[str], report: str) -> list[bool]:
    """Whether a report states most of each claim (`MOST` of :func:`stated_share`), all its numbers, and no opposite.

    A claim whose clauses the report has word for word is stated, whatever the report denies of something else.
    """
    read = clauses_of(report)
    numbers = {each.word for each in stated(report) if each.exact}

    def is_stated(claim: str) -> bool:
        clauses = clauses_of(claim)
        if clauses and all(clause in read for clause in clauses):
            return True
        return (
            {each.word for each in stated(claim) if each.exact} <= numbers
            and stated_share(report, claim) >= MOST
            and not any(has_opposite(clause, read) for clause in clauses)
        )

    return [*map(is_stated, claims)]


def _is_meant(clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether one of the other clauses means the same, with the same polarity, side and numbers."""
    others = [other for other in others if _agrees(clause, other) and not is_contrary(clause, other)]
    if not others:
        return False
    if not has_chinese(clause.text):
        from scoring.metrics.same_meaning import is_same

        return is_same(clause, others)
    return _likeness(clause, others) >= SAME_MEANING


def _is_surely_meant(clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether one of the other clauses surely means the same, with the same polarity, side and numbers.

    What tells a finding of one thing and what calls it normal are opposites, however much they share.
    """
    findings = _terms().findings

    def is_normal_instead(one: Clause, other: Clause) -> bool:
        return _NORMAL in one.words and _NORMAL not in other.words and not findings.isdisjoint(other.words)

    others = [each for each in others if _agrees(clause, each) and not is_contrary(clause, each)]
    others = [each for each in others if not (is_normal_instead(clause, each) or is_normal_instead(each, clause))]
    return bool(others) and _likeness(clause, others) >= SURELY_SAME


def _likeness(clause: Clause, others: Sequence[Clause]) -> float:
    """Return the highest cosine similarity of a clause to others, by the multilingual model."""
    from retrieval import MULTILINGUAL_MODEL, embed

    meant, *meanings = embed([clause.text, *(other.text for other in others)], MULTILINGUAL_MODEL)
    return round(max(float(meaning @ meant) for meaning in meanings), _DECIMALS)


def _agrees(one: Clause, other: Clause) -> bool:
    """Whether what must match of two clauses does: whether anything is denied, the numbers and the sides."""
    return (
        bool(one.mentions and other.mentions)
        and one.denied == other.denied
        and one.numbers <= other.numbers
        and (not (one.sides and other.sides) or one.sides <= other.sides)
    )


def _is_opposite(mention: Mention, true: _Window) -> bool:
    """Whether the truth has a word with the other polarity alone."""
    polarities = {other.negated for other in _agreeing(mention, true)}
    return bool(polarities) and mention.negated not in polarities


def _is_true_denial(clause: Collection[Mention], opposed: Set[Mention], true: _Window) -> bool:
    """Whether a clause denies what the truth denies, and only what it denies that of is told otherwise.

    "My head does not ache" is "no headache".
    """
    denied = [each for each in clause if each.negated]
    return opposed.isdisjoint(denied) and any(other.negated for each in denied for other in _agreeing(each, true))


def stated(text: str) -> list[Mention]:
    """Return the content words of a text in order, with synonyms mapped to one name, with polarity and side.

    Speakers and function words are no content, and numbers count the same in words and in digits.
    """
    return [each.plain for clause in clauses_of(text) for each in clause.mentions]


def clauses_of(text: str) -> list[Clause]:
    """Return the clauses of a text with their content words, synonyms mapped to one name, numbers in digits."""
    return [clause for sentence in statements(text) for clause in _content(sentence)]


@lru_cache(maxsize=1 << 14)  # the sentences of a few hundred cases, each compared with many
def _content(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence; what is with or without something else is a clause of its own.

    It is not if a denial reaches across ("no mass with calcification").
    """
    sentence = in_digits(sentence)
    parts = _WITH.split(sentence)
    if _polarities(parts) != _polarities([sentence]):
        parts = [sentence]
    read: list[Clause] = []
    sides: frozenset[str] = frozenset()
    for part in parts:
        spoken, texts = _clauses(part), clause_texts(part)
        for place, clause in enumerate(spoken):
            words = [each if each.sides else each._replace(sides=sides) for each in clause]
            sides = next((each.sides for each in reversed(words) if each.sides), sides)
            kept = [each for each in words if each.word not in _without_content()]
            read.append(Clause(texts[place] if len(texts) == len(spoken) else part, kept))
    return read


def _polarities(parts: Iterable[str]) -> list[tuple[str, bool]]:
    return [(each.word, each.negated) for part in parts for clause in _clauses(part) for each in clause]


@cache
def _without_content() -> frozenset[str]:
    """Return the stems of words that say nothing; on first use, since the stemmer is loaded for it."""
    groups = word_list("function_words")
    return frozenset(map(stem, f"{groups['between_phrases']} {groups['spoken']}".split()))


class _Terms(NamedTuple):
    """The synonyms that count as one word."""

    any_language: re.Pattern[str]  # a group for each name
    english: re.Pattern[str]  # the same groups
    names: list[str]
    findings: frozenset[str]  # stems of the names that are findings


@cache
def _terms() -> _Terms:
    """Return the synonyms of imaging reports and of medicine; on first use, since the patterns are large."""
    lists = word_list("finding_terms")
    terms = [(name, forms) for group in _GROUPS for name, forms in lists[group].items()]
    own = {name for name, _ in terms}
    medical = word_list("medical_terms")["terms"]
    terms += [(name, forms) for name, forms in medical.items() if len(forms) == 2 and name not in own]
    any_language = "|".join(f"((?<![a-z])(?:{english})[a-z]*|(?:{chinese}))" for _, (english, chinese) in terms)
    english_alone = "(?<![a-z])(?:" + "|".join(f"((?:{english})[a-z]*)" for _, (english, _) in terms) + ")"
    return _Terms(
        re.compile(any_language, re.IGNORECASE),
        re.compile(english_alone, re.IGNORECASE),
        [name for name, _ in terms],
        frozenset(map(stem, lists["findings"])),
    )


@lru_cache(maxsize=4096)
def _read(sentence: str) -> list[Mention]:
    """Return a sentence's words, synonyms mapped to one name, numbers in digits, without an examination's label.

    "One" stays a word, as it seldom counts.
    """
    counted = "".join(part if _ONE.fullmatch(part) else in_digits(part) for part in _ONE.split(sentence))
    return [mention.plain for clause in _clauses(counted) for mention in clause]


@lru_cache(maxsize=4096)
def _clauses(sentence: str) -> list[list[Mention]]:
    sentence = _LABEL.sub("", sentence)
    terms = _terms()
    pattern = terms.english if sentence.isascii() else terms.any_language  # takes a fifth of the time
    return clauses(pattern.sub(lambda found: f" {terms.names[(found.lastindex or 1) - 1]} ", sentence))


def _states(window: _Window, claim: list[Mention], whole: _Window) -> bool:
    """Whether all findings of a claim are in a window, and enough of its other words.

    An absent finding needs none of the other words, unless the report affirms it elsewhere: then the places must agree.
    """
    findings = _terms().findings
    named = [mention for mention in claim if mention.word in findings]
    others = [mention for mention in claim if mention.word not in findings and not mention.exact]
    met = sum(
        any(named or each.negated == mention.negated for each in _agreeing(mention, window)) for mention in others
    )
    if any(mention.exact and not any(mention.word == other.word for other in window) for mention in claim):
        return False
    if {_OPPOSITE.get(mention.word) for mention in claim} & {other.word for other in window}:
        return False
    enough = met >= (HALF if named else ENTAILED_FROM) * len(others)
    for mention in named:
        agreeing = _agreeing(mention, window)
        if any(other.negated == mention.negated for other in agreeing):
            found = any(other.negated != mention.negated for other in _agreeing(mention, whole))
            enough = enough or (mention.negated and not found)
        elif any(mention.word == other.word for other in window) or not _as_normal(mention, window, findings):
            return False
    return bool(claim) and enough


def _contradicts(window: _Window, claim: list[Mention]) -> bool:
    """Whether a window states the opposite of the claim's only finding, about everything else in the claim."""
    findings = _terms().findings
    found = [mention for mention in claim if mention.word in findings]
    others = [mention for mention in claim if mention.word not in findings]
    if len(found) != 1 or not others or not all(_agreeing(mention, window) for mention in others):
        return False
    polarities = {each.negated for each in _agreeing(found[0], window)}
    return bool(polarities) and found[0].negated not in polarities


def _agreeing(mention: Mention, window: _Window) -> list[Mention]:
    """Return the mentions of the same thing on the same side in a window."""
    found = [each for each in window.near(mention.word) if alike(mention.word, each.word)]
    if not found or not mention.sides:
        return found
    anywhere = not window.sides or mention.sides <= window.sides
    return [each for each in found if (mention.sides <= each.sides if each.sides else anywhere)]


def _as_normal(mention: Mention, window: _Window, findings: frozenset[str]) -> bool:
    """Whether a finding's absence is stated as normality, or normality as the absence of a finding."""
    if mention.word == _NORMAL:
        return any(other.word in findings and other.negated != mention.negated for other in window)
    return mention.negated and any(other.word == _NORMAL and not other.negated for other in window)
