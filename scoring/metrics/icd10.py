"""Compare diagnoses as ICD-10 terms (AI Hospital, section 3.2): precision, recall and F1 of disease entities."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cases.vocabulary import patterns
from scoring.metrics.icd10_terms import TermList
from scoring.metrics.samples import PERCENT, over_cases
from scoring.metrics.statistics import Estimate

Rule = Literal["published", "code", "category"]
RULES: tuple[Rule, ...] = ("published", "code", "category")
_WRITTEN = patterns("cases", "vocabularies/patterns")


@dataclass(frozen=True)
class DiseaseCase:
    """The disease entities of one case, as named by a doctor and by the reference."""

    case_id: str
    predicted: Sequence[str]
    reference: Sequence[str]


class Matched(NamedTuple):
    """Which predicted and which reference entities have a match."""

    predicted: list[bool]
    reference: list[bool]


@dataclass(frozen=True)
class Agreement:
    """Recall, precision and F1 of one rule, in percent; higher is better."""

    recall: Estimate
    precision: Estimate
    f1: Estimate

    @property
    def columns(self) -> dict[str, Estimate]:
        """The columns of AI Hospital's table 3."""
        return {"R": self.recall, "P": self.precision, "F1": self.f1}


def predicted_entities(cases: Iterable[DiseaseCase]) -> Estimate:
    """Return ``#``: the mean number of predicted entities per case; no direction. AI Hospital, table 3."""
    return over_cases((case.case_id, float(len(case.predicted))) for case in cases)


def agreement(cases: Iterable[DiseaseCase], terms: TermList, rule: Rule) -> Agreement:
    """Return micro-averaged recall, precision and F1 over the entities of all cases, in percent; higher is better.

    ``R = met / reference entities``, ``P = met / predicted entities``, ``F1 = 2 met / (reference + predicted)``; None
    if the denominator is 0. A case without a prediction counts with its reference entities. Intervals and standard
    errors are those of a ratio of sums: whole cases are resampled.

    ``published`` (:func:`meet_by_candidates`) is AI Hospital's own computation, which adds 0.00001 to the number of
    matches to avoid dividing by zero; ``code`` and ``category`` (:func:`meet_by_code`) compare what the terms mean.
    """
    met = [(case.case_id, _MATCHERS[rule](case.predicted, case.reference, terms)) for case in cases]

    def over(flags: Callable[[Matched], list[bool]]) -> Estimate:
        return over_cases(((case_id, 100.0 * flag) for case_id, matched in met for flag in flags(matched)), PERCENT)

    return Agreement(
        recall=over(lambda matched: matched.reference),
        precision=over(lambda matched: matched.predicted),
        f1=over(lambda matched: matched.predicted + matched.reference),
    )


def meet_by_candidates(predicted: Sequence[str], reference: Sequence[str], terms: TermList) -> Matched:
    """Match by the published rule: a predicted entity is right if it shares a candidate with a reference entity.

    Candidates are the ten nearest names from a score of 50 (:meth:`TermList.candidates`). In order, each predicted
    entity is matched with the last unmatched reference entity that shares a candidate. The rule is lenient: two
    diseases whose ten nearest names overlap count as one. Source: AI Hospital's evaluation code.
    """
    wanted = [{candidate.name for candidate in terms.candidates(name)} for name in reference]
    met_predicted, met_reference = [], [False] * len(wanted)
    for name in predicted:
        given = {candidate.name for candidate in terms.candidates(name)}
        hits = [place for place, names in enumerate(wanted) if not met_reference[place] and given & names]
        if hits:
            met_reference[hits[-1]] = True
        met_predicted.append(bool(hits))
    return Matched(met_predicted, met_reference)


def meet_by_code(
    predicted: Sequence[str], reference: Sequence[str], terms: TermList, level: Callable[[str], str] = str
) -> Matched:
    """Match by the sound rule: a predicted entity is right if its nearest term has the code of a reference entity's.

    A name that is no term is taken by another name of the disease that is one (:meth:`TermList.listed`).

    A disease named to be ruled out has no code and counts as wrong. Codes are compared as sets: entities of one case
    with the same code count once. An entity without a term from a score of 50 has no code, and counts as wrong or
    missed. ``level`` maps a code to the part that is compared (:func:`category`).
    """

    def codes(names: Collection[str]) -> tuple[set[str], int]:
        present = [None if _WRITTEN["absent"].search(name) else name for name in dict.fromkeys(names)]
        nearest = [name and terms.nearest(terms.listed(name) or name) for name in present]
        return {level(term.code) for term in nearest if term}, sum(term is None for term in nearest)

    (given, given_unknown), (wanted, wanted_unknown) = codes(predicted), codes(reference)
    return Matched(
        [code in wanted for code in sorted(given)] + [False] * given_unknown,
        [code in given for code in sorted(wanted)] + [False] * wanted_unknown,
    )


def category(code: str) -> str:
    """Return the three-character category of an ICD-10 code: I21 of I21.0, of I21.001 and of I21.001+I22.0*.

    A morphology code (M800000/3) has no such category; its first five characters name the histology.
    """
    return code[:5] if re.match(r"M\d{4}", code) else code[:3]


def standard_names(names: Iterable[str], terms: TermList) -> list[str]:
    """Rename each entity to its nearest term, as the authors have a model do; one without a term stays.

    Only for the published rule: the sound ones compare codes anyway.
    """
    standard = ((name, terms.nearest(name)) for name in names)
    return list(dict.fromkeys(term.name if term else name for name, term in standard))


_MATCHERS: Mapping[Rule, Callable[[Sequence[str], Sequence[str], TermList], Matched]] = {
    "published": meet_by_candidates,
    "code": meet_by_code,
    "category": lambda predicted, reference, terms: meet_by_code(predicted, reference, terms, category),
}
