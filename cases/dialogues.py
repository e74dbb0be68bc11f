"""Dialogues between physician and patient as chat messages, as written by reconstruction and read by trainers."""

from typing import Literal

from pydantic import Field

from cases.strict import Strict
from cases.vocabulary import Language

PHYSICIAN: Literal["assistant"] = "assistant"
PATIENT: Literal["user"] = "user"


class Message(Strict):
    """One turn; as in chat training, the physician is the assistant and the patient the user."""

    role: Literal["system", "user", "assistant"]
    content: str


class Objection(Strict):
    """An objection of a reader to a turn of a dialogue."""

    turn: int = Field(description="Number of the spoken turn; the first is 1.")
    kind: Literal["contradicted", "invented", "unread"] = Field(
        description="Whether the note contradicts it, does not contain it, or the reader gave no answer from it on."
    )
    reason: str = Field(min_length=1, description="What the turn says, and what the note says.")


class Dialogue(Strict):
    """One dialogue and the clinical note that it rests on."""

    id: str = Field(min_length=1)
    messages: list[Message] = Field(description="Turns of patient and physician, after an optional system message.")
    note: str = Field(default="", description="The clinical note; empty if there is none.")
    language: Language = "en"
    department: str | None = None
    diseases: list[str] = Field(default_factory=list)
    inferred: str = Field(default="", description="Disease that the writer of the dialogue inferred.")
    source: str = Field(default="", description="File that the note was read from.")
    strategy: str = Field(default="", description="Method by which the dialogue was made.")
    models: list[str] = Field(default_factory=list, description="Models that wrote the dialogue.")
    sections: dict[str, int] = Field(
        default_factory=dict, description="Where each section of the interview begins, counted in spoken messages."
    )
    objections: list[Objection] | None = Field(
        default=None, description="Objections of a reader who compared it with the note; None if nobody did."
    )

    @property
    def spoken(self) -> list[Message]:
        """The messages without the system message."""
        return [message for message in self.messages if message.role != "system"]


NO_LANGUAGE = "is missing, and the text is neither English nor Chinese; give the language's tag, such as 'ja'"
