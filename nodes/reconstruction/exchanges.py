"""The exchanges of a dialogue: a physician's turn with its reply."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from cases.strict import NonEmpty, Strict
from llm.role import NO_WORDS, has_words, says_back
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
PhysicianUtterance = Annotated[Utterance, AfterValidator(_check_letters)]


class FreeExchange(Strict):
    """The physician says or asks something, and the patient replies; so the two always take turns."""

    physician: PhysicianUtterance
    patient: Utterance

    @model_validator(mode="after")
    def _answers(self, info: ValidationInfo) -> Self:
        if (info.context or {}).get("closed") and says_back(self.patient, self.physician):
            raise ValueError("the patient only repeats the physician's words; answer them instead")
        return self


class Exchange(FreeExchange):
    """The physician says something or asks at most two questions, and the patient replies."""

    # Source: CliniChat, Figure 6. A gate and Clini-Eval count questions: the paper keeps what asks more.

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
