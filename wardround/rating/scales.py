"""Rating scales for people: MVME's parts, AIE's and Med-PMC's aspects, Clini-Eval's points, cases, and pairs."""

from dataclasses import dataclass
from typing import Literal

from cases.vocabulary import Language
from prompts import load_words
from scoring.clini_eval.points import LEAVES

Name = Literal["mvme", "aie", "medpmc", "clini_eval", "pairwise", "misdiagnosis", "medchain_cases", "ai_hospital_cases"]
_LOWEST = {"pairwise": -1}  # first better is -1, second better 1; other scales begin at 1


@dataclass(frozen=True)
class Choice:
    """A choice: its value in the file, and its text."""

    value: int
    text: str


@dataclass(frozen=True)
class Question:
    """One question."""

    key: str  # in the file of ratings
    text: str  # for people
    choices: tuple[Choice, ...]  # from the lowest value
    column: str  # the run's score that measures the same; several questions of one column are summed


@dataclass(frozen=True)
class Scale:
    """A questionnaire in one language."""

    instruction: str
    questions: tuple[Question, ...]

    def accepts(self, key: str, value: int) -> bool:
        """Whether this is a valid answer to one of the questions."""
        return any(
            value == choice.value for question in self.questions if question.key == key for choice in question.choices
        )


def scale_of(name: Name, language: Language) -> Scale:
    """Return a scale in the language of a case.

    - ``mvme``: the five parts of the report, 1 to 4 (AI Hospital, section 3.2).
    - ``medpmc``: five aspects, 1 to 5 (Med-PMC, section 4).
    - ``clini_eval``: 34 numbers that sum to 100 (CliniChat, Table 6).
    - ``pairwise``: AIE's two views with five aspects each (sections 2.4 and 4.4.3): -1 if the first is better, 0, or 1.
    - ``aie``: the same aspects for one consultation, 1 to 5; this is not in AIE, which asked people for pairs only.
    - ``misdiagnosis``: which of three types led to a diagnosis graded D (AI Hospital, section 6.4).
    - ``medchain_cases`` and ``ai_hospital_cases``: about a case itself, 2 for yes and 1 for no (MedChain, section 3.1;
      AI Hospital, section 3.3).
    """
    words = load_words("rating/words", language)["scales"][name]
    choices = tuple(Choice(value, text) for value, text in enumerate(words["choices"], _LOWEST.get(name, 1)))
    questions = [Question(key, text, choices, key) for key, text in words["questions"].items()]
    if name == "clini_eval":
        for key, leaf in LEAVES.items():
            points = tuple(Choice(value, str(value)) for value in range(int(leaf.maximum) + 1))
            questions.append(Question(key, leaf.asked_of(language), points, leaf.main))
    return Scale(words["instruction"], tuple(questions))
