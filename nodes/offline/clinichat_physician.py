"""What CliniChat's physician says without a model: the history in order, the results, the diagnosis step by step."""

from collections.abc import Sequence

from cases.vocabulary import Language, label
from nodes.offline.votes import majority, weights
from nodes.state.chart import Chart
from nodes.state.decisions import Diagnosis
from nodes.workflow.stages import AUXILIARY, DIAGNOSIS
from prompts import load_words, mark
from retrieval import Neighbour


def interview_to_the_plan(chart: Chart, neighbours: Sequence[Neighbour], turns_left: int) -> tuple[str, bool]:
    """The next words, and whether they are the last: the history, the results, then the four steps of the diagnosis.

    The history is cut short where the turns would not do for the rest.
    """
    language = chart.presentation.language
    words = load_words("clini_eval/words", language)["physician"]
    spoken = [turn.text for turn in chart.dialogue if turn.speaker == "doctor"]
    rest = [words["results"], *_diagnosis(chart, neighbours, language)]
    asked = sum(text in words["questions"] for text in spoken)
    told = len(spoken) - asked
    if not told and asked < len(words["questions"]) and turns_left > len(rest) + 1:  # the last word has no reply
        return words["questions"][asked], False
    return rest[min(told, len(rest) - 1)], told >= len(rest)


def _diagnosis(chart: Chart, neighbours: Sequence[Neighbour], language: Language) -> list[str]:
    """What similar cases had, or what a result names, and what was examined there."""
    found = majority(DIAGNOSIS, chart, neighbours, (), None)
    assert isinstance(found, Diagnosis)
    words, joint = load_words("clini_eval/words", language)["physician"], mark("listed", language)
    names = list(weights(DIAGNOSIS, chart, neighbours))
    others = [name for name in names if name not in found.names][:3]
    tests = list(weights(AUXILIARY, chart, neighbours))[:3] or ["Blood Test"]
    filled = {
        "disease": found.names[0],
        "others": joint.join(others) or words["no_other"],
        "tests": joint.join(label(test, language) for test in tests),
    }
    return [step.format(**filled) for step in words["steps"]]
