"""A conversation as the tokens that a model reads: one form for training and for the model in its seat."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cases.dialogues import PATIENT, Message

# For models whose tokenizer brings no chat template; it is saved with what was trained on it.
PLAIN_TEMPLATE = """\
{%- set names = {"system": "System", "user": "Patient", "assistant": "Physician"} -%}
{{- bos_token if bos_token is defined and bos_token else "" -}}
{%- for message in messages %}{{ names[message["role"]] }}:
{{ message["content"] }}{{ eos_token if message["role"] == "assistant" }}
{% endfor %}
{%- if add_generation_prompt %}Physician:
{% endif %}"""


class Source(NamedTuple):
    """What a model reads before it speaks."""

    tokens: list[int]
    shortened: bool  # the oldest turns did not fit


def in_turns(messages: Sequence[Message]) -> list[Message]:
    """The messages with each speaker's lines in a row put together.

    Chat templates want the user to begin and the turns to alternate: what the physician says before the patient's
    first words is left out.
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
    """What a model reads before it speaks: the newest turns that fit, from a patient's turn on.

    Args:
        tokenizer: of the model; its chat template is used if it has one.
        messages: system messages, which always stay, and the turns; the last is the one to be answered.
        limit: how many tokens may be read.

    Returns:
        The source, or None if not even the last turn fits.
    """
    standing = [message for message in messages if message.role == "system"]
    turns = in_turns([message for message in messages if message.role != "system"])
    every = len(turns)
    while turns:
        tokens = _rendered(tokenizer, standing, turns)
        if len(tokens) <= limit:
            return Source(tokens, len(turns) < every)
        turns = in_turns(turns[1:])  # also drops the physician's answer to the turn that was dropped
    return None


def _rendered(tokenizer: Any, standing: Sequence[Message], turns: Sequence[Message]) -> list[int]:
    from jinja2.exceptions import TemplateError

    def text_of(messages: Sequence[Message]) -> str:
        text: str = tokenizer.apply_chat_template(
            [message.model_dump() for message in messages],
            chat_template=tokenizer.chat_template or PLAIN_TEMPLATE,
            add_generation_prompt=True,
            tokenize=False,
        )
        return text

    try:
        text = text_of([*standing, *turns])
    except TemplateError:  # some models know no system message: what it says opens the first turn
        if not standing:
            raise
        opening = "\n\n".join(message.content for message in [*standing, turns[0]])
        text = text_of([turns[0].model_copy(update={"content": opening}), *turns[1:]])
    tokens: list[int] = tokenizer(text, add_special_tokens=False).input_ids
    return tokens
