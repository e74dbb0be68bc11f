"""Dialogues between physician and patient as chat messages, as written by reconstruction and read by trainers."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from cases.files import Problem, parsed_lines
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
    note: str = Field("", description="The clinical note; empty if there is none.")
    language: Language = "en"
    department: str | None = None
    diseases: list[str] = Field(default_factory=list)
    inferred: str = Field("", description="Disease that the writer of the dialogue inferred.")
    source: str = Field("", description="File that the note was read from.")
    strategy: str = Field("", description="Method by which the dialogue was made.")
    models: list[str] = Field(default_factory=list, description="Models that wrote the dialogue.")
    sections: dict[str, int] = Field(
        default_factory=dict, description="Where each section of the interview begins, counted in spoken messages."
    )
    objections: list[Objection] | None = Field(
        None, description="Objections of a reader who compared it with the note; None if nobody did."
    )

    @property
    def spoken(self) -> list[Message]:
        """The messages without the system message."""
        return [message for message in self.messages if message.role != "system"]


_SHAREGPT = {"human": PATIENT, "gpt": PHYSICIAN}


class _InFile(Dialogue):
    """A dialogue as it stands in a file: chats for training seldom have ids, or have numbers.

    ShareGPT's form is read too: ``conversations`` whose turns have ``from`` and ``value``, perhaps with a ``system``.
    """

    id: str = Field("", min_length=1, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _as_messages(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "messages" in given or not isinstance(given.get("conversations"), list):
            return given
        chat = dict(given)
        system, turns = chat.pop("system", None), chat.pop("conversations")
        begins = [{"role": "system", "content": system}] if system else []
        return {**chat, "messages": [*begins, *map(_from_sharegpt, turns)]}


def _from_sharegpt(turn: Any) -> Any:
    if not isinstance(turn, dict) or not isinstance(turn.get("from"), str) or "role" in turn or "content" in turn:
        return turn
    renamed = {{"from": "role", "value": "content"}.get(key, key): value for key, value in turn.items()}
    return {**renamed, "role": _SHAREGPT.get(turn["from"], turn["from"])}


def read_dialogues(path: str | Path) -> tuple[list[Dialogue], list[Problem]]:
    """Read dialogues from JSON lines; return the valid ones and the problems of the other lines.

    A dialogue without an id is called by its place in the file.
    """
    dialogues: list[Dialogue] = []
    problems: list[Problem] = []
    for place, found in parsed_lines(Path(path), _InFile):
        if isinstance(found, list):
            problems.extend(found)
        else:
            dialogues.append(Dialogue.model_validate({**dict(found), "id": found.id or place}))
    without_messages = {problem.record for problem in problems if "messages" in problem.lacking}
    if not dialogues and without_messages == {problem.record for problem in problems}:  # also of an empty file
        expected = (
            "expected JSON lines with messages, each with a role (user, the patient, or assistant) and content, or "
            "with ShareGPT's conversations (from and value)"
        )
        lacking = " (no record has messages)" if problems else ""
        problems = [Problem(str(path), "", "", f"contains no dialogues{lacking}; {expected}")]
    return dialogues, problems
