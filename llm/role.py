"""A role: who is asked, in which words, for what type of answer, and the rule that answers without a model."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from cases.dialogues import Message

Answer = TypeVar("Answer", bound=BaseModel)

_stages_of_role: dict[str, set[str]] = {}
_prompts: set[str] = set()


@dataclass(frozen=True)
class Speech(Generic[Answer]):
    """How a role is asked in conversation, by a model that was taught to speak and not to fill in forms.

    Attributes:
        conversation: what has been said so far, of the same view that the prompt renders.
        answer: the role's answer that plain words are; a ValueError if they are none.
    """

    conversation: Callable[[Any], list[Message]]
    answer: Callable[[Any, str], Answer]


@dataclass(frozen=True)
class Role(Generic[Answer]):
    """One person of the cast, declared once.

    Attributes:
        name: what the model map calls it; several stages may each have a role of the same name.
        stage: the stage it belongs to; ``stage.name`` in the model map overrides ``name``.
        prompt: its prompt file, without language and ending.
        answer: the Pydantic type of its answer.
        offline: its deterministic rule, reading the same view that the prompt renders.
        speech: how it is asked in conversation, if its answer can be given in plain words.
        seats: how many numbered seats have a model of their own, if any: ``intern2`` goes before ``intern``.
    """

    name: str
    stage: str
    prompt: str
    answer: type[Answer]
    offline: Callable[[Any], Answer]
    seats: int = 0
    speech: Speech[Answer] | None = None

    def __post_init__(self) -> None:
        for name in (self.name, *(f"{self.name}{seat + 1}" for seat in range(self.seats))):
            _stages_of_role.setdefault(name, set()).add(self.stage)
        _prompts.add(self.prompt)


def known_roles() -> dict[str, set[str]]:
    """The stages of every declared role, by role name; a numbered seat has a name of its own."""
    return _stages_of_role


def prompts_of_roles() -> set[str]:
    """The names of the prompts of every declared role."""
    return _prompts


def variables(view: Any) -> dict[str, Any]:
    """A view (a dataclass) as the variables of a prompt."""
    return {field.name: getattr(view, field.name) for field in fields(view)}
