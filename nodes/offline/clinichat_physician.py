"""CliniChat's offline physician: asks the history in order, tells the results, then diagnoses step by step."""

from collections.abc import Sequence

from cases.vocabulary import Language, label
from nodes.offline.chart_signs import named_in_findings
from nodes.offline.votes import weights
from nodes.offline.whole_picture import with_findings, with_results_told
from nodes.state.chart import Chart, said_by
from nodes.workflow.stages import AUXILIARY, DIAGNOSIS
from prompts import load_words, mark
from retrieval import Neighbour


def interview_to_the_plan(chart: Chart, neighbours: Sequence[Neighbour], turns_left: int) -> tuple[str, bool]:
    """Return the physician's next turn, and whether it is the last.

    The turns are the questions of the history, the results, and the four steps of the diagnosis. Remaining questions
    are skipped if ``turns_left`` does not suffice for the rest.
    """
    language = chart.presentation.language
    words, opening = (load_words("clini_eval/words", language)[name] for name in ("physician", "opening"))
    spoken = said_by("doctor", chart.dialogue)
    known = with_results_told(chart)
    similar = with_findings(neighbours, known)
    suspected = list(dict.fromkeys([*named_in_findings(known), *weights(DIAGNOSIS, known, similar)]))
    closing = [words["results"], *_diagnosis_steps(suspected, chart, neighbours, language)]
    asked = sum(text in (opening, *words["questions"]) for text in spoken)  # a fixed greeting takes the first's place
    statements = len(spoken) - asked
    if (
        not statements and asked < len(words["questions"]) and turns_left > len(closing) + 1
    ):  # the last turn has no reply
        return words["questions"][asked], False
    # If a disease was named, the patient ends the dialogue after the confirming tests; otherwise the physician must.
    return closing[min(statements, len(closing) - 1)], statements >= (len(closing) if suspected else len(closing) - 1)


def _diagnosis_steps(
    suspected: Sequence[str], chart: Chart, neighbours: Sequence[Neighbour], language: Language
) -> list[str]:
    """Return the steps of the diagnosis by named diseases and similar cases, or that no disease can be named."""
    words, separator = load_words("clini_eval/words", language)["physician"], mark("listed", language)
    tests = list(weights(AUXILIARY, chart, neighbours))[:3] or ["Blood Test"]
    values = {"tests": separator.join(label(test, language) for test in tests)}
    if not suspected:
        return [words["unnamed"].format(**values)]
    values |= {"disease": suspected[0], "others": separator.join(suspected[1:4]) or words["no_other"]}
    return [step.format(**values) for step in words["steps"]]
