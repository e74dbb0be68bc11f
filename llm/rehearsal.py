"""A rehearsal: questions are made as they would be sent and answered by rules; what they would take is estimated.

Nothing is sent, cached or looked up, so no key is needed.
"""

import contextvars
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llm.context_window import tokens
from llm.role import Answer, Role

if TYPE_CHECKING:
    from llm.answering import Taken
    from llm.question import Question

_rehearsing: contextvars.ContextVar[bool] = contextvars.ContextVar("rehearsing", default=False)


def is_rehearsal() -> bool:
    """Whether nobody is really asked."""
    return _rehearsing.get()


@contextmanager
def rehearsing() -> Iterator[None]:
    """Let nobody be asked inside the block, nor by the tasks it starts."""
    token = _rehearsing.set(True)
    try:
        yield
    finally:
        _rehearsing.reset(token)


def rehearsed(role: Role[Answer], view: Any, question: "Question[Answer]", taken: "Taken") -> Answer:
    """The rule's answer; ``taken`` tells what a model's would take, about.

    Read are the messages and the schema once, as servers count it. Written is the rule's answer, which has fewer words
    than most models'.
    """
    answer = role.by_rule(view)
    schema = json.dumps(question.schema, ensure_ascii=False) if question.schema else ""
    taken.attempts = 1
    taken.input_tokens = tokens("".join(str(message.content) for message in question.messages) + schema)
    taken.output_tokens = tokens(answer.model_dump_json())
    return answer
