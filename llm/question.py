"""A question to a chat model, and how its reply becomes the role's answer."""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Generic

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from pydantic import BaseModel

from cases.dialogues import Message
from cases.pictures import read_picture
from cases.vocabulary import Language
from llm.faults import what_is_wrong
from llm.meant import as_meant, object_in
from llm.narrowing import narrowed
from llm.repetition import directions_in, names_in, undescribed
from llm.replies import answer_in, in_whole_sentences, is_ended, mapped, unwrapped, without_list_marks
from llm.role import Answer, Role, Speech, says_back
from llm.schema import answer_schema, outline
from prompts import load_prompt

_LONGEST_WORD = 3  # Chinese characters
_CACHE_SIZE = 256  # schemas: some for each stage, more where a stage has options of its own


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """One question to a chat model.

    Attributes:
        kind: the answer type.
        messages: the rendered prompt, or the conversation so far.
        name: the answer type's name.
        schema: the answer's strict JSON schema.
        checked: returns the answer if it passes the role's check; raises ValueError otherwise.
        read: parses a reply's text; ValueError if it holds no answer. Its flag says whether an item outside a closed
            list is an error.
        words: renders a schema as an instruction.
        fields: renders only the schema's field names, for a model that repeats the instruction.
        repair: the message to the model about an unreadable reply; None if it is not asked again.
        told: whether to append the instruction in every form: some servers silently ignore a form, and the model then
            sees what its answer should have been.
        wider: the schema before `narrower`, for a server that refuses the narrower one.
        whole: whether the answer's length is never limited.
        slow: whether reading an answer may take long, as plain text may be embedded.
        directions: sentences of the prompt or instruction that a role that only speaks must not say.
        names: names of fields and of the prompt's material, which are no text of an answer.
        in_text: the messages for a server without chat roles, if ``messages`` has a dialogue as turns of a chat.
        remarks: what repairs have said about earlier replies, which no text of an answer contains.
    """

    kind: type[Answer]
    messages: list[BaseMessage]
    name: str
    schema: dict[str, Any]
    checked: Callable[[Answer], Answer]
    read: Callable[[str, bool], Answer]
    words: Callable[[dict[str, Any]], str] = lambda schema: ""
    fields: Callable[[dict[str, Any]], str] = lambda schema: ""
    repair: Callable[[ValueError], str] | None = None
    told: bool = False
    wider: dict[str, Any] | None = None
    whole: bool = False
    slow: bool = False
    directions: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    remarks: frozenset[str] = frozenset()
    in_text: Sequence[BaseMessage] = ()

    @cached_property
    def instruction(self) -> str:
        """The text appended to the last message when the answer is requested as JSON in text."""
        return self.words(self.schema)

    @property
    def bare(self) -> str:
        """The instruction without the schema's descriptions, which a small model would repeat as its answer."""
        return self.words(undescribed(self.schema))

    @property
    def pictures(self) -> int:
        """The number of pictures in the messages."""
        contents = [message.content for message in self.messages if isinstance(message.content, list)]
        return sum(isinstance(block, dict) and block["type"] == "image" for content in contents for block in content)

    def about(self, messages: list[BaseMessage]) -> "Question[Answer]":
        """Return the question with a longer conversation."""
        added = messages[len(self.messages) :]
        return replace(self, messages=messages, in_text=self.in_text and [*self.in_text, *added], told=True)

    def narrower(self, characters: int | None) -> "Question[Answer]":
        """Return the question with a narrower schema; ``characters`` is the length of a reply that was cut off."""
        less = narrowed(self.schema, None if self.whole else characters)
        return self if less == self.schema else replace(self, schema=less, wider=self.wider or self.schema)

    def in_whole_sentences(self, answer: Answer) -> Answer:
        """Return an answer whose words the schema's length cut off up to their last whole sentence."""
        longest = self.schema.get("properties", {}).get("text", {}).get("maxLength")
        words = getattr(answer, "text", "")
        if longest is None or len(words) < longest - 1 or is_ended(words):  # white space at the end is gone
            return answer
        return answer.model_copy(update={"text": in_whole_sentences(words)})

    def as_wide(self) -> "Question[Answer]":
        """Return the question with its original schema."""
        return self if self.wider is None else replace(self, schema=self.wider, wider=None)


async def typed_question(
    role: Role[Answer], view: Any, system: str, user: str, pictures: Sequence[str], language: Language
) -> Question[Answer]:
    """Make the question from the role's prompt, to be answered in the form of its answer type."""
    schema = answer_schema(role.answer, language, tuple(role.terms))
    return Question(
        kind=role.answer,
        messages=[SystemMessage(system), HumanMessage(await _content(user, pictures))],
        name=re.sub(r"\W+", "_", role.answer.__name__).strip("_"),
        schema=schema,
        words=lambda schema: _answer_format(schema, language),
        fields=lambda schema: _words("fields", language, {"fields": outline(schema)}),
        checked=partial(role.checked, view),
        read=lambda text, closed: _read(role, view, text, schema, closed=closed),
        whole=role.whole,
        slow=role.speech is not None,
        directions=frozenset(directions_in(f"{system}\n{user}\n{_answer_format({}, language)}") if role.speech else ()),
        names=_names(role, language),
        repair=lambda error: _words("repair", language, {"error": what_is_wrong(error, language)}),
    )


def spoken_question(
    role: Role[Answer], speech: Speech[Answer], conversation: Sequence[Message], view: Any
) -> Question[Answer]:
    """Make the question from the conversation so far, for a model trained to continue it in plain text."""
    return Question(
        kind=role.answer,
        messages=convert_to_messages([message.model_dump() for message in conversation]),
        name=role.name,
        schema={},
        checked=partial(role.checked, view),
        read=lambda text, _: role.checked(view, speech.answer(view, answer_in(text))),
        slow=True,
    )


def _names(role: Role[Any], language: Language) -> frozenset[str]:
    """Return names that are no text of an answer; a role that only speaks may say single words such as `doctor`."""
    headings = load_prompt(role.prompt, language, role.stage).headings
    if role.speech:
        return names_in({}, filter(_is_phrase, headings))
    kind: type[BaseModel] = role.answer
    return _names_of_form(kind, language, tuple(role.terms), headings)


@lru_cache(_CACHE_SIZE)
def _names_of_form(
    answer: type[BaseModel], language: Language, terms: tuple[str, ...], headings: tuple[str, ...]
) -> frozenset[str]:
    return names_in(answer_schema(answer, language, terms), headings)


def _is_phrase(heading: str) -> bool:
    return " " in heading or (len(heading) > _LONGEST_WORD and not heading.isascii())


def _read(role: Role[Answer], view: Any, text: str, schema: Mapping[str, Any], *, closed: bool) -> Answer:
    words = answer_in(text)
    # A role that only speaks may answer in words, unless they begin an object.
    is_speech = role.speech is not None and words and "{" not in words
    given = words if is_speech else mapped(object_in(text, schema), without_list_marks)
    inner = unwrapped(given, role.answer.model_fields.keys())
    try:
        answer = role.read(view, inner, closed=closed)
    except ValueError:
        meant = inner if is_speech else as_meant(inner, schema)
        if inner is given and meant == inner:
            raise
        # The fault of what was given is told, not of what is in it.
        answer = role.read(view, given if meant == inner else meant, closed=closed)
    own = role.speech.said(view) if closed and role.speech and role.speech.said else ""
    if says_back(getattr(answer, "text", ""), own):
        raise ValueError("text: you have just said the same, word for word; go on from what has been said since")
    return answer


def _answer_format(schema: dict[str, Any], language: Language) -> str:
    form = load_prompt("ask/answer_format", language)
    return _instruction(json.dumps(schema, ensure_ascii=False), language, form.hash)


@lru_cache(_CACHE_SIZE)
def _instruction(schema: str, language: Language, _: str) -> str:
    return _words("answer_format", language, {"schema": json.dumps(json.loads(schema), ensure_ascii=False, indent=1)})


def _words(name: str, language: Language, values: dict[str, Any]) -> str:
    return load_prompt(f"ask/{name}", language).render(values)[1]


async def _content(text: str, pictures: Sequence[str]) -> str | list[str | dict[str, Any]]:
    if not pictures:
        return text
    blocks: list[str | dict[str, Any]] = [{"type": "text", "text": text}]
    for picture in pictures:
        content, mime = await asyncio.to_thread(read_picture, picture, whole=False)  # decoded before the case began
        blocks.append({"type": "image", "base64": base64.b64encode(content).decode(), "mime_type": mime})
    return blocks
