"""Forms in which a typed answer is asked for, and what is known of how a server's model takes them.

No list of servers: each is asked in the strictest form first, and what it refused or ignored is remembered in this
process. docs/models.md tells what to expect of whom.
"""

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage

from llm.replies import answer_in, find_json, text_of
from llm.retries import brief, status_of, words_of
from llm.specs import ModelSpec

# From the strictest on. JSON mode and text are told the schema in words as well: the first binds many servers to some
# JSON object only, and some to nothing but white space if the prompt does not speak of JSON.
FORMS = ("json_schema", "json_object", "tool", "text")
TOLD = ("json_object", "text")
PLAIN = FORMS[-1]

_REFUSALS = (400, 404, 422, 501)
# A failing server that speaks of the form does not fail for the moment: it will never take it.
_OF_THE_FORM = re.compile(
    r"response[ _]?format|json_?schema|json_?object|structured.?output|grammar|guided|\btool", re.I
)
# A form that never worked is given up after so many equal 500s to one question, or replies of another kind.
_SAME_FAULT = 3
# Said of one answer (Groq's `json_validate_failed`, `tool_use_failed`), and not of the form.
_OF_THE_ANSWER = re.compile(r"validate_failed|use_failed|failed to (?:generate|validate|call)", re.I)
# A server that speaks of pictures sees none, unless it speaks of this one; templates of chats say that text is no list.
_OF_PICTURES = re.compile(
    r"image|picture|vision|multi-?modal|content.{0,40}(?:must|should) be a (?:valid )?string|concatenate str", re.I
)
_OF_ONE_PICTURE = re.compile(r"too (?:large|big|small)|exceed|decod|corrupt|format|base64|bytes|download", re.I)
_WHY_IT_ENDED = ("finish_reason", "stop_reason", "done_reason")
# What may be left out if a server refuses it, and how it says so.
_PARAMETER = re.compile(r"\b(temperature|top_p|seed|max_tokens|max_completion_tokens)\b")
_UNWANTED = re.compile(
    r"unsupported|not support|not (?:allowed|permitted)|unknown|unrecogni[sz]ed|unexpected|extra|forbidden|deprecated|"
    r"only the default|may only",
    re.I,
)
# What is "left out" for a server that answers in streams only (llm/server_quirks.py puts them together).
WHOLE = "stream=false"
_STREAMS_ONLY = re.compile(
    r"non-?stream|\bstream.{0,40}(?:only|must|require|enable|mandatory)|(?:only|must|require).{0,40}\bstream", re.I
)
# Templates of chats that know no system, or want two voices in turn, are asked as `chat_roles = false` asks.
ROLES = "chat_roles"
_OF_ROLES = re.compile(
    r"system (?:role|message|prompt)s?.{0,20}(?:not|un)\s?support|not support 'system'|roles must alternate|"
    r"developer instruction is not enabled",
    re.I,
)
_log = logging.getLogger(__name__)


class FormRefusedError(RuntimeError):
    """The server does not take the form in which an answer was asked for."""


class ParameterRefusedError(RuntimeError):
    """The server does not take a parameter, which is left out from now on."""


@dataclass
class Forms:
    """The forms that a model at a server took, refused or ignored; parameters, and pictures, that it wants left out."""

    model: str
    took: set[str] = field(default_factory=set)
    refused: set[tuple[str, str]] = field(default_factory=set)  # form and answer type
    left_out: set[str] = field(default_factory=set)
    blind: bool = False
    unbound: bool = False  # lengths and lists of numbers in a schema are refused
    _misfits: Counter[str] = field(default_factory=Counter)

    def of(self, answer: str) -> list[str]:
        """The forms to ask for an answer type in, best first.

        What was refused is refused for every type, unless the form is known to work: then that type's schema was.
        """
        refused = {form for form, name in self.refused if name == answer or form not in self.took}
        return [form for form in FORMS if form not in refused or form == PLAIN]

    @contextmanager
    def refusing(self, form: str, without: Collection[str], faults: list[str], pictures: int = 0) -> Iterator[None]:
        """Tell from the error of a request whether the server does not take the form, or a parameter.

        Args:
            form: what was asked in.
            without: the parameters that were not sent.
            faults: the 500s that one question has met so far.
            pictures: how many the question has.

        Raises:
            FormRefusedError: it does not take the form.
            ParameterRefusedError: it does not take a parameter, or pictures.
        """
        try:
            yield
        except Exception as error:
            if parameter := _refused_parameter(error, without):
                if parameter not in self.left_out:
                    _log.warning("%s refuses %s, which is not sent from now on", self.model, parameter)
                self.left_out.add(parameter)
                raise ParameterRefusedError(parameter) from error
            if pictures and not self.blind and _refuses_pictures(error):
                _log.warning("%s takes no pictures, which are not sent from now on: %s", self.model, brief(error))
                self.blind = True
                raise ParameterRefusedError("pictures") from error
            if form != PLAIN and self._is_refusal(form, error, faults):
                raise FormRefusedError(brief(error)) from error
            raise

    def _is_refusal(self, form: str, error: Exception, faults: list[str]) -> bool:
        status = status_of(error)
        if status is None or status < 500 or status == 501:
            return status in _REFUSALS
        if _OF_THE_FORM.search(words_of(error)):
            return True
        fault = f"{form}: {brief(error)}"
        faults.append(fault)
        return status == 500 and form not in self.took and faults.count(fault) >= _SAME_FAULT

    def remember(self, answer: str, refusals: Mapping[str, str]) -> None:
        """Ask in these forms no more, by the words with which they were refused an answer type."""
        self.refused |= {(form, answer) for form, why in refusals.items() if not _OF_THE_ANSWER.search(why)}

    def is_ignored(self, form: str, message: AIMessage, schema: Mapping[str, Any]) -> bool:
        """Whether a reply shows that the form was passed over; what is cut off, declined or but a thought does not."""
        if form == PLAIN or form in self.took:
            return False
        text = text_of(message)
        if _fits(text, schema):
            self.took.add(form)
            return False
        if not answer_in(text) or is_declined(message) or ("{" in text and is_cut_off(message)):
            return False
        self._misfits[form] += 1 if "{" in text else _SAME_FAULT
        return self._misfits[form] >= _SAME_FAULT


def is_cut_off(message: AIMessage) -> bool:
    """Whether a reply ended where the tokens that it may have ended."""
    return _ended_by(message, "length", "max_tokens", "MAX_TOKENS")


def is_declined(message: AIMessage) -> bool:
    """Whether the model, or its server's filter, gives no answer."""
    return bool(message.additional_kwargs.get("refusal")) or _ended_by(message, "content_filter", "SAFETY")


def _ended_by(message: AIMessage, *reasons: str) -> bool:
    told = {**message.additional_kwargs, **message.response_metadata}
    return any(told.get(name) in reasons for name in _WHY_IT_ENDED)


def _refuses_pictures(error: Exception) -> bool:
    text, status = words_of(error), status_of(error)
    refused = status is not None and (status in (*_REFUSALS, 415) or status == 500)
    return refused and bool(_OF_PICTURES.search(text)) and not _OF_ONE_PICTURE.search(text)


def _refused_parameter(error: Exception, without: Collection[str]) -> str | None:
    text = words_of(error)
    if ROLES not in without and status_of(error) and _OF_ROLES.search(text):
        return ROLES
    if WHOLE not in without and status_of(error) in (400, 422) and _STREAMS_ONLY.search(text):
        return WHOLE
    if status_of(error) not in (400, 422) or _OF_THE_FORM.search(text) or not _UNWANTED.search(text):
        return None
    return next((name for name in _PARAMETER.findall(text) if name not in without), None)


def _fits(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a reply has the fields of the answer type, whatever they hold."""
    try:
        found = find_json(text)
    except ValueError:
        return False
    return isinstance(found, dict) and set(schema.get("required", ())) <= found.keys()


_known: dict[tuple[str, str | None, str], Forms] = {}


def forms_of(spec: ModelSpec) -> Forms:
    """What is known of a model at its server, for all clients of this process."""
    return _known.setdefault((spec.provider, spec.base_url, spec.name), Forms(f"{spec.provider}:{spec.name}"))
