"""Clini-Eval: how well a physician interviews, in 34 scores that sum to 100 (CliniChat, section 3.3 and table 6).

The paper's table prints integer maxima, while its results have decimals; it does not define fractions of a point. Here
a score is any number from 0 to its maximum; one beyond it is rejected, never clipped.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from cases.dialogues import PHYSICIAN, Dialogue
from cases.strict import Strict
from cases.text.words import count_words
from cases.vocabulary import Language, data_file
from scoring.metrics.samples import case_of, mean, over_cases
from scoring.metrics.statistics import Ends, Estimate

POINTS = 100.0
STATISTICS = ("Avg. Turns", "Avg. Words Phys.", "Avg. Words Pt.")
TOTAL = "Total Score"
ASSESSED, ASSESSABLE = "Assessed Points", "Assessed Maximum"


class Leaf(Strict):
    """One score of Clini-Eval: its name, its main metric and its maximum."""

    key: str
    main: str
    group: str = ""
    name: str
    maximum: float
    en: str
    zh: str
    asked: list[dict[Language, str]] = Field(default_factory=list, description="For the rules: what is to be asked.")

    @property
    def metric(self) -> str:
        """The name as the paper prints it, with its group's, since ``Treatment History`` occurs in two."""
        return f"{self.group}: {self.name}" if self.group else self.name

    @property
    def column(self) -> str:
        """The column of its scores: named after its main metric if it is the only leaf, as in the paper's tables."""
        return self.metric if len(MAINS[self.main]) > 1 else self.main

    def criterion(self, language: Language) -> str:
        """Return what earns the points."""
        return self.zh if language == "zh" else self.en

    def asked_of(self, language: Language) -> str:
        """Return the criterion under its name; in Chinese without it, since the paper's names are English."""
        return self.zh if language == "zh" else f"{self.metric}: {self.en}"

    def reached(self, points: float, language: Language) -> str:
        """Return the points beside the maximum: in Chinese under the criterion, since the paper's names are English."""
        of = f"{points:g}/{self.maximum:g}"
        return f"{self.zh.rstrip('。')}（{of}）" if language == "zh" else f"{self.metric}: {of}"


def clini_eval_file() -> Mapping[str, Any]:
    """Return the leaves, and the patterns of the rules."""
    return data_file("scoring.clini_eval", "clini_eval")


LEAVES: Mapping[str, Leaf] = {entry["key"]: Leaf.model_validate(entry) for entry in clini_eval_file()["leaf"]}
MAINS: Mapping[str, tuple[Leaf, ...]] = {
    main: tuple(leaf for leaf in LEAVES.values() if leaf.main == main)
    for main in dict.fromkeys(leaf.main for leaf in LEAVES.values())
}


# The lowest and highest points: leaves and main metrics of one name, which is then a main metric of one leaf, agree.
ENDS: Mapping[str, Ends] = {
    **{leaf.column: (0.0, leaf.maximum) for leaf in LEAVES.values()},
    **{main: (0.0, sum(leaf.maximum for leaf in of_main)) for main, of_main in MAINS.items()},
    **dict.fromkeys((TOTAL, ASSESSED), (0.0, POINTS)),
}


class Points(Strict):
    """Points by leaf: of a judge, who gives all of them, or of the rules, which can count some."""

    @property
    def by_leaf(self) -> dict[str, float]:
        """The points of each assessed leaf."""
        return {key: float(getattr(self, key)) for key in LEAVES}


def _within(leaf: Leaf) -> Any:
    points = Field(ge=0, le=leaf.maximum, allow_inf_nan=False, strict=True, description=f"0 to {leaf.maximum:g}")
    return Annotated[float, points], ...


# A judge's answer: every score, none beyond its maximum.
JudgedPoints: type[Points] = create_model(
    "CliniEvalPoints", __base__=Points, __module__=__name__, **{key: _within(leaf) for key, leaf in LEAVES.items()}
)


class ComparedPoint(Strict):
    """One point of the demonstration beside the dialogue."""

    point: str
    done: Literal["fully", "partly", "not"]
    comment: str = ""


class Comparison(Strict):
    """The subjective assessment: point by point, then as a whole."""

    points: list[ComparedPoint]
    assessment: str


class CliniEvalScores(Strict):
    """The scores of one dialogue, summed here and never by a judge."""

    leaves: dict[str, float] = Field(description="Points by leaf; leaves that were not assessed are absent.")
    unscored: dict[str, str] = Field(default_factory=dict, description="Why a leaf was not assessed.")
    comparison: Comparison | None = Field(default=None, description="The subjective assessment.")
    summary: str = ""

    @property
    def mains(self) -> dict[str, float | None]:
        """The points of the six main metrics, named as in the paper's tables; None if a leaf was not assessed."""
        keys = {name: [leaf.key for leaf in of_main] for name, of_main in MAINS.items()}
        return {
            name: sum(map(self.leaves.__getitem__, own)) if self.leaves.keys() >= {*own} else None
            for name, own in keys.items()
        }

    @property
    def total(self) -> float | None:
        """The sum of all leaves, out of 100; None (missing) if one of them was not assessed."""
        return self.assessed if self.leaves.keys() == LEAVES.keys() else None

    @property
    def assessed(self) -> float:
        """The sum of the assessed leaves."""
        return sum(self.leaves.values())

    @property
    def assessable(self) -> float:
        """The maximum of the assessed leaves."""
        return sum(LEAVES[key].maximum for key in self.leaves)

    @property
    def by_name(self) -> dict[str, float | None]:
        """Main metrics, total and leaves under the paper's names; None is missing."""
        leaves = {leaf.column: self.leaves.get(leaf.key) for leaf in LEAVES.values()}
        return {**self.mains, TOTAL: self.total, **leaves}


def statistics_of(dialogue: Dialogue) -> dict[str, float | None]:
    """Return the statistical indices of tables 2 and 4: rounds (the physician's turns), and mean turn lengths.

    Lengths are in words; each Chinese character is one. A message without a word is no turn. None (missing) if a side
    says nothing.
    """
    lengths: dict[bool, list[float]] = {True: [], False: []}
    for message in dialogue.spoken:
        if words := count_words(message.content):
            lengths[message.role == PHYSICIAN].append(words)
    return dict(zip(STATISTICS, (float(len(lengths[True])), mean(lengths[True]), mean(lengths[False])), strict=True))


def estimates_of(dialogues: Sequence[Dialogue], scores: Sequence[CliniEvalScores | None]) -> dict[str, Estimate]:
    """Return the mean of every score over the dialogues that have it, clustered by case.

    If leaves were not assessed, the sum of the assessed ones is given beside its maximum.
    """
    return {name: over_cases(column, ENDS.get(name)) for name, column in _columns(dialogues, scores).items()}


def failed_as_wrong(
    dialogues: Sequence[Dialogue], scores: Sequence[CliniEvalScores | None], failed: Sequence[str]
) -> dict[str, Estimate]:
    """Return the mean points if failed cases, and dialogues that were not judged, have none; empty if there are none.

    Only of what was assessed in some dialogue; numbers without a worst value have no such bound.
    """
    lost = [*failed, *(dialogue.id for dialogue, score in zip(dialogues, scores, strict=True) if score is None)]
    return {
        name: over_cases([*column, *((case_of(each), 0.0) for each in lost)], ENDS[name])
        for name, column in _columns(dialogues, scores).items()
        if lost and name in ENDS and any(value is not None for _, value in column)
    }


def _columns(
    dialogues: Sequence[Dialogue], scores: Sequence[CliniEvalScores | None]
) -> dict[str, list[tuple[str, float | None]]]:
    """Return every score with the case of its dialogue, by name."""
    columns: dict[str, list[tuple[str, float | None]]] = {}
    partly = any(score is not None and score.unscored for score in scores)
    for dialogue, score in zip(dialogues, scores, strict=True):
        values = dict.fromkeys(CliniEvalScores(leaves={}).by_name) if score is None else score.by_name
        if partly:
            sums = {ASSESSED: None, ASSESSABLE: None}
            values |= sums if score is None else {ASSESSED: score.assessed, ASSESSABLE: score.assessable}
        for name, value in (values | statistics_of(dialogue)).items():
            columns.setdefault(name, []).append((case_of(dialogue.id), value))
    return columns
