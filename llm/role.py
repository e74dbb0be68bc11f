"""A role: its prompt, its answer type, and the offline rule that answers without a model."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from cases.dialogues import Message
from cases.registry import GivenError, RegistryError, check_function
from llm.replies import folded

Answer = TypeVar("Answer", bound=BaseModel)

NO_WORDS = "it contains no words, but must be something that somebody says"  # the error for a text without words
_MIN_SENTENCE, _MIN_QUESTION = 40, 6  # characters; in a sentence a Chinese one counts double
_NAME = re.compile(r"[\w-]+")  # what a key of the model map can hold: a dot sets a stage apart
_LABEL = re.compile(r"^\s*[^\W\d]+\s*[:：]")  # a speaker's name
_JUDGING = ("evaluation", "clini_eval")  # prefixes of stages whose roles judge; a model map names their models too
_declared: "dict[tuple[str, str, str], Role[Any]]" = {}  # by name, stage and prompt


@dataclass(frozen=True)
class Speech(Generic[Answer]):
    """How plain text becomes the answer of a role that only speaks: for people, and models that ignore forms.

    Attributes:
        conversation: returns the dialogue so far, from the view that the prompt renders, for a model trained to
            continue it; None if the role is never asked that way.
        answer: makes the role's answer of plain text; ValueError if the text is none.
        heard: returns what was just said to the role, which must not be repeated as its answer; None to allow it.
        apart: parts a view into the dialogue as alternating turns of a chat, beginning with the user's and ending with
            the role's own last words, and the view with what has been said since, for the message that follows.
        said: returns the role's own last words, which a model must not repeat; a person may.
    """

    conversation: Callable[[Any], list[Message]] | None
    answer: Callable[[Any, str], Answer]
    heard: Callable[[Any], str] | None = None
    apart: Callable[[Any], tuple[list[Message], Any]] | None = None
    said: Callable[[Any], str] | None = None

    @classmethod
    def of_text(cls, answer: type[Answer], heard: Callable[[Any], str] | None = None) -> "Speech[Answer]":
        """Make the speech of a role whose answer has only a ``text``."""
        return cls(None, lambda view, words: answer.model_validate({"text": words}), heard)


@dataclass(frozen=True)
class Role(Generic[Answer]):
    """A role that can be asked; declared once.

    Attributes:
        name: its key in the model map; several stages may have roles of the same name.
        stage: the stage it belongs to; ``stage.name`` in the model map overrides ``name``.
        stages: the stages at which it may be asked, see `at`, evaluated lazily; empty if there is only one.
        prompt: its prompt file, without language and extension.
        answer: the Pydantic type of its answer.
        offline: its deterministic rule, a function of the same view that the prompt renders.
        speech: how plain text becomes its answer, if the role only speaks.
        check: returns what is wrong with an answer of the right type in the light of the view; None if nothing is. It
            applies to models and people; the offline rule is trusted.
        terms: the options at this stage, as canonical names, if the answer type leaves them open.
        whole: whether it is scored on the items that it lists, so that the answer's length is never limited.
        seats: the number of seats that may have their own model: ``intern2`` takes precedence over ``intern``.
        seated: the setting with the number of seats in use; empty if all may be used.

    Raises:
        RegistryError: no model could be named for it by its name, the answer is not a Pydantic type, the rule not a
            plain function of the view, or another attribute of another type.
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
        if not (isinstance(self.name, str) and _NAME.fullmatch(self.name)):
            raise RegistryError(f"role {self.name!r}: expected a name of letters, digits, '-' and '_'")
        if self.name == "default":
            raise RegistryError("role 'default': in [models], `default` is the model of all roles; choose another name")
        for field, kind, expected in (("stage", str, "a text"), ("prompt", str, "a text"), ("seats", int, "a number")):
            if not isinstance(value := getattr(self, field), kind):
                raise RegistryError(f"role {self.name!r}: {field} = {value!r}; expected {expected}")
        if not (isinstance(self.answer, type) and issubclass(self.answer, BaseModel)):
            wanted = "expected a subclass of pydantic.BaseModel"
            raise RegistryError(f"role {self.name!r}: answer = {self.answer!r}; {wanted}")
        check_function("offline rule of role", self.name, self.offline, "view")
        _declared[self.name, self.stage, self.prompt] = self  # a new declaration replaces an older one

    def by_rule(self, view: Any) -> Answer:
        """Return the offline rule's answer; GivenError if it is none."""
        answer = self.offline(view)
        if not isinstance(answer, BaseModel):
            gave = type(answer).__name__
            raise GivenError(f"role {self.name!r}: its offline rule returned {gave}; expected {self.answer.__name__}")
        return answer

    def checked(self, view: Any, answer: Answer) -> Answer:
        """Return the answer if it passes the role's check; ValueError says what is wrong with it."""
        if self.check and (wrong := self.check(view, answer)):
            raise ValueError(wrong)
        return answer

    def read(self, view: Any, given: Any, *, closed: bool = True) -> Answer:
        """Parse an answer: an object of its fields, or plain text if the role only speaks.

        ``closed`` rejects items outside a closed list, extra fields, and a repetition of what was just said to the
        role; otherwise these are accepted, and extra fields are dropped.

        Raises:
            ValueError: there is no valid answer, or it fails the check.
        """
        if isinstance(given, str) and self.speech is not None:
            if not given.strip():
                raise ValueError(f"text: {NO_WORDS}")
            answer = self.speech.answer(view, given.strip())
        else:
            own = self.answer.model_fields
            if not closed and isinstance(given, dict) and own.keys() <= given.keys():
                given = {name: value for name, value in given.items() if name in own}
            answer = self.answer.model_validate(given, context={"closed": closed, "terms": self.terms})
        text: str = getattr(answer, "text", "some")
        if self.speech and not has_words(text):
            raise ValueError(f"text: {NO_WORDS}")
        if closed and self.speech and self.speech.heard and says_back(text, self.speech.heard(view)):
            raise ValueError("text: it only repeats what was just said to it; answer that instead")
        return self.checked(view, answer)

    def at(self, stage: str, answer: type[BaseModel] | None = None, **others: Any) -> "Role[Any]":
        """Return the role at one of its ``stages``, without declaring a new one; with the fields that differ there."""
        role: Role[Any] = copy(self)
        vars(role).update(stage=stage, answer=answer or self.answer, **others)
        return role


def has_words(text: str) -> bool:
    """Whether a text contains a letter or a digit."""
    return re.search(r"\w", text) is not None


def says_back(said: str, heard: str) -> bool:
    """Whether words repeat what was heard, ignoring spelling and punctuation; short ones may (yes, goodbye).

    A question is never its own answer, even a short one. A speaker's label ("Patient:") is ignored.
    """
    if folded(heard) not in (folded(said), folded(_LABEL.sub("", said))):
        return False
    if heard.rstrip().endswith(("?", "？")):
        return len(heard) >= _MIN_QUESTION
    return len(heard) + sum("\u4e00" <= sign <= "\u9fff" for sign in heard) >= _MIN_SENTENCE


def is_judging(stage: str) -> bool:
    """Whether the roles of a stage judge the output of other roles."""
    return stage.partition(".")[0] in _JUDGING


def known_roles() -> dict[str, set[str]]:
    """Return the stages of every declared role by role name; each numbered seat has its own name."""
    known = defaultdict[str, set[str]](set)
    for role in _declared.values():
        for name in (role.name, *(f"{role.name}{seat + 1}" for seat in range(role.seats))):
            known[name].update(role.stages or {role.stage})
    return dict(known)


def declared_roles() -> dict[tuple[str, str, str], Role[Any]]:
    """Return every declared role by name, stage and prompt."""
    return dict(_declared)


def variables(view: Any) -> dict[str, Any]:
    """Return the fields of a view (a dataclass) as the variables of a prompt."""
    return {field.name: getattr(view, field.name) for field in fields(view)}
