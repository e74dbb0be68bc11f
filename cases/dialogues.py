"""Dialogues between physician and patient as chat messages, as written by reconstruction and read by trainers."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from cases.files import Problem, parsed_lines
from cases.strict import Strict
from cases.text.words import written_in
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


NO_LANGUAGE = "is missing, and the text is neither English nor Chinese; give the language's tag, such as 'ja'"
_SPEAKERS = {
    **dict.fromkeys(("user", "human", "patient", "患者", "病人"), PATIENT),
    **dict.fromkeys(("assistant", "gpt", "doctor", "physician", "医生"), PHYSICIAN),
}


class _InFile(Dialogue):
    """A dialogue as it stands in a file: chats for training seldom have ids, or have numbers.

    ShareGPT's form is read too: ``conversations`` whose turns have ``from`` and ``value``, perhaps with a ``system``.
    Who speaks may be called by other names (``_SPEAKERS``), in any case.
    """

    id: str = Field("", min_length=1, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _as_messages(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        chat = dict(given)
        if "messages" not in chat and isinstance(chat.get("conversations"), list):
            system, turns = chat.pop("system", None), chat.pop("conversations")
            begins = [{"role": "system", "content": system}] if system else []
            chat["messages"] = [*begins, *map(_from_sharegpt, turns)]
        if isinstance(chat.get("messages"), list):
            chat["messages"] = [_by_known_speaker(turn) for turn in chat["messages"]]
        return chat


def _from_sharegpt(turn: Any) -> Any:
    if not isinstance(turn, dict) or not isinstance(turn.get("from"), str) or "role" in turn or "content" in turn:
        return turn
    return {{"from": "role", "value": "content"}.get(key, key): value for key, value in turn.items()}


def _by_known_speaker(turn: Any) -> Any:
    if not isinstance(turn, dict) or not isinstance(turn.get("role"), str):
        return turn
    return {**turn, "role": _SPEAKERS.get(turn["role"].strip().casefold(), turn["role"])}


def read_dialogues(path: str | Path) -> tuple[list[Dialogue], list[Problem]]:
    """Read dialogues from JSON lines; return the valid ones and the problems of the other lines.

    A dialogue without an id is called by its place in the file. One without a language is in that of its words, and a
    problem if these are in neither English nor Chinese.
    """
    dialogues: list[Dialogue] = []
    problems: list[Problem] = []
    for place, found in parsed_lines(Path(path), _InFile):
        if isinstance(found, list):
            problems.extend(found)
            continue
        read = {**dict(found), "id": found.id or place}
        if "language" not in found.model_fields_set:
            texts = [found.note, *(message.content for message in found.spoken)]
            if (language := written_in(*texts)) is None:
                problems.append(Problem(str(path), place, "language", NO_LANGUAGE))
                continue
            read["language"] = language
        dialogues.append(Dialogue.model_validate(read))
    without_messages = {problem.record for problem in problems if "messages" in problem.lacking}
    if not dialogues and without_messages == {problem.record for problem in problems}:  # also of an empty file
        expected = (
            "expected JSON lines with messages, each with a role (user, the patient, or assistant) and content, or "
            "with ShareGPT's conversations (from and value)"
        )
        lacking = " (no record has messages)" if problems else ""
        problems = [Problem(str(path), "", "", f"contains no dialogues{lacking}; {expected}")]
    return dialogues, problems
