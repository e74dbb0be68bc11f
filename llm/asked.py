"""A role and whom it is asked of: what it is asked there, of what it sees."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, Generic

from langchain_core.messages import convert_to_messages

from cases.dialogues import Message
from cases.vocabulary import Language
from llm.blocks import ModelBlock
from llm.context_window import room, tokens
from llm.fingerprint import fingerprint
from llm.question import Question, spoken_question, typed_question
from llm.role import Answer, Role, Speech, variables
from llm.settings import ModelSettings
from llm.specs import WITHOUT_MODEL
from llm.trace import Call, entry_id
from prompts import load_prompt
from prompts.loading import Prompt


@dataclass(frozen=True)
class Asked(Generic[Answer]):
    """A role, and whom it is asked of."""

    role: Role[Answer]
    settings: ModelSettings
    language: Language  # that it is asked in
    spec: str  # the entry of the model map that stands behind it
    pictures: Sequence[str]  # paths of the images that are sent to a chat model beside the words

    @property
    def chats(self) -> bool:
        """Whether a chat model is asked, no rule and no person."""
        return self.spec not in WITHOUT_MODEL

    @cached_property
    def block(self) -> ModelBlock:
        """The parameters of its model."""
        return self.settings.block(self.spec)

    @cached_property
    def prompt(self) -> Prompt:
        """The file of its question."""
        return load_prompt(self.role.prompt, self.language, self.role.stage)

    @cached_property
    def speech(self) -> Speech[Answer] | None:
        """How plain words are its answer, where its model heeds no form."""
        plain = self.chats and (self.settings.plain_words or self.block.in_process)
        return self.role.speech if plain else None

    @property
    def conversation(self) -> Callable[[Any], list[Message]] | None:
        """What has been said so far, of a view, where the model goes on with it in place of answering a prompt."""
        return self.speech.conversation if self.speech else None

    def turns(self, view: Any) -> list[Message]:
        """What has been said so far, as turns of a chat between the prompt's two messages; mostly none."""
        speech = self.role.speech if self.chats and self.settings.dialogue_in_roles and not self.conversation else None
        return speech.conversation(view) if speech and speech.conversation and speech.apart else []

    @property
    def length(self) -> int | None:
        """Tokens that its model reads, if known."""
        return self.block.context_length if self.chats else None

    @property
    def room(self) -> float:
        """Tokens that a prompt may have."""
        return inf if self.length is None else room(self.length, self.block.max_tokens or self.settings.max_tokens)

    def messages(self, view: Any) -> list[Message]:
        """What it is asked, of what it sees."""
        if self.conversation:
            return self.conversation(view)
        turns, speech = self.turns(view), self.role.speech
        shown = speech.apart(view) if turns and speech and speech.apart else view
        system, user = self.prompt.render(variables(shown))
        return [Message(role="system", content=system), *turns, Message(role="user", content=user)]

    def words(self, view: Any) -> str:
        """The text of the messages."""
        return "\n".join(message.content for message in self.messages(view))

    def size(self, view: Any) -> int:
        """About how many tokens the messages have."""
        return tokens(self.words(view))

    def opened(self, place: str) -> Call:
        """The record of the call as it begins; ``place`` tells it from others of the same role and stage."""
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

    async def put(self, call: Call, view: Any) -> tuple[Call, Question[Answer] | None]:
        """The record with what is asked of a view, and the question to a chat model; None for a rule or a person."""
        messages, pictures = self.messages(view), self.pictures if self.block.pictures else ()
        shown = [message.model_dump() for message in messages]
        if self.speech and self.conversation:
            question = spoken_question(self.role, self.speech, messages, view)
        else:
            shown += [{"role": "user", "image": Path(picture).name} for picture in pictures]  # by file, not by content
            if not self.chats:
                return call.model_copy(update={"messages": shown}), None
            system, *turns, user = messages
            question = await typed_question(self.role, view, system.content, user.content, pictures, self.language)
            if turns:
                question.messages[1:1] = convert_to_messages([turn.model_dump() for turn in turns])
        key = fingerprint(call.id, self.spec, question.messages, question.schema, question.instruction, self.settings)
        return call.model_copy(update={"messages": shown, "fingerprint": key}), question
