"""The forms in which a typed answer can be requested, and what each model at a server accepts.

There is no list of servers: the strictest form is tried first, and what a server refused or ignored is remembered in
this process. docs/models.md says what to expect of known servers.
"""

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage

from cases.vocabulary import patterns
from llm.blocks import ModelBlock
from llm.failed_requests import brief, is_of_the_moment, is_passing, status_of, words_of
from llm.replies import answer_in, find_json, text_of, unwrapped

_SAYS = patterns("llm", "servers")

# Strictest first. JSON mode and text also spell out the schema in the prompt: with the first, many servers guarantee
# only some JSON object, and some write only white space unless the prompt mentions JSON.
FORMS = ("json_schema", "json_object", "tool", "text")
TOLD = ("json_object", "text")
PLAIN = FORMS[-1]

_REFUSALS = (400, 404, 422, 501)
# A form that never worked is given up after this many equal 500s to one question, or replies of another kind.
_SAME_FAULT = 3
_END_REASONS = ("finish_reason", "stop_reason", "done_reason")
# Parameters that are left out if a server refuses them.
PARAMETER = re.compile(r"\b(temperature|top_p|seed|max_tokens|max_completion_tokens|stream_options|include_usage)\b")
# The "parameter" left out for a server that only streams (llm/server_quirks.py assembles the stream).
WHOLE = "stream=false"
# For chat templates without a system role, or that need alternating turns: as with `chat_roles = false`.
ROLES = "chat_roles"
_SAID_OF = {  # a refused parameter, in the log
    WHOLE: "answers only in streams; they are requested from now on",
    ROLES: "does not take these chat roles; all messages are sent as one of the user from now on",
}
_log = logging.getLogger(__name__)


class FormRefusedError(RuntimeError):
    """The server does not accept the form in which an answer was requested; ``odd`` if its words do not say so."""

    odd = False


class ParameterRefusedError(RuntimeError):
    """The server does not accept a parameter, which is left out from now on."""


@dataclass
class Forms:
    """What a model at a server accepted, refused or ignored: forms, parameters and pictures."""

    model: str
    took: set[str] = field(default_factory=set)
    worked: set[tuple[str, str]] = field(default_factory=set)  # form and answer type
    refused: set[tuple[str, str]] = field(default_factory=set)  # form and answer type
    left_out: set[str] = field(default_factory=set)
    blind: bool = False
    unbound: bool = False  # the server refuses lengths and lists of numbers in a schema
    _doubted: set[tuple[str, str]] = field(default_factory=set)  # form and answer type, refused once in odd words
    _misfits: Counter[str] = field(default_factory=Counter)

    def of(self, answer: str) -> list[str]:
        """Return the forms to try for an answer type, best first.

        A refused form counts as refused for every type, unless it is known to work: then only that type's schema was
        refused.
        """
        refused = {form for form, name in self.refused if name == answer or form not in self.took}
        return [form for form in FORMS if form not in refused or form == PLAIN]

    @contextmanager
    def refusing(self, form: str, without: Collection[str], faults: list[str], pictures: int = 0) -> Iterator[None]:
        """Turn the error of a request into FormRefusedError or ParameterRefusedError if the server says so.

        Args:
            form: the form of the request.
            without: the parameters that were left out.
            faults: the 500s to this question so far; extended here.
            pictures: the number of pictures that were sent.

        Raises:
            FormRefusedError: the server does not accept the form.
            ParameterRefusedError: the server does not accept a parameter, or pictures.
        """
        try:
            yield
        except Exception as error:
            if parameter := _refused_parameter(error, without):
                if parameter not in self.left_out:
                    told = _SAID_OF.get(parameter, f"does not accept {parameter}; it is no longer sent")
                    _log.warning("%s %s", self.model, told)
                self.left_out.add(parameter)
                raise ParameterRefusedError(parameter) from error
            if pictures and _refuses_pictures(error):
                if not self.blind:
                    _log.warning("%s does not accept pictures; they are no longer sent: %s", self.model, brief(error))
                self.blind = True
                raise ParameterRefusedError("pictures") from error
            if form != PLAIN and self._is_refusal(form, error, faults):
                refused = FormRefusedError(brief(error))
                refused.odd = (status_of(error) or 0) < 500 and not _SAYS["of_the_form"].search(words_of(error))
                raise refused from error
            raise

    def _is_refusal(self, form: str, error: Exception, faults: list[str]) -> bool:
        status = status_of(error)
        if status is None or status < 500 or status == 501:
            return status in _REFUSALS and not (is_of_the_moment(error) or is_passing(error))
        if _SAYS["of_the_form"].search(words_of(error)):
            return True
        if is_passing(error):  # of the server behind a gateway, which may be starting
            return False
        fault = f"{form}: {brief(error)}"
        faults.append(fault)
        return status == 500 and form not in self.took and faults.count(fault) >= _SAME_FAULT

    def remember(self, form: str, answer: str, refusals: Mapping[str, str], odd: Collection[str] = ()) -> None:
        """Go on with a form that worked for an answer type, and stop using those that were refused for it.

        A form that has worked for the type was refused for this one request; the next asks in it again. It does so once
        after a single refusal that does not speak of the form, or one odd fault would change the form of all answers.

        Args:
            form: the form that worked.
            answer: the name of the answer type.
            refusals: the server's message by refused form.
            odd: the forms whose refusal does not speak of the form, not doubted when the question was put.
        """
        if form in self.took:
            self.worked.add((form, answer))
        held = {(refused, answer) for refused, why in refusals.items() if is_held_against_the_form(why)} - self.worked
        if len(refusals) == 1 and odd:
            self._doubted |= held
        else:
            self.refused |= held

    def doubted(self, answer: str) -> frozenset[str]:
        """Return the forms that were refused once for an answer type, or, if they never worked, for any."""
        return frozenset(form for form, name in self._doubted if name == answer or form not in self.took)

    def is_ignored(self, form: str, message: AIMessage, schema: Mapping[str, Any]) -> bool:
        """Whether a reply shows that the server ignored the form; if cut off, declined or empty, it does not."""
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


def is_blank(form: str, message: AIMessage, schema: Mapping[str, Any]) -> bool:
    """Whether a reply is an empty object, as from servers that lose a tool's arguments: another form may bring them."""
    is_due = form != PLAIN and bool(schema.get("required")) and not is_declined(message)
    return is_due and text_of(message).strip() == "{}"


def is_of_the_prompt(why: str) -> bool:
    """Whether a filter refuses this one prompt, and not what the model wrote."""
    return bool(_SAYS["of_the_prompt"].search(why)) and not _SAYS["of_the_output"].search(why)


def is_held_against_the_form(why: str) -> bool:
    """Whether a refusal is about the form, and not about this one prompt (a content filter) or this one answer."""
    return not (_SAYS["of_the_answer"].search(why) or _SAYS["of_the_prompt"].search(why))


def is_cut_off(message: AIMessage) -> bool:
    """Whether a reply ended because it reached its token limit."""
    return _ended_by(message, "length", "max_tokens", "MAX_TOKENS", "model_length")


def is_declined(message: AIMessage) -> bool:
    """Whether the model or its server's filter declined to answer."""
    return bool(message.additional_kwargs.get("refusal")) or _ended_by(message, "content_filter", "SAFETY")


def _ended_by(message: AIMessage, *reasons: str) -> bool:
    metadata = {**message.additional_kwargs, **message.response_metadata}
    return any(metadata.get(name) in reasons for name in _END_REASONS)


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
    unwanted = {400: "unwanted", 422: "unwanted", 500: "unwanted_behind"}.get(status_of(error) or 0)
    if unwanted is None or _SAYS["of_the_form"].search(text) or not _SAYS[unwanted].search(text):
        return None
    return next((name for name in PARAMETER.findall(text) if name not in without), None)


def _fits(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a reply is an object with the required fields of the answer type, whatever they hold."""
    required = set(schema.get("required", ()))
    with suppress(ValueError):
        return required <= set(unwrapped(find_json(text), required))
    return False


_known: dict[tuple[Any, ...], Forms] = {}


def forms_of(block: ModelBlock) -> Forms:
    """Return what is known of a model at its server, shared by all clients of this process.

    A model that is told to think may refuse what it takes otherwise (Qwen's JSON mode, Claude's temperature).
    """
    spec, told = block.parsed, block.model_dump_json(include={"extra_body", "reasoning_effort"})
    return _known.setdefault((spec.provider, spec.base_url, spec.name, told), Forms(f"{spec.provider}:{spec.name}"))
