"""The clinical instructor: compares with the demonstration, scores, and summarises (CliniChat, figure 8)."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from cases.dialogues import PHYSICIAN, Dialogue
from cases.strict import Strict
from cases.vocabulary import Language
from llm import ModelSettings, Role, Trace, ask, merge_traces
from nodes.node import node
from prompts import load_words, said
from scoring.clini_eval.demonstration import CliniEvalInput, Demonstration, demonstrate
from scoring.clini_eval.points import LEAVES, CliniEvalScores, ComparedPoint, Comparison, JudgedPoints, Leaf, Points
from scoring.clini_eval.rules import CountedPoints, count_points
from scoring.metrics.stated_share import stated_share


class CliniEvalState(CliniEvalInput, total=False):
    """The input, the demonstration and comparison, and the scores."""

    demonstration: Demonstration
    comparison: Comparison
    scores: CliniEvalScores
    trace: Annotated[Trace, merge_traces]


class Summary(Strict):
    """What the numbers and the comparison come to."""

    summary: str = Field(min_length=1)


@dataclass(frozen=True)
class ComparisonView:
    """What the instructor sees first: the dialogue beside the demonstration."""

    dialogue: Dialogue
    transcript: str
    demonstration: Demonstration


@dataclass(frozen=True)
class PointsView(ComparisonView):
    """What the instructor sees for scoring: also the comparison, and the leaves to score."""

    comparison: Comparison
    leaves: list[Leaf]


@dataclass(frozen=True)
class SummaryView:
    """What the instructor sees at the end: the comparison and the numbers."""

    comparison: Comparison
    scores: CliniEvalScores
    numbers: list[str]
    language: Language


def compare_statements(view: ComparisonView) -> Comparison:
    """Offline: whether the plan's subjects were asked about, by the rules, and whether the findings came up."""
    counted = count_points(view.dialogue).counted
    points = [
        ComparedPoint(point=leaf.criterion(view.dialogue.language), done=_degree(counted[leaf.key] / leaf.maximum))
        for leaf in LEAVES.values()
        if leaf.key in counted
    ]
    points += [
        ComparedPoint(point=finding, done=_degree(stated_share(view.transcript, finding)))
        for finding in view.demonstration.findings
    ]
    done = sum(point.done == "fully" for point in points)
    words = load_words("clini_eval/words", view.dialogue.language)["instructor"]
    return Comparison(points=points, assessment=words["compared"].format(done=done, all=len(points)))


def _degree(share: float) -> Literal["fully", "partly", "not"]:
    return "fully" if share >= 1 else "partly" if share > 0 else "not"


def _says_nothing(view: ComparisonView, comparison: Comparison) -> str | None:
    is_compared = comparison.points and all(point.point.strip() for point in comparison.points)
    return None if is_compared else "points: nothing is compared; compare each point"


def sum_up(view: SummaryView) -> Summary:
    """Offline: the points, and the number of leaves not assessed."""
    scores = view.scores
    words = load_words("clini_eval/words", view.language)["instructor"]
    text = words["summed"].format(points=f"{scores.assessed:.1f}", most=f"{scores.assessable:g}")
    return Summary(summary=text + (words["unassessed"].format(len(scores.unscored)) if scores.unscored else ""))


comparing = Role(
    "clinical_instructor",
    "clini_eval.comparison",
    "clini_eval/comparison",
    Comparison,
    offline=compare_statements,
    check=_says_nothing,
    whole=True,
)
scoring: Role[Points] = Role(
    "clinical_instructor",
    "clini_eval.points",
    "clini_eval/points",
    JudgedPoints,
    offline=lambda view: count_points(view.dialogue),
)
summing_up = Role("clinical_instructor", "clini_eval.summary", "clini_eval/summary", Summary, offline=sum_up)


@node(asks=comparing)
async def compare(state: CliniEvalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the subjective assessment, point by point.

    Raises:
        AskError: no valid answer.
    """
    dialogue, settings = state["dialogue"], runtime.context
    view = ComparisonView(dialogue, transcript_of(dialogue, settings), state["demonstration"])
    return {"comparison": await ask(comparing, view, settings, language=dialogue.language, place=dialogue.id)}


@node(asks=scoring)
async def give_points(state: CliniEvalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Give the 34 scores: a judge gives all of them, none beyond its maximum; the rules only those they can count.

    Raises:
        AskError: no valid answer.
    """
    dialogue, comparison, settings = state["dialogue"], state["comparison"], runtime.context
    transcript = transcript_of(dialogue, settings)
    view = PointsView(dialogue, transcript, state["demonstration"], comparison, list(LEAVES.values()))
    points = await ask(scoring, view, settings, language=dialogue.language, place=dialogue.id)
    unscored = points.unscored if isinstance(points, CountedPoints) else {}
    return {"scores": CliniEvalScores(leaves=points.by_leaf, unscored=unscored, comparison=comparison)}


@node(asks=summing_up)
async def summarise(state: CliniEvalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Add a summary of both assessments to the scores.

    Raises:
        AskError: no valid answer.
    """
    dialogue, scores = state["dialogue"], state["scores"]
    settings = runtime.context
    language = settings.language or dialogue.language
    numbers = [LEAVES[key].reached(points, language) for key, points in scores.leaves.items()]
    view = SummaryView(state["comparison"], scores, numbers, dialogue.language)
    answer = await ask(summing_up, view, settings, language=dialogue.language, place=dialogue.id)
    return {"scores": scores.model_copy(update={"summary": answer.summary})}


async def score_clini_eval(dialogue: Dialogue, settings: ModelSettings) -> CliniEvalScores:
    """Score one dialogue in the four steps of ``graphs/clini_eval.py``.

    Raises:
        NothingToScoreError: the dialogue has no clinical note, or no physician speaks in it.
        AskError: a judge could not be asked, or gave no valid answer.
    """
    state: Any = {"dialogue": dialogue}
    for step in (demonstrate, compare, give_points, summarise):
        state |= await step.function(state, Runtime(context=settings))
    scores: CliniEvalScores = state["scores"]
    return scores


def transcript_of(dialogue: Dialogue, settings: ModelSettings) -> str:
    """Return the dialogue with one line per turn, each with its speaker."""
    language = settings.language or dialogue.language
    return "\n".join(
        said("physician" if message.role == PHYSICIAN else "patient", message.content, language)
        for message in dialogue.spoken
    )
