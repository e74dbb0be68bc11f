"""A role bound to the settings of a call: its model, its prompt, its messages and their fingerprint."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, Generic

from langchain_core.messages import BaseMessage, convert_to_messages

from cases.dialogues import Message
from cases.vocabulary import Language
from llm.blocks import ModelBlock
from llm.context_window import room, tokens
from llm.question import Question, spoken_question, typed_question
from llm.role import Answer, Role, Speech, variables
from llm.settings import ModelSettings
from llm.specs import WITHOUT_MODEL
from llm.trace import Call, entry_id
from prompts import load_prompt
from prompts.loading import Prompt


@dataclass(frozen=True)
class Asked(Generic[Answer]):
    """A role with the settings, language, model and pictures that it is asked with."""

    role: Role[Answer]
    settings: ModelSettings
    language: Language  # of the prompts
    spec: str  # its entry in the model map
    pictures: Sequence[str]  # paths of images, sent to chat models after the text

    @property
    def chats(self) -> bool:
        """Whether a chat model is asked, not a rule or a person."""
        return self.spec not in WITHOUT_MODEL

    @cached_property
    def block(self) -> ModelBlock:
        """The block of its model."""
        return self.settings.block(self.spec)

    @cached_property
    def prompt(self) -> Prompt:
        """Its prompt file."""
        return load_prompt(self.role.prompt, self.language, self.role.stage)

    @cached_property
    def speech(self) -> Speech[Answer] | None:
        """How plain text becomes its answer, if its model does not fill in forms; else None."""
        if not self.chats:
            return None
        chosen = self.settings.plain_words
        return self.role.speech if (self.block.in_process if chosen is None else chosen) else None

    @property
    def conversation(self) -> Callable[[Any], list[Message]] | None:
        """The function that gives the dialogue so far, if the model continues it instead of answering a prompt."""
        return self.speech.conversation if self.speech else None

    @property
    def length(self) -> int | None:
        """The context length of its model in tokens, if known."""
        return self.block.context_length if self.chats else None

    @property
    def room(self) -> float:
        """The number of tokens that a prompt may have."""
        return inf if self.length is None else room(self.length, self.block.max_tokens or self.settings.max_tokens)

    def messages(self, view: Any) -> list[Message]:
        """Return the messages that are sent for a view."""
        if self.conversation:
            return self.conversation(view)
        turns: list[Message] = []  # of the dialogue so far
        if self.parts:
            turns, view = self.parts(view)
        system, user = self.prompt.render(variables(view))
        return [Message(role="system", content=system), *turns, Message(role="user", content=user)]

    @property
    def parts(self) -> "Callable[[Any], tuple[list[Message], Any]] | None":
        """The function that parts a view into the dialogue, as turns of a chat, and the rest, if it is shown so."""
        speech, in_roles = self.role.speech, self.settings.dialogue_in_roles
        return speech.apart if speech and in_roles and self.chats and self.block.chat_roles else None

    def words(self, view: Any) -> str:
        """Return the text of the messages."""
        return "\n".join(message.content for message in self.messages(view))

    def size(self, view: Any) -> int:
        """Estimate the number of tokens of the messages."""
        return tokens(self.words(view))

    def new_call(self, place: str) -> Call:
        """Return the initial record of the call; ``place`` distinguishes it from others of the same role and stage."""
        return Call(
            id=entry_id(self.settings.scope, self.role.stage, self.role.name, place),
            role=self.role.name,
            stage=self.role.stage,
            model=self.spec,
            prompt="" if self.conversation else f"{self.language}/{self.role.prompt}",
            prompt_hash="" if self.conversation else self.prompt.hash,
            started=time.time(),
            seconds=0.0,
            attempts=0,
        )

    async def prepared(self, call: Call, view: Any) -> tuple[Call, Question[Answer] | None]:
        """Return the call with its messages, and the question to a chat model (None for a rule or a person)."""
        messages, pictures = self.messages(view), self.pictures if self.block.pictures else ()
        shown = [message.model_dump() for message in messages]
        if self.speech and self.conversation:
            question = spoken_question(self.role, self.speech, messages, view)
        else:
            shown += [{"role": "user", "image": Path(picture).name} for picture in pictures]  # not the content
            if not self.chats:
                return call.model_copy(update={"messages": shown}), None
            system, *turns, user = messages
            question = await typed_question(self.role, view, system.content, user.content, pictures, self.language)
            if turns:
                in_text = await typed_question(
                    self.role, view, *self.prompt.render(variables(view)), pictures, self.language
                )
                chat = [question.messages[0], *convert_to_messages([turn.model_dump() for turn in turns])]
                question = replace(question, messages=[*chat, question.messages[1]], in_text=in_text.messages)
        key = fingerprint(call.id, self.spec, question.messages, question.schema, question.instruction, self.settings)
        return call.model_copy(update={"messages": shown, "fingerprint": key}), question


def fingerprint(
    call_id: str,
    spec: str,
    messages: Sequence[BaseMessage],
    schema: Mapping[str, Any],
    instruction: str,
    settings: ModelSettings,
) -> str:
    """Return a hash of all that an answer depends on: questions with equal fingerprints share one answer.

    It covers the call's id, because two seats that are asked the same question at a temperature above zero should
    answer independently. Pictures count by content, not by path.
    """
    block = settings.block(spec)
    parts = {
        "id": call_id,
        "model": block.text,
        "messages": [[message.type, message.content] for message in messages],
        "schema": schema,
        "instruction": instruction,
        "temperature": settings.temperature if block.temperature is None else block.temperature,
        "max_tokens": block.max_tokens or settings.max_tokens,
        "seed": settings.seed,
        "epoch": settings.epoch,
        **block.own_parameters,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
