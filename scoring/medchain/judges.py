"""MedChain's judges: extraction and entailment of a report's claims, and the grade of a diagnosis."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from cases.strict import NonEmpty, Strict
from cases.text.prose import recorded
from cases.text.statements import statements
from cases.vocabulary import Language, normalise
from llm import ModelSettings, Role, ask
from scoring.metrics.claims import MAX_CLAIMS, ReportClaims, entailed, split_claims
from scoring.metrics.diagnosis_grade import DiagnosisGrade
from scoring.metrics.diagnosis_names import grade_names

_LETTER = re.compile(r"[^\W\d_]")


class Claims(Strict):
    """The single claims of a report."""

    claims: list[NonEmpty] = Field(max_length=MAX_CLAIMS, description="At most 30; none only if it claims nothing.")


class ClaimSupport(Strict):
    """What the judge says to one claim."""

    # Source: MedChain, Figure 7.

    claim: str = Field(description="The claim, word for word.")
    reason: str = Field(description="Where the report states it, or what of it is missing or otherwise.")
    supported: bool


class Support(Strict):
    """What the judge says to each claim, in order."""

    verdicts: list[ClaimSupport] = Field(description="One entry for each claim, in the same order.")


@dataclass(frozen=True)
class ReportView:
    """What the claim extractor sees: the reference report."""

    report: str


@dataclass(frozen=True)
class ClaimsView:
    """What the claim judge sees: the claims of the reference, and the report to check."""

    claims: Sequence[str]
    report: str


@dataclass(frozen=True)
class DiagnosisView:
    """What the diagnosis judge sees."""

    predicted: Sequence[str]
    reference: Sequence[str]


def _grade(view: DiagnosisView) -> DiagnosisGrade:
    grade = grade_names(view.predicted, view.reference)
    if grade is None:
        raise ValueError("a diagnosis is graded only against a reference")
    return grade


def _a_claim_of_what_is_stated(view: ReportView, answer: Claims) -> str | None:
    """Refuse no claims in words of a report that has some: the key would seem to state nothing, numbers or "N/A"."""
    if not (statements(view.report) and _LETTER.search(view.report)):
        return None
    if any(_LETTER.search(recorded(claim)) for claim in answer.claims):
        return None
    return "no claim; expected at least one in words"


def _one_verdict_a_claim(view: ClaimsView, answer: Support) -> str | None:
    given, wanted = len(answer.verdicts), len(view.claims)
    if given != wanted:
        return f"the number of verdicts is {given}; expected {wanted}, one per claim"
    # A verdict that paraphrases its claim counts by its position; one with the words of another claim is out of order.
    places = {normalise(claim): place for place, claim in enumerate(view.claims)}
    for place, verdict in enumerate(answer.verdicts):
        matched = places.get(normalise(verdict.claim), place)
        if normalise(view.claims[matched]) != normalise(view.claims[place]):
            return f"verdict {place + 1} is on claim {matched + 1}; expected the claims in order"
    return None


def _by_rule(view: ClaimsView) -> Support:
    flags = entailed(view.claims, view.report)
    return Support(
        verdicts=[
            ClaimSupport(claim=claim, reason="", supported=flag) for claim, flag in zip(view.claims, flags, strict=True)
        ]
    )


claim_extractor = Role(
    "claim_extractor",
    "evaluation",
    "judges/claims",
    Claims,
    offline=lambda view: Claims(claims=split_claims(view.report)),
    check=_a_claim_of_what_is_stated,
    whole=True,
)
claim_judge = Role(
    "claim_judge", "evaluation", "judges/entailment", Support, offline=_by_rule, check=_one_verdict_a_claim, whole=True
)
diagnosis_judge = Role("diagnosis_judge", "evaluation", "judges/diagnosis", DiagnosisGrade, offline=_grade)


async def judge_report(
    image_class: str, generated: str, reference: str, settings: ModelSettings, language: Language
) -> ReportClaims:
    """Judge the claims of a reference report (MedChain, figure 7).

    The second call, which checks the claims, is skipped if the generated report is empty or nothing is claimed.

    Raises:
        AskError: a judge gave no valid answer.
    """
    asked: dict[str, Any] = {"language": language, "place": image_class}
    claims = (await ask(claim_extractor, ReportView(reference), settings, **asked)).claims
    if not (claims and generated.strip()):
        return ReportClaims.pair(image_class, claims, [False] * len(claims))
    support = await ask(claim_judge, ClaimsView(claims, generated), settings, **asked)
    return ReportClaims.pair(image_class, claims, [verdict.supported for verdict in support.verdicts])


async def judge_diagnosis(
    predicted: Sequence[str], reference: Sequence[str], settings: ModelSettings, language: Language
) -> DiagnosisGrade:
    """Grade a diagnosis on five levels (MedChain, A.2.4).

    No diagnosis gets the lowest grade without asking a judge, who might read something into it.

    Raises:
        AskError: the judge gave no valid answer.
    """
    if not any(normalise(name) for name in predicted):
        return DiagnosisGrade(level=1, reason="No diagnosis was given.")
    return await ask(diagnosis_judge, DiagnosisView(predicted, reference), settings, language=language)
