"""What CliniChat's physician says without a model: the history in order, the results, the diagnosis step by step."""

from collections.abc import Sequence

from cases.vocabulary import Language, label
from nodes.offline.chart_signs import named_in_findings
from nodes.offline.votes import weights
from nodes.state.chart import Chart
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
    suspected = list(dict.fromkeys([*named_in_findings(chart), *weights(DIAGNOSIS, chart, neighbours)]))
    rest = [words["results"], *_diagnosis(suspected, chart, neighbours, language)]
    asked = sum(text in words["questions"] for text in spoken)
    told = len(spoken) - asked
    if not told and asked < len(words["questions"]) and turns_left > len(rest) + 1:  # the last word has no reply
        return words["questions"][asked], False
    # Of a named disease the patient ends at the tests that confirm it; where none is, nobody else would.
    return rest[min(told, len(rest) - 1)], told >= (len(rest) if suspected else len(rest) - 1)


def _diagnosis(
    suspected: Sequence[str], chart: Chart, neighbours: Sequence[Neighbour], language: Language
) -> list[str]:
    """What a result names, or similar cases had, and what was examined there; else that none can be named."""
    words, joint = load_words("clini_eval/words", language)["physician"], mark("listed", language)
    tests = list(weights(AUXILIARY, chart, neighbours))[:3] or ["Blood Test"]
    said = {"tests": joint.join(label(test, language) for test in tests)}
    if not suspected:
        return [words["unnamed"].format(**said)]
    said |= {"disease": suspected[0], "others": joint.join(suspected[1:4]) or words["no_other"]}
    return [step.format(**said) for step in words["steps"]]
