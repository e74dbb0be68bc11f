"""How errors of early stages propagate to later ones (MedChain, Figure 1)."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from pydantic import Field

from cases.strict import Strict
from scoring.metrics.samples import over_cases
from scoring.metrics.statistics import Estimate


class StagePassage(Strict):
    """What becomes of the cases in which nothing went wrong before this stage."""

    stage: str = Field(description="Score that tells whether the stage was right.")
    entered: int = Field(ge=0, description="Number of cases without an error in any earlier stage.")
    unscored: int = Field(ge=0, description="Of these, cases without a score for this stage; they continue.")
    still_right: int = Field(ge=0, description="Of these, cases that are right at this stage.")
    accuracy: Estimate = Field(description="Share of the entered and scored cases that are right at this stage.")


def error_propagation(
    scores: Iterable[Mapping[str, float | None]],
    stages: Sequence[str],
    threshold: float = 0.5,
    *,
    cases: Iterable[Hashable] | None = None,
) -> list[StagePassage]:
    """Return the cases still right after each stage, and each stage's accuracy given that all earlier ones were right.

    A stage is right if its score in [0, 1] (department, IoU, claim recall or grade) reaches the threshold. The number
    of cases that enter never rises from stage to stage; accuracy is in [0, 1], higher is better. A case without a score
    for a stage continues, counted as unscored rather than right, so that a stage is entered by the cases still right or
    unscored. Cases without any score are left out. Source: MedChain, Figure 1, which starts with 2,362 cases and states
    no threshold: its counts are not reproducible, and results are comparable only between runs with one threshold.

    Args:
        scores: the cases' scores by name, in any order.
        stages: the scores that say whether each stage was right, in the order of the stages.
        threshold: the score from which a stage is right; over 0 and at most 1.
        cases: the case of each, if cases ran in several epochs; None if each is a case of its own.

    Raises:
        ValueError: the threshold is out of range, or there is not one case for each of the scores.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"the threshold must be greater than 0 and at most 1, not {threshold}")
    scores = list(scores)
    everyone = zip(scores, range(len(scores)) if cases is None else cases, strict=True)
    right_so_far = [(score, case) for score, case in everyone if any(score.get(stage) is not None for stage in stages)]
    passages = []
    for stage in stages:
        outcomes = [
            (case, None if (value := score.get(stage)) is None else float(value >= threshold))
            for score, case in right_so_far
        ]
        right = [outcome for _, outcome in outcomes]
        passages.append(
            StagePassage(
                stage=stage,
                entered=len(right),
                unscored=right.count(None),
                still_right=right.count(1.0),
                accuracy=over_cases(outcomes, (0.0, 1.0)),
            )
        )
        right_so_far = [entry for entry, outcome in zip(right_so_far, right, strict=True) if outcome != 0.0]
    return passages
