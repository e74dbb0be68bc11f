"""CliniChat's offline physician: asks the history in order, tells the results, then diagnoses step by step."""

from collections.abc import Sequence

from cases.text.named_tests import named_tests
from cases.vocabulary import Language, label, normalise
from nodes.offline.chart_signs import named_in_findings
from nodes.offline.interview import next_in_order
from nodes.offline.places import order_of, usual_pictures
from nodes.offline.votes import MAJORITY_SHARE, SECTIONS, Evidence, weights
from nodes.offline.whole_picture import results_told, seen_now, with_results_told
from nodes.state.chart import Chart, said_by
from nodes.workflow.stages import AUXILIARY, DIAGNOSIS
from prompts import load_words, mark
from retrieval import Neighbour

_ROUTINE, _MOST_TESTS = ("Blood Test",), 3
_OF_ONE_PART = {"X-ray", *SECTIONS}  # pictures that show the same part, of which one is taken at first


def interview_to_the_plan(chart: Chart, neighbours: Sequence[Neighbour], turns_left: int) -> tuple[str, bool]:
    """Return the physician's next turn, and whether it is the last.

    The turns are the questions of the history, the results, and the four steps of the diagnosis. If ``turns_left`` does
    not suffice for all, questions that can bring no more are left out, then the last ones, and the middle steps.
    """
    language = chart.presentation.language
    words, opening = (load_words("clini_eval/words", language)[name] for name in ("physician", "opening"))
    spoken, questions = said_by("doctor", chart.dialogue), words["questions"]
    known = with_results_told(chart)
    similar = seen_now(neighbours, known)
    suspected = list(dict.fromkeys([*named_in_findings(known), *_principal_diagnoses(known, similar)]))
    closing = [words["results"], *_diagnosis_steps(suspected, chart, neighbours, language)]
    statements = sum(text not in (opening, *questions) for text in spoken)
    room = turns_left - len(closing) - 1  # for questions: the last turn has no reply
    asked = next_in_order(chart, questions, saves=False) or int(spoken[:1] == [opening])  # in the first one's place
    place = asked if len(questions) - asked <= room else max(asked, next_in_order(chart, questions))
    if not statements and place < len(questions) and room > 0:
        return questions[place], False
    # If a disease was named, the patient ends the dialogue after the confirming tests; otherwise the physician must.
    step = closing[-1 if statements and turns_left == 1 else min(statements, len(closing) - 1)]
    return step, statements >= (len(closing) if suspected else len(closing) - 1)


def _principal_diagnoses(chart: Chart, neighbours: Sequence[Neighbour]) -> list[str]:
    """Return the first diagnosis of each case that votes, without those that the same patients had besides."""
    principal = {normalise(each.case.diagnosis[0]) for each in neighbours if each.case.diagnosis}
    return [name for name in weights(Evidence(DIAGNOSIS, chart, neighbours)) if normalise(name) in principal]


def _diagnosis_steps(
    suspected: Sequence[str], chart: Chart, neighbours: Sequence[Neighbour], language: Language
) -> list[str]:
    """Return the steps of the diagnosis by named diseases and similar cases, or that no disease can be named.

    The tests are those of similar cases and of the place of the complaint, without those whose results were told, one
    of X-ray, CT and MRI, and none of these after a CT or MRI; routine once more if none is left.
    """
    words = load_words("clini_eval/words", language)["physician"]
    told = {test.item for line in results_told(chart) for test in named_tests(line)}
    told |= _OF_ONE_PART if told & {*SECTIONS} else set()
    shares = weights(Evidence(AUXILIARY, chart, neighbours))
    usual = [test for test, share in shares.items() if share >= MAJORITY_SHARE] + usual_pictures(chart)
    untold = [test for test in dict.fromkeys([*usual, *_ROUTINE]) if test not in told]
    _, *more = [test for test in untold if test in _OF_ONE_PART] or [""]
    tests = [test for test in untold if test not in more][:_MOST_TESTS]
    again = words["again"].format(label(_ROUTINE[0], language))
    values = {"tests": order_of(tests, chart, "listed") or again}
    if not suspected:
        return [words["unnamed"].format(**values)]
    values |= {"disease": suspected[0], "others": mark("listed", language).join(suspected[1:4]) or words["no_other"]}
    steps = [step.format(**values) for step in words["steps"]]
    return [step[:1].upper() + step[1:] for step in steps]  # a disease that a result names may begin it
