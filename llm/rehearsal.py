"""Rehearsal: prompts are built but not sent, rules answer, and usage is estimated.

Nothing is sent, cached or looked up, so no key is needed.
"""

import contextvars
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from cases.registry import GivenError
from cases.validation import in_a_line
from llm.context_window import tokens
from llm.role import Answer, Role
from llm.scopes import holding

if TYPE_CHECKING:
    from llm.answering import Usage
    from llm.question import Question

PICTURE_TOKENS = 1000  # of one picture; models count a few hundred to tens of thousands

_OURS = ("nodes.", "scoring.")  # whose rules may count or say more than a model does
_rehearsing: contextvars.ContextVar[bool] = contextvars.ContextVar("rehearsing", default=False)


def is_rehearsal() -> bool:
    """Whether this is a rehearsal."""
    return _rehearsing.get()


@contextmanager
def rehearsing() -> Iterator[None]:
    """Let rules answer all questions asked inside the block and by tasks started in it."""
    with holding(_rehearsing, True):
        yield


def rehearsed(role: Role[Answer], view: Any, question: "Question[Answer]", usage: "Usage") -> Answer:
    """Return the rule's answer, in the type that a model's would have, and estimate in ``usage`` what it would use.

    Input counts the messages' text, each picture and the schema once, as servers do. Output counts the rule's answer,
    which is shorter than most models'.

    Raises:
        GivenError: the rule of a plug-in's role returns what a model could not.
    """
    answer = role.by_rule(view)
    schema = json.dumps(question.schema, ensure_ascii=False) if question.schema else ""
    usage.attempts = 1
    text = "".join(message.text for message in question.messages)
    usage.input_tokens = tokens(text + schema) + PICTURE_TOKENS * question.pictures
    usage.output_tokens = tokens(answer.model_dump_json())
    of_type = isinstance(answer, role.answer) or issubclass(role.answer, type(answer))
    return answer if of_type or role.offline.__module__.startswith(_OURS) else _as_answer(role, answer)


def _as_answer(role: Role[Answer], answer: BaseModel) -> Answer:
    """Return the answer of another type as the nodes would get it from a model."""
    try:
        return role.answer.model_validate(answer.model_dump(), context={"closed": False, "terms": role.terms})
    except ValidationError as error:
        rule = f"role {role.name!r}: its offline rule returned {type(answer).__name__}"
        raise GivenError(f"{rule}; expected {role.answer.__name__}: {in_a_line(error)}") from error
