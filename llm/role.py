"""A role: who is asked, in which words, for what type of answer, and the rule that answers without a model."""

import re
from collections.abc import Callable, Collection
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from cases.dialogues import Message
from cases.registry import GivenError, RegistryError, check_function

Answer = TypeVar("Answer", bound=BaseModel)

NO_WORDS = "it holds no words; it is what somebody says"  # of what has none
_SENTENCE, _QUESTION = 40, 6  # characters; a Chinese one says as much as two others in a sentence
_LABEL = re.compile(r"^\s*[^\W\d]+\s*[:：]")  # of who speaks
_declared: "dict[tuple[str, str, str], Role[Any]]" = {}  # by name, stage and prompt


@dataclass(frozen=True)
class Speech(Generic[Answer]):
    """How plain words are the answer of a role that only speaks: of a model that heeds no form, and of a person.

    Attributes:
        conversation: what has been said so far, of the same view that the prompt renders, for a model that was taught
            to speak and not to fill in forms; None if the role is never asked so.
        answer: the role's answer that plain words are; a ValueError if they are none.
        heard: what was just said to the role, which is no answer if it is only said back; None if nobody looks.
        apart: the view without what has been said, where the prompt may stand around the turns of a chat.
        said: what the role itself said last, which a model that is stuck would say again; a person may.
    """

    conversation: Callable[[Any], list[Message]] | None
    answer: Callable[[Any, str], Answer]
    heard: Callable[[Any], str] | None = None
    apart: Callable[[Any], Any] | None = None
    said: Callable[[Any], str] | None = None

    @classmethod
    def of_text(cls, answer: type[Answer], heard: Callable[[Any], str] | None = None) -> "Speech[Answer]":
        """Of a role whose answer is its ``text`` and nothing else."""
        return cls(None, lambda view, words: answer.model_validate({"text": words}), heard)


@dataclass(frozen=True)
class Role(Generic[Answer]):
    """One person of the cast, declared once.

    Attributes:
        name: what the model map calls it; several stages may each have a role of the same name.
        stage: the stage it belongs to; ``stage.name`` in the model map overrides ``name``.
        stages: the stages that it may stand at, read when they are needed; see `at`. Empty if it has one alone.
        prompt: its prompt file, without language and ending.
        answer: the Pydantic type of its answer.
        offline: its deterministic rule, reading the same view that the prompt renders.
        speech: how plain words are its answer, if all that it does is speak.
        check: what is wrong with an answer of the right type in view of what was asked; None if nothing is. What a
            model or a person says is held to it like to the type; the offline rule is trusted.
        terms: what may be chosen at this place, in canonical names, where the answer's type leaves it open.
        whole: whether it is scored by what its answer lists, which is then never bound to a length.
        seats: how many numbered seats have a model of their own, if any: ``intern2`` goes before ``intern``.
        seated: the setting that says how many of the seats are taken; all may be if there is none.

    Raises:
        RegistryError: the answer is no Pydantic type, or the rule no plain function of the view.
    """

    name: str
    stage: str
    prompt: str
    answer: type[Answer]
    offline: Callable[[Any], Answer]
    seats: int = 0
    seated: str = ""
    speech: Speech[Answer] | None = None
    check: Callable[[Any, Answer], str | None] | None = None
    stages: Collection[str] = ()
    terms: Collection[str] = ()
    whole: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.answer, type) and issubclass(self.answer, BaseModel)):
            raise RegistryError(
                f"role {self.name!r}: answer = {self.answer!r}; expected a type made of pydantic.BaseModel"
            )
        check_function("offline rule of role", self.name, self.offline, "view")
        _declared[self.name, self.stage, self.prompt] = self  # what is declared anew stands in its place

    def by_rule(self, view: Any) -> Answer:
        """The offline rule's answer.

        Raises:
            GivenError: it is no answer.
        """
        answer = self.offline(view)
        if not isinstance(answer, BaseModel):
            gave = type(answer).__name__
            raise GivenError(f"role {self.name!r}: its offline rule gave {gave}; expected {self.answer.__name__}")
        return answer

    def checked(self, view: Any, answer: Answer) -> Answer:
        """The answer, if all holds of it that must in view of what was asked.

        Raises:
            ValueError: what does not.
        """
        if self.check and (wrong := self.check(view, answer)):
            raise ValueError(wrong)
        return answer

    def read(self, view: Any, given: Any, *, closed: bool = True) -> Answer:
        """The answer in what was given: an object of its fields, or the plain words of a role that only speaks.

        Args:
            view: what was asked.
            given: the object, or text without one.
            closed: whether an item outside a closed list, a field beside all of the answer's, or what was just said to
                the role, is refused, or kept as it is (the field: left out).

        Raises:
            ValueError: there is none, or one that fails the check.
        """
        if isinstance(given, str) and self.speech is not None and given.strip():
            answer = self.speech.answer(view, given.strip())
        else:
            own = self.answer.model_fields
            if not closed and isinstance(given, dict) and own.keys() <= given.keys():
                given = {name: value for name, value in given.items() if name in own}
            answer = self.answer.model_validate(given, context={"closed": closed, "terms": self.terms})
        said: str = getattr(answer, "text", "some")
        if self.speech and not has_words(said):
            raise ValueError(f"text: {NO_WORDS}")
        if closed and self.speech and self.speech.heard and says_back(said, self.speech.heard(view)):
            raise ValueError("text: it only says back what was just said to it; it is to be answered")
        return self.checked(view, answer)

    def at(self, stage: str, answer: type[BaseModel] | None = None, **others: Any) -> "Role[Any]":
        """The role at one of its stages; the same person, not declared anew.

        Args:
            stage: one of ``stages``.
            answer: the type of its answer there, if each stage has another.
            others: other fields that are different there.
        """
        there: Role[Any] = copy(self)
        vars(there).update(stage=stage, answer=answer or self.answer, **others)
        return there


def has_words(text: str) -> bool:
    """Whether anything is said in a text: a letter or a number."""
    return re.search(r"\w", text) is not None


def says_back(said: str, heard: str) -> bool:
    """Whether words are those that were heard, however they are set; a few may well be (yes, and goodbye).

    No question is its own answer, be it short. Who is said to speak ("Patient:") adds nothing.
    """
    if _signs(heard) not in (_signs(said), _signs(_LABEL.sub("", said))):
        return False
    if heard.rstrip().endswith(("?", "？")):
        return len(heard) >= _QUESTION
    return len(heard) + sum("\u4e00" <= sign <= "\u9fff" for sign in heard) >= _SENTENCE


def _signs(words: str) -> str:
    return "".join(filter(str.isalnum, words.casefold()))


def known_roles() -> dict[str, set[str]]:
    """The stages of every declared role, by role name; a numbered seat has a name of its own."""
    known: dict[str, set[str]] = {}
    for role in _declared.values():
        for name in (role.name, *(f"{role.name}{seat + 1}" for seat in range(role.seats))):
            known.setdefault(name, set()).update(role.stages or {role.stage})
    return known


def prompts_of_roles() -> set[str]:
    """The names of the prompts of every declared role."""
    return {prompt for _, _, prompt in _declared}


def variables(view: Any) -> dict[str, Any]:
    """A view (a dataclass) as the variables of a prompt."""
    return {field.name: getattr(view, field.name) for field in fields(view)}
