"""A role: who is asked, in which words, for what type of answer, and the rule that answers without a model."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

Answer = TypeVar("Answer", bound=BaseModel)

_stages_of_role: dict[str, set[str]] = {}


@dataclass(frozen=True)
class Role(Generic[Answer]):
    """One person of the cast, declared once.

    Attributes:
        name: what the model map calls it; several stages may each have a role of the same name.
        stage: the stage it belongs to; ``stage.name`` in the model map overrides ``name``.
        prompt: its prompt file, without language and ending.
        answer: the Pydantic type of its answer.
        offline: its deterministic rule, reading the same view that the prompt renders.
    """

    name: str
    stage: str
    prompt: str
    answer: type[Answer]
    offline: Callable[[Any], Answer]

    def __post_init__(self) -> None:
        _stages_of_role.setdefault(self.name, set()).add(self.stage)


def known_roles() -> dict[str, set[str]]:
    """The stages of every declared role, by role name."""
    return _stages_of_role


def variables(view: Any) -> dict[str, Any]:
    """A view (a dataclass) as the variables of a prompt."""
    return {field.name: getattr(view, field.name) for field in fields(view)}
