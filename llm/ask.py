"""`ask`: the single function through which every role gets its answer."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cases.registry import GivenError
from cases.validation import InputError
from cases.vocabulary import Language
from llm.answering import Usage, answer_from_cache, answer_from_model, keep_in_cache
from llm.asked import Asked
from llm.context_window import RECALLED, RETRIED_AT, fitted, without_recalled
from llm.errors import LONGER, PROMPT_ERROR, AskError, ContextLengthError, LimitError, NoRoomError
from llm.events import tell
from llm.faults import what_is_wrong
from llm.journal import is_kept, is_lost, note, note_cancelled, others_answered, replayed, under_way, with_earlier_tries
from llm.prices import cost_of
from llm.question import Question
from llm.rehearsal import is_rehearsal, rehearsed
from llm.repetition import copies
from llm.replies import whole_text
from llm.role import Answer, Role
from llm.scopes import holding
from llm.settings import ModelSettings
from llm.specs import OFFLINE, model_of
from llm.trace import Call, collect, record
from prompts import PromptError

T = TypeVar("T")
LONGEST_TYPED = 10_000  # characters per field of a person's answer: rules search it once for every fact of a record
_CANCELLED = "cancelled: the case ended before the answer was complete"
# Raises an error for a role that the node that asks has not declared; None if it declares nothing, and outside nodes.
MayAsk = Callable[[Role[Any]], None] | None
may_ask: ContextVar[MayAsk] = ContextVar("may_ask", default=None)
_loop_is_own: ContextVar[bool] = ContextVar("loop_is_own", default=False)


async def side_by_side(asking: Iterable[Awaitable[T]]) -> list[T]:
    """Await all at once; the first error is raised only when all are done, as calls in flight are paid."""
    results: list[T] = []
    for result in await asyncio.gather(*asking, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results


async def ask(
    role: Role[Answer],
    view: Any,
    settings: ModelSettings,
    *,
    language: Language,
    place: str = "",
    pictures: Sequence[str] = (),
    seat: int | None = None,
) -> Answer:
    """Put a role's question to its model, offline rule or person, and return the answer.

    A question that is answered by the case's journal or the response cache is not sent. A prompt longer than the
    model's context (by its block or its server's error) is shortened (``llm/context_window.py``).

    Args:
        role: the role to ask.
        view: a dataclass with all that the role sees; its fields are the variables of the prompt.
        settings: the model map and the limits of a call.
        language: the language of the case; ``settings.language`` overrides it.
        place: what distinguishes this call from others of the same role and stage (seat, round, turn).
        pictures: paths of images, sent to chat models as content blocks.
        seat: the number of the role's seat, if each seat may have its own model.

    Raises:
        AnswerError: no valid answer, even after the repairs.
        ModelError: the model could not be reached or refused.
        LimitError: a limit of the case, the role or the run is reached.
        ModelSpecError: the model's package or key is missing, or the response cache cannot be used.
        PromptError: the prompt cannot be rendered with this view.
        GivenError: the node that asks has not declared the role, or asks it in a thread that does not know the case.
        InputError: the settings are none, such as a dict.
    """
    _check_may_ask(role, settings)
    spec = model_of(role.name, role.stage, settings.models, seat)
    asked = Asked(role, settings, settings.prompt_language(language), spec, pictures)
    entry = _Entry(settings, asked.new_call(place))
    tell("call_started", call=entry.call.id, stage=role.stage, role=role.name, model=spec)
    most = asked.room
    while True:
        try:
            view, left_out = fitted(view, asked.size, most)
            entry.usage.left_out += left_out
            entry.call, question = await asked.prepared(entry.call, view)
        except PromptError as error:
            entry.finish(error=whole_text(f"{PROMPT_ERROR}: {error}"))
            raise
        if question is not None and (known := _from_journal(role, view, entry.call, settings)) is not None:
            tell("call_ended", call=entry.call.id, replayed=True)
            return known
        try:
            with under_way() if question is not None else nullcontext():
                answer = await _answered(asked, view, question, entry.call, entry.usage)
        except AskError as error:
            if isinstance(error, ContextLengthError | NoRoomError):
                most = RETRIED_AT * asked.size(view)
                if fitted(view, asked.size, most)[1]:
                    continue
            entry.fail(error)
            if isinstance(error, LimitError):
                await others_answered()
            raise
        except asyncio.CancelledError:
            if entry.usage.attempts:  # what was sent may have been paid
                note_cancelled(entry.finished(error=_CANCELLED))
            raise
        by_model = question is not None and not (entry.usage.cached or is_rehearsal())
        if by_model and (bare := _without_copied(asked, view, answer, entry.usage)) is not None:
            view = bare
            continue
        entry.finish(answer=answer.model_dump(mode="json"))
        if by_model:
            await keep_in_cache(answer, entry.call, settings, entry.usage)  # after it has been recorded
        return answer


def _check_may_ask(role: Role[Any], settings: ModelSettings) -> None:
    if not isinstance(settings, ModelSettings):
        found = type(settings).__name__
        raise InputError(f"role {role.name!r}: settings: expected wr.ModelSettings or a graph's context, found {found}")
    # It would be paid even in a rehearsal, and limits and a resumed run would not know of it.
    if is_lost(settings.trace_file):
        remedy = "await it, or start the thread with asyncio.to_thread"
        raise GivenError(f"the role {role.name!r} is asked in a thread of its own; {remedy}")
    if (check := may_ask.get()) is not None:
        check(role)


@dataclass
class _Entry:
    """The entry of a call in the trace as it comes about, with what the call has used so far."""

    settings: ModelSettings
    call: Call
    usage: Usage = field(default_factory=Usage)
    clock: float = field(default_factory=time.perf_counter)

    def finished(self, **outcome: Any) -> Call:
        """Return the whole entry, with the ``answer`` or the ``error``, and the usage of earlier tries."""
        call, usage, settings = self.call, self.usage, self.settings
        used = (usage.input_tokens, usage.output_tokens)
        cost = 0.0 if usage.cached else cost_of(call.model, *used, settings, call.started)
        seconds = time.perf_counter() - self.clock
        return with_earlier_tries(call.model_copy(update={"seconds": seconds, "cost": cost, **vars(usage), **outcome}))

    def finish(self, **outcome: Any) -> None:
        """Add the whole entry to the trace and the journal, and tell the watchers."""
        finished = self.finished(**outcome)
        record(finished, self.settings.trace_file)
        note(finished)
        told = {"stage", "role", "model", "seconds", "attempts", "input_tokens", "output_tokens", "cost", "cached"}
        tell("call_ended", call=finished.id, failed=finished.error is not None, **finished.model_dump(include=told))

    def fail(self, error: AskError) -> None:
        """Note at an error which call it ends, and finish the entry with it."""
        error.call, error.stage = self.call.id, self.call.stage
        error.add_note(f"at {self.call.id}, model {self.call.model}")
        self.finish(error=whole_text(f"{error.reason}: {error}"))


async def _answered(
    asked: Asked[Answer], view: Any, question: Question[Answer] | None, call: Call, usage: Usage
) -> Answer:
    """Get the answer from the offline rule, the person, the cache or the chat model."""
    if question is None:
        return await (_by_rule if asked.spec == OFFLINE else _by_person)(asked, view, call)
    if asked.length is not None and (needed := asked.size(view)) > asked.length:
        raise ContextLengthError(
            f"the prompt has about {needed} tokens, but {asked.spec} can read {asked.length} at most; {LONGER}"
        )
    if is_rehearsal():
        return rehearsed(asked.role, view, question, usage)
    known = await answer_from_cache(question, call, asked.settings, usage)
    return await answer_from_model(question, call, asked.settings, usage) if known is None else known


def _without_copied(asked: Asked[Answer], view: Any, answer: Answer, usage: Usage) -> Any | None:
    """Return the view without recalled cases if the answer copies words found only in these; else None.

    The role is then asked again without having read them.
    """
    if not asked.role.speech or asked.conversation:
        return None
    bare, dropped = without_recalled(view)
    if not dropped or not copies(getattr(answer, "text", ""), asked.words(view), asked.words(bare)):
        return None
    usage.repaired = True
    usage.left_out[RECALLED] += dropped
    return bare


def _from_journal(role: Role[Answer], view: Any, call: Call, settings: ModelSettings) -> Answer | None:
    """Return the recorded answer to this question and add its call to the case's calls; None if there is none."""
    known = replayed(call)
    if known is None:
        return None
    try:
        answer = role.checked(view, role.answer.model_validate(known.answer))
    except ValueError:  # the type or the check has become stricter since then
        return None
    collect(known, settings.trace_file)
    return answer


@contextmanager
def in_loop_of_our_own() -> Iterator[None]:
    """Promise that the event loop started in this block has no work of others, which a rule could keep waiting."""
    with holding(_loop_is_own, True):
        yield


async def _by_rule(asked: Asked[Answer], view: Any, call: Call) -> Answer:
    """Return the offline rule's answer, computed in a thread, as it may embed text and block the event loop."""
    if (is_kept() or _loop_is_own.get()) and set(asked.settings.models.values()) <= {OFFLINE}:
        return asked.role.by_rule(view)  # without models, only other rules could be kept waiting
    return await asyncio.to_thread(asked.role.by_rule, view)


async def _by_person(asked: Asked[Answer], view: Any, call: Call) -> Answer:
    """Interrupt the graph with the question and return what the person gives on resume.

    An invalid answer leads to a further interrupt of the same node, with the error added. Raising it would not work:
    LangGraph keeps all resume values of a node in order and would replay the invalid one forever.
    """
    from langgraph.types import interrupt

    shown = {**call.model_dump(include={"role", "stage", "messages"}), "schema": asked.role.answer.model_json_schema()}
    while True:
        given = interrupt(shown)
        try:
            return await asyncio.to_thread(asked.role.read, view, _checked_length(_parsed(given)))
        except ValueError as error:
            shown = {**shown, "wrong": what_is_wrong(error)}


def _checked_length(given: Any) -> Any:
    """Return what a person typed; raise a ValueError if any field is longer than anybody speaks."""
    for each in given.values() if isinstance(given, dict) else [given]:
        if (length := len(str(each))) > LONGEST_TYPED:
            raise ValueError(f"{length:,} characters are too many; at most {LONGEST_TYPED:,} are allowed")
    return given


def _parsed(given: Any) -> Any:
    """Parse JSON that a person typed as text; leave other text as it is."""
    try:
        return json.loads(given) if isinstance(given, str) and given.lstrip().startswith("{") else given
    except ValueError:
        return given
