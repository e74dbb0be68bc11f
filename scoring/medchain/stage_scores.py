"""The scores of the clinical workflow's stages, of one case and over cases."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from scoring.metrics.statistics import Estimate, estimate_columns

StageName = Literal["referral_level1", "referral_level2", "history_taking", "examination", "diagnosis", "treatment"]
STAGE_NAMES: tuple[StageName, ...] = get_args(StageName)

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class StageScores(BaseModel):
    """One case's scores, each in [0, 1]; higher is better. A column is either scored or says why not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    referral_level1: Score | None = Field(None, description="Accuracy of the first-level department.")
    referral_level2: Score | None = Field(None, description="IoU of the second-level departments.")
    history_taking: Score | None = Field(None, description="IoU of the ordered physical and auxiliary items.")
    examination: Score | None = Field(None, description="Claim recall of the imaging reports.")
    diagnosis: Score | None = Field(None, description="Five-level grade on [0, 1].")
    treatment: Score | None = Field(None, description="IoU of the treatment items.")
    unscored: dict[StageName, str] = Field(default_factory=dict, description="Why a column has no score.")

    @model_validator(mode="after")
    def _scored_or_explained(self) -> Self:
        for column in STAGE_NAMES:
            if (self[column] is None) != (column in self.unscored):
                raise ValueError(f"{column} must have either a score or a reason in 'unscored'")
        return self

    def __getitem__(self, column: StageName) -> float | None:
        score: float | None = getattr(self, column)
        return score


def summarise(scores: Sequence[StageScores], cases: Iterable[Hashable] | None = None) -> dict[str, Estimate]:
    """The mean of every column over its scored cases, and their average; in [0, 1], higher is better.

    ``average`` is the unweighted mean of the six column means (columns without a scored case left out), not the mean
    of the cases' own averages: they differ where cases lack a column. This reproduces the published column (MedChain,
    Table 2: 0.5269 for MedChain-Agent). Its interval comes from resampling cases and taking all six means anew;
    MedChain publishes no interval.

    Args:
        scores: of the cases, in any order.
        cases: the case of each, when cases ran in several epochs; None: a case each.
    """
    columns: dict[str, list[float | None]] = {column: [score[column] for score in scores] for column in STAGE_NAMES}
    estimates = estimate_columns(columns, cases)
    return {**estimates.columns, "average": estimates.average}


def count_unscored(scores: Iterable[StageScores]) -> dict[StageName, dict[str, int]]:
    """How many cases each column leaves unscored, by reason; columns that are scored throughout are absent."""
    reasons = Counter((column, reason) for score in scores for column, reason in score.unscored.items())
    return {
        column: {reason: count for (place, reason), count in sorted(reasons.items()) if place == column}
        for column in STAGE_NAMES
        if any(place == column for place, _ in reasons)
    }
