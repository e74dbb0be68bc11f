"""The order in which an offline doctor asks: the questions of an interview, without those that can bring no more."""

from collections.abc import Sequence

from cases.vocabulary import Language
from nodes.offline.meaning import subject_of, subjects
from nodes.state.chart import Chart, said_by
from prompts import load_words

_NO_MORE = ("all_said", "untold")  # what a patient says who knows no more of the complaint


def next_in_order(chart: Chart, questions: Sequence[str], saves: bool = True) -> int:
    """Return the place of the next question; the number of questions if there is none.

    Args:
        chart: the patient's, with the dialogue.
        questions: the interview's, in order.
        saves: whether a patient who knows no more of the complaint is asked no more of it, only of other things.
    """
    spoken = said_by("doctor", chart.dialogue)
    place = next((questions.index(text) + 1 for text in reversed(spoken) if text in questions), 0)
    if saves and _is_exhausted(chart):
        while place < len(questions) and _is_of_the_story(questions[place], chart.presentation.language):
            place += 1
    return place


def _is_exhausted(chart: Chart) -> bool:
    """Whether the patient has just said that it knows no more of what was asked."""
    words = load_words("consultation/words", chart.presentation.language)["patient"]
    last = chart.dialogue[-1] if chart.dialogue else None
    return last is not None and last.speaker == "patient" and any(words[each] in last.text for each in _NO_MORE)


def _is_of_the_story(question: str, language: Language) -> bool:
    return subjects()[subject_of(question, language)].story
