"""A conversation as the tokens that a model reads, the same for training and for inference."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from cases.dialogues import PATIENT, Message

# For tokenizers without a chat template; saved with the models trained on it.
PLAIN_TEMPLATE = """\
{%- set names = {"system": "System", "user": "Patient", "assistant": "Physician"} -%}
{{- bos_token if bos_token is defined and bos_token else "" -}}
{%- for message in messages %}{{ names[message["role"]] }}:
{{ message["content"] }}{{ eos_token if message["role"] == "assistant" }}
{% endfor %}
{%- if add_generation_prompt %}Physician:
{% endif %}"""

_LIKELY = 8  # characters of a token: a dialogue with more is hardly read whole
_OWN_LABEL = re.compile(r"^Physician:\s*")
_ANY_LABEL = re.compile(r"^(?:System|Patient|Physician):\s*")
_NEXT_LABEL = re.compile(r"(?:^|\n)(?:System|Patient|Physician):(?=\s|$)")


class Source(NamedTuple):
    """The prompt tokens of a reply."""

    tokens: list[int]
    shortened: bool  # whether the oldest turns were dropped


def in_turns(messages: Sequence[Message]) -> list[Message]:
    """Merge consecutive messages of the same speaker.

    Chat templates expect the user to begin and turns to alternate, so what the physician says before the patient's
    first words is dropped.
    """
    turns: list[Message] = []
    for message in messages:
        if turns and turns[-1].role == message.role:
            joined = f"{turns[-1].content}\n{message.content}"
            turns[-1] = Message(role=message.role, content=joined)
        elif message.role != "assistant" or any(turn.role == PATIENT for turn in turns):
            turns.append(message)
    return turns


def source_tokens(tokenizer: Any, messages: Sequence[Message], limit: int) -> Source | None:
    """Return the prompt tokens of the next reply: the newest turns that fit, beginning with a patient's turn.

    Args:
        tokenizer: the model's; its chat template is used if it has one.
        messages: system messages, which are always kept, and the turns, the last of which is to be answered.
        limit: the maximum number of tokens.

    Returns:
        The source, or None if not even the last turn fits.
    """
    system = [message for message in messages if message.role == "system"]
    turns = in_turns([message for message in messages if message.role != "system"])
    begins = range(0, len(turns), 2)  # the patient's turns

    @cache
    def newest(number: int) -> list[int]:
        return _rendered(tokenizer, system, turns[begins[-number] :])

    likely = begins and sum(len(turn.content) for turn in turns) <= _LIKELY * limit
    if likely and len(newest(len(begins))) <= limit:
        return Source(newest(len(begins)), False)
    # More turns have more tokens. What is tried is doubled, so that a long dialogue is not read from its start.
    fitting, tried = 0, 1
    while tried < len(begins) and len(newest(tried)) <= limit:
        fitting, tried = tried, 2 * tried
    others = range(fitting + 1, min(tried, len(begins)) + 1)
    fitting += bisect_right(others, limit, key=lambda number: len(newest(number)))
    return Source(newest(fitting), fitting < len(begins)) if fitting else None


def own_turn(tokenizer: Any, reply: str, *, instructed: bool) -> str:
    """Return a reply up to where a model goes on as the next speaker of the plain template, as untrained ones do.

    ``instructed``: whether it answers a prompt with instructions. It may then play anybody, the patient too, so the
    label that it begins with is its own; in a plain conversation it is the physician.
    """
    if tokenizer.chat_template not in (None, PLAIN_TEMPLATE):
        return reply
    own = _ANY_LABEL if instructed else _OWN_LABEL
    return _NEXT_LABEL.split(own.sub("", reply))[0].strip()


def _rendered(tokenizer: Any, system: Sequence[Message], turns: Sequence[Message]) -> list[int]:
    from jinja2.exceptions import TemplateError

    special = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special and token.content[1:]]

    def text_of(messages: Sequence[Message]) -> str:
        turns, template = [message.model_dump() for message in messages], tokenizer.chat_template or PLAIN_TEMPLATE
        for turn, mark in product(turns, special):  # in what was said, it is text and ends no turn
            turn["content"] = turn["content"].replace(mark, f"{mark[0]} {mark[1:]}")
        said = {"chat_template": template, "add_generation_prompt": True, "tokenize": False}
        return str(tokenizer.apply_chat_template(turns, **said))

    try:
        text = text_of([*system, *turns])
    except TemplateError:  # the template takes no system message: put it before the first turn
        if not system:
            raise
        opening = "\n\n".join(message.content for message in [*system, turns[0]])
        text = text_of([turns[0].model_copy(update={"content": opening}), *turns[1:]])
    return list(tokenizer(text, add_special_tokens=False).input_ids)
