"""Dialogues between physician and patient as chat messages, as written by reconstruction and read by trainers."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from cases.files import Problem, parsed_lines
from cases.strict import Strict
from cases.vocabulary import Language

PHYSICIAN: Literal["assistant"] = "assistant"
PATIENT: Literal["user"] = "user"


class Message(Strict):
    """One turn; trainers know the physician as the assistant and the patient as the user."""

    role: Literal["system", "user", "assistant"]
    content: str


class Objection(Strict):
    """What a reader objects to in a dialogue."""

    turn: int = Field(description="Of the spoken ones, from 1.")
    kind: Literal["contradicted", "invented"] = Field(description="By the note, or beyond it.")
    reason: str = Field(min_length=1, description="What the turn says, and what the note says.")


class Dialogue(Strict):
    """One dialogue and the clinical note that it rests on."""

    id: str = Field(min_length=1)
    messages: list[Message] = Field(description="Patient and physician in turns, after an optional system message.")
    note: str = Field("", description="The clinical note; empty if there is none.")
    language: Language = "en"
    department: str | None = None
    diseases: list[str] = Field(default_factory=list)
    inferred: str = Field("", description="The disease that its writer came to.")
    source: str = Field("", description="The file that the note was read from.")
    strategy: str = Field("", description="How the dialogue was made.")
    models: list[str] = Field(default_factory=list, description="The models that wrote it.")
    sections: dict[str, int] = Field(
        default_factory=dict, description="Where each section of the interview begins, counted in spoken messages."
    )
    objections: list[Objection] | None = Field(
        None, description="What a reader found who held it against the note; None if nobody did."
    )

    @property
    def spoken(self) -> list[Message]:
        """The messages without the system message."""
        return [message for message in self.messages if message.role != "system"]


def read_dialogues(path: str | Path) -> tuple[list[Dialogue], list[Problem]]:
    """Read dialogues from JSON lines; return the valid ones and the problems of the other lines."""
    dialogues: list[Dialogue] = []
    problems: list[Problem] = []
    for _, found in parsed_lines(Path(path), Dialogue):
        if isinstance(found, list):
            problems.extend(found)
        else:
            dialogues.append(found)
    if not (dialogues or problems):
        problems.append(Problem(str(path), "", "", "holds no dialogue; expected one JSON object a line"))
    return dialogues, problems
