"""Four wrong options for a case without options, written once, to ask it as a multiple-choice question."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from cases.strict import NonEmpty, Strict
from cases.vocabulary import Language
from llm import AnswerError, ModelSettings, Role, ask
from scoring.metrics.diagnosis_grade import SAME, name_agreement

COUNT = 4
LETTERS = "ABCDE"


class Distractors(Strict):
    """Four diagnoses that a doctor could take for the right one, none of which is."""

    names: list[NonEmpty] = Field(min_length=COUNT, max_length=COUNT, description="Four different wrong diagnoses.")


@dataclass(frozen=True)
class DistractorView:
    """What the writer sees: the patient, the right diagnosis, and candidate diagnoses, nearest first."""

    presentation: str
    diagnosis: str
    department: str | None
    candidates: Sequence[str]


def _nearest_others(view: DistractorView) -> Distractors:
    """Return the first four candidates that name neither the diagnosis nor each other."""
    chosen: list[str] = []
    for candidate in view.candidates:
        if candidate.strip() and not any(_same(candidate, taken) for taken in (view.diagnosis, *chosen)):
            chosen.append(candidate)
    if len(chosen) < COUNT:
        raise AnswerError(f"only {len(chosen)} other diagnoses were given to choose {COUNT} distractors from")
    return Distractors(names=chosen[:COUNT])


def _not_an_option(view: DistractorView, answer: Distractors) -> str | None:
    for place, name in enumerate(answer.names):
        if not any(map(str.isalpha, name)):  # a small model numbers its options, and nobody would take a number
            return f"the distractor {name!r} names no disease"
        if any(_same(name, other) for other in (view.diagnosis, *answer.names[:place])):
            return f"the distractor {name!r} repeats the diagnosis or another option"
    return None


distractor_writer = Role(
    "distractor_writer", "evaluation", "judges/distractors", Distractors, offline=_nearest_others, check=_not_an_option
)


async def write_distractors(view: DistractorView, settings: ModelSettings, language: Language) -> Distractors:
    """Write four wrong options for a case; the caller stores them, so that every run asks the same question.

    Raises:
        AskError: no valid answer; options that mean the same, or the diagnosis, are invalid.
    """
    return await ask(distractor_writer, view, settings, language=language)


def options(case_id: str, diagnosis: str, distractors: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return the options by letter and the right letter; the order depends only on the case's id."""
    names = [diagnosis, *distractors]
    random.Random(case_id).shuffle(names)
    by_letter = dict(zip(LETTERS, names, strict=True))
    return by_letter, next(letter for letter, name in by_letter.items() if name == diagnosis)


def _same(one: str, other: str) -> bool:
    return name_agreement(one, other) == SAME
