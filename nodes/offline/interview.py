"""The order in which an offline doctor asks: the questions of an interview, without those that can bring no more."""

from collections.abc import Sequence

from nodes.offline.meaning import subject_of
from nodes.offline.own_words import voice_of
from nodes.offline.subjects import subjects
from nodes.state.chart import Chart, said_by
from prompts import load_words

_NO_MORE = ("all_said", "untold")  # what a patient says who knows no more of the complaint


def next_question(chart: Chart) -> str:
    """Return the next question of the interview, of a child to its parent; empty if there is none.

    A patient who answers an open question with "Could you be more specific?" is asked of one symptom after the other.
    """
    language = chart.presentation.language
    words = load_words("medchain/words", language)["doctor"]
    if voice_of(chart.presentation, language).kin in ("son", "daughter", "child"):
        words = words["of_a_child"]
    asks_back = load_words("saps/words", language)["ambiguous_inquiry"]
    if words["in_particular"] not in said_by("doctor", chart.dialogue) and asks_back in _last_reply(chart):
        return str(words["in_particular"])
    return "".join(words["questions"][next_in_order(chart, words["questions"]) :][:1])


def next_in_order(chart: Chart, questions: Sequence[str], saves: bool = True) -> int:
    """Return the place of the next question; the number of questions if there is none.

    Args:
        chart: the patient's, with the dialogue.
        questions: the interview's, in order.
        saves: whether a patient who knows no more of the complaint is asked no more of it, only of other things.
    """
    spoken = said_by("doctor", chart.dialogue)
    place = next((questions.index(text) + 1 for text in reversed(spoken) if text in questions), 0)
    language = chart.presentation.language
    known = load_words("consultation/words", language)["patient"]
    if saves and any(known[each] in _last_reply(chart) for each in _NO_MORE):
        while place < len(questions) and subjects()[subject_of(questions[place], language)].story:
            place += 1
    return place


def _last_reply(chart: Chart) -> str:
    last = chart.dialogue[-1] if chart.dialogue else None
    return last.text if last is not None and last.speaker == "patient" else ""
