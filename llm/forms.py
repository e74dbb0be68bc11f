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

from cases.vocabulary import patterns
from llm.replies import answer_in, find_json, text_of
from llm.retries import brief, status_of, words_of
from llm.specs import ModelSpec

_SAYS = patterns("llm", "servers")

# From the strictest on. JSON mode and text are told the schema in words as well: the first binds many servers to some
# JSON object only, and some to nothing but white space if the prompt does not speak of JSON.
FORMS = ("json_schema", "json_object", "tool", "text")
TOLD = ("json_object", "text")
PLAIN = FORMS[-1]

_REFUSALS = (400, 404, 422, 501)
# A form that never worked is given up after so many equal 500s to one question, or replies of another kind.
_SAME_FAULT = 3
_WHY_IT_ENDED = ("finish_reason", "stop_reason", "done_reason")
# What may be left out if a server refuses it, and how it says so.
_PARAMETER = re.compile(r"\b(temperature|top_p|seed|max_tokens|max_completion_tokens)\b")
# What is "left out" for a server that answers in streams only (llm/server_quirks.py puts them together).
WHOLE = "stream=false"
# Templates of chats that know no system, or want two voices in turn, are asked as `chat_roles = false` asks.
ROLES = "chat_roles"
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
        if _SAYS["of_the_form"].search(words_of(error)):
            return True
        fault = f"{form}: {brief(error)}"
        faults.append(fault)
        return status == 500 and form not in self.took and faults.count(fault) >= _SAME_FAULT

    def remember(self, answer: str, refusals: Mapping[str, str]) -> None:
        """Ask in these forms no more, by the words with which they were refused an answer type."""
        self.refused |= {(form, answer) for form, why in refusals.items() if not _SAYS["of_the_answer"].search(why)}

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
    return refused and bool(_SAYS["of_pictures"].search(text)) and not _SAYS["of_one_picture"].search(text)


def _refused_parameter(error: Exception, without: Collection[str]) -> str | None:
    text = words_of(error)
    if ROLES not in without and status_of(error) and _SAYS["of_roles"].search(text):
        return ROLES
    if WHOLE not in without and status_of(error) in (400, 422) and _SAYS["streams_only"].search(text):
        return WHOLE
    if status_of(error) not in (400, 422) or _SAYS["of_the_form"].search(text) or not _SAYS["unwanted"].search(text):
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
