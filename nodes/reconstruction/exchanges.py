"""The exchanges of a dialogue: a physician's turn with its reply. Only direct role-play may ask over two questions."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from cases.strict import NonEmpty, Strict
from llm.role import NO_WORDS, has_words, says_back
from nodes.reconstruction.gates import MOST_QUESTIONS, questions_in
from prompts import cached_with_prompts, speaker, whole_languages

SectionName = Literal[
    "chief_complaint",
    "general_condition",
    "present_illness",
    "past_history",
    "risk_factors",
    "psychosocial",
    "review_of_systems",
    "physical_examination",
    "initial_diagnosis",
    "confirmatory_tests",
]


def _check_questions(text: str) -> str:
    if (count := questions_in(text)) > MOST_QUESTIONS:
        raise ValueError(f"asks {count} questions at once; at most two, so spread them over several exchanges")
    return text


_SPEAKERS = ("doctor", "physician", "patient")


@cached_with_prompts
def _speaker_names() -> frozenset[str]:
    """Return the speakers' names in each language, which are no valid turn by themselves."""
    names = {speaker(who, language).strip(" :：") for who in _SPEAKERS for language in whole_languages()}
    return frozenset(name.casefold() for name in names)


def _check_words(text: str) -> str:
    if not has_words(text) or text.casefold() in _speaker_names():
        raise ValueError(NO_WORDS)
    return text


def _check_letters(text: str) -> str:
    if not any(map(str.isalpha, text)):  # a patient may answer with a number
        raise ValueError(NO_WORDS)
    return text


Utterance = Annotated[NonEmpty, AfterValidator(_check_words)]
FreePhysicianUtterance = Annotated[Utterance, AfterValidator(_check_letters)]
PhysicianUtterance = Annotated[FreePhysicianUtterance, AfterValidator(_check_questions)]


class FreeExchange(Strict):
    """The physician says or asks something, and the patient replies; so the two always take turns."""

    physician: FreePhysicianUtterance
    patient: Utterance

    @model_validator(mode="after")
    def _answers(self, info: ValidationInfo) -> Self:
        if (info.context or {}).get("closed") and says_back(self.patient, self.physician):
            raise ValueError("the patient only repeats the physician's words; answer them instead")
        return self


class Exchange(FreeExchange):
    """The physician says something or asks at most two questions, and the patient replies."""

    # Source: CliniChat, Figures 6 and 11.

    physician: PhysicianUtterance = Field(description="At most two questions.")


def _drop_silent(exchanges: Any) -> Any:
    """Drop exchanges without words, which weak models return if they have nothing to say."""
    if not isinstance(exchanges, list):
        return exchanges
    return [one for one in exchanges if not isinstance(one, dict) or any(str(text).strip() for text in one.values())]


class SectionDialogue(Strict):
    """The exchanges of one section of the interview."""

    exchanges: Annotated[list[Exchange], BeforeValidator(_drop_silent)] = Field(
        description="The exchanges in order; empty only if nothing in the section applies."
    )


class WrittenSection(SectionDialogue):
    """A section with its name."""

    section: SectionName


class WholeDialogue(Strict):
    """All sections in one answer."""

    sections: list[WrittenSection] = Field(min_length=1)
