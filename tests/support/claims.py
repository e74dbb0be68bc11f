"""The judge of reports without a model, as one function."""

from scoring.metrics.claims import ReportClaims, entailed, split_claims


def judge_offline(report: str, reference: str, generated: str) -> ReportClaims:
    """Judge the claims of a reference report against the generated one by rules."""
    claims = split_claims(reference)
    return ReportClaims.pair(report, claims, entailed(claims, generated))
