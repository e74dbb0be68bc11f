"""The multiple-choice format: a doctor who is given the whole record and the options.

Source: AIE, figure 6b, where MCQE gives the whole question to the doctor model at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

from pydantic import create_model

from cases.strict import Strict
from cases.text.sentences import entries
from cases.text.words import language_of
from cases.vocabulary import Language, given
from llm import ModelSettings, Role, ask
from scoring.aie.transcripts import AieTranscript
from scoring.asking import ask_each
from scoring.metrics.diagnosis_grade import name_agreement
from scoring.metrics.samples import Sample
from scoring.metrics.text_overlap import rouge_1, words

METRIC = "MCQ_DIAGNOSIS"


class Choice(Strict):
    """The letter of the option that is right."""

    letter: str


@dataclass(frozen=True)
class McqView:
    """What the doctor sees: the whole record, and the options by letter, but not which is right."""

    record: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Question:
    """One case as a multiple-choice question, with the right letter."""

    case: str
    language: Language
    view: McqView
    right: str


def _most_words_on_record(view: McqView) -> Choice:
    """Choose the option with the largest share of its words in the record; the first if several."""
    record = words(view.record)
    shares = {letter: rouge_1(record, words(name)).recall for letter, name in view.options.items()}
    return Choice(letter=max(shares, key=shares.__getitem__))


mcq_doctor = Role("mcq_doctor", "evaluation", "judges/mcq", Choice, offline=_most_words_on_record)


@dataclass(frozen=True)
class Answered:
    """The chosen letters by case, and the reasons why cases have none."""

    letters: dict[str, str]
    failures: dict[str, str]


async def answer_questions(questions: Sequence[Question], settings: ModelSettings) -> Answered:
    """Ask every question once; without an answer there is no letter. A letter that is no option is a wrong answer.

    Raises:
        ModelSpecError: the model's package or key is missing.
    """

    async def one(question: Question) -> str:
        role = replace(mcq_doctor, answer=_closed_choice(tuple(question.view.options)))
        return (await ask(role, question.view, settings, language=question.language, place=question.case)).letter

    asked = await ask_each(questions, one)
    return Answered(
        {question.case: letter for question, letter in asked.answers},
        {question.case: reason for question, reason in asked.failures},
    )


def mcq_diagnosis(questions: Iterable[Question], letters: Mapping[str, str]) -> list[Sample]:
    """Return MCQ_DIAGNOSIS: ``100 x right answers / questions``, in [0, 100]; higher is better.

    A question without an answer is wrong. Source: AIE, figure 6b (MCQE), whose prompt is not published; ours is
    ``judges/mcq``. Chance level is one over the number of options.
    """
    return [Sample(one.case, 100.0 * (letters.get(one.case) == one.right)) for one in questions]


def nearest_option(diagnosis: str, options: Mapping[str, str]) -> str | None:
    """Return the letter of the option that a free-text diagnosis agrees with most.

    None if it agrees with no option, or equally with several ("diabetes" beside two types of it chooses neither).
    Agreement: :func:`scoring.metrics.diagnosis_grade.name_agreement`.
    """
    agreements = {letter: name_agreement(diagnosis, name) for letter, name in options.items()}
    best = max(agreements.values(), default=0.0)
    nearest = [letter for letter, agreement in agreements.items() if agreement == best]
    return nearest[0] if best and len(nearest) == 1 else None


def interactive_diagnosis(question: Question, diagnoses: Sequence[str]) -> Sample:
    """Score free-text diagnoses against a question's options: 100 if the first means the right one, else 0.

    Higher is better; no diagnosis, or agreement with no option, is wrong. Ours, after AIE, equation 13, whose
    interactive doctor answers with the letter.
    """
    principal = {letter: entries(text)[0] for letter, text in question.view.options.items()}
    letter = nearest_option(diagnoses[0], principal) if diagnoses else None
    return Sample(question.case, 100.0 * (letter == question.right))


def questions_of(transcripts: Iterable[AieTranscript]) -> tuple[list[Question], dict[str, str]]:
    """Make one question for each case that has options, with its letters, however many transcripts it has.

    The closing question is appended to the record if it is not part of it.

    Returns:
        The questions, and the reasons why cases have none.
    """
    questions: dict[str, Question] = {}
    reasons: dict[str, str] = {}
    for transcript in transcripts:
        options = {letter: name for letter, name in transcript.options.items() if name}
        if not options:
            reasons[transcript.case] = "it has no options"
        elif transcript.answer_idx not in options:
            reasons[transcript.case] = f"its answer {transcript.answer_idx!r} is not one of its options"
        elif transcript.case not in questions:
            record, asked = transcript.record, transcript.asked
            view = McqView(record if record.rstrip().endswith(asked) else f"{record}\n{asked}", options)
            language = language_of(record)
            questions[transcript.case] = Question(transcript.case, language, view, transcript.answer_idx)
    return list(questions.values()), {case: reason for case, reason in reasons.items() if case not in questions}


@cache
def _closed_choice(letters: tuple[str, ...]) -> type[Choice]:
    """Return the answer type of a question: exactly its letters."""

    def one_of_them(text: str) -> str:
        if text not in letters:
            raise ValueError(f"{text!r} is not one of the letters {', '.join(letters)}")
        return text

    letter: Any = Annotated[str, *given(one_of_them, letters)]
    return create_model("Choice", __base__=Choice, __doc__=Choice.__doc__, letter=letter)
