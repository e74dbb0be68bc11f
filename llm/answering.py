"""Answer one question with a chat model, through the response cache, within the limits in force."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from llm import repetition
from llm.cache import CachedAnswer, ResponseCache, open_cache
from llm.chat import ChatClient, Reply, chat_client
from llm.errors import LONGER, AnswerError, ContextLengthError, NoRoomError
from llm.faults import what_is_wrong
from llm.journal import failed_before
from llm.limits import Account
from llm.prices import cost_of, price_of
from llm.question import Question
from llm.repetition import EchoError, LoopError, undescribed, without_loops
from llm.replies import answer_in, in_whole_sentences, is_ended
from llm.retries import Patience
from llm.role import Answer
from llm.settings import ModelSettings
from llm.trace import Call
from llm.tracing import asked_of

_SHOWN = 4000  # characters of an unreadable reply that are shown to its model in a repair
_DIRECTED = "it says what it was told to do instead of doing it"


@dataclass
class Usage:
    """What a call has used so far; the fields are those of `Call`."""

    attempts: int = 0
    form: str = ""
    repaired: bool = False
    shortened: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    cached: bool = False
    input_tokens: int = 0
    output_tokens: int = 0


async def answer_from_cache(
    question: Question[Answer], call: Call, settings: ModelSettings, usage: Usage
) -> Answer | None:
    """Return the cached answer of an earlier run; None if there is none, or the cache is off.

    Raises:
        CacheError: the cache cannot be used.
    """
    cache = _cache(call, settings)
    found = await asyncio.to_thread(cache.find, call.fingerprint) if cache else None
    if found is None:
        return None
    try:
        answer = question.checked(question.kind.model_validate_json(found.answer))
    except ValueError:  # the type or the check has become stricter since then
        return None
    usage.cached, usage.input_tokens, usage.output_tokens = True, found.input_tokens, found.output_tokens
    return answer


async def keep_in_cache(answer: Answer, call: Call, settings: ModelSettings, usage: Usage) -> None:
    """Store the answer for later runs, if the cache is on; CacheError if the cache cannot be used."""
    if cache := _cache(call, settings):
        found = CachedAnswer(answer.model_dump_json(), usage.input_tokens, usage.output_tokens)
        await asyncio.to_thread(cache.keep, call.fingerprint, call.model, found)


def _cache(call: Call, settings: ModelSettings) -> ResponseCache | None:
    # The weights in a folder may change, so answers of a model in this process are not cached.
    return open_cache(settings.cache) if settings.cache and not settings.block(call.model).in_process else None


async def answer_from_model(question: Question[Answer], call: Call, settings: ModelSettings, usage: Usage) -> Answer:
    """Ask the model and return its typed answer; ``usage`` is filled in even if the call fails.

    Raises:
        AskError: the model gave no valid answer, or a limit was reached.
        ModelSpecError: the model cannot be used.
    """
    from llm.batches import spent_if_failed

    before = failed_before(call.id)  # a retry of the same failed question counts as the same call
    is_retry = before is not None and before.attempts > 0 and before.fingerprint == call.fingerprint
    account = Account(call.role, priced=lambda: price_of(call.model, settings) is not None, asked_before=is_retry)
    account.check()
    clock, end = time.perf_counter(), account.deadline()
    try:
        async with asyncio.timeout(end.seconds if end else None) as limit:
            with spent_if_failed():
                return await _answer(question, chat_client(call.model, settings), call, settings, usage, account)
    except TimeoutError:
        if end is not None and limit.expired():
            raise end.error from None
        raise
    finally:
        account.add(seconds=time.perf_counter() - clock)


async def _answer(
    question: Question[Answer], client: ChatClient, call: Call, settings: ModelSettings, usage: Usage, account: Account
) -> Answer:
    """Return the first reply that can be read, asking for repairs as often as the settings allow.

    A reply whose only fault is a term outside a closed list, or a loop, is repaired once; if the fault comes back, the
    reply is accepted (a loop cut off).
    """
    send = partial(_reply, client=client, call=call, settings=settings, usage=usage, account=account)
    asking = _Asking(question, form=question)
    accepted: Answer | None = None
    repairs = settings.repairs if question.repair else 0
    for left in range(repairs, -1, -1):
        try:
            reply = await send(asking.put())
        except ContextLengthError:
            if not asking.talk:
                raise
            asking.begin_again()  # the reply to be mended does not fit beside the prompt
            reply = await send(asking.put())
        if asking.bound and not reply.cut:  # a loop that its bound ended is as short as one that the limit cut off
            reply = replace(reply, text=without_loops(reply.text, cut=True))
        read = partial(_answer_or_fault, asking.question, reply, usage)
        # In a thread only if reading may block the event loop: starting one takes longer than a short reading.
        answer, fault = await asyncio.to_thread(read) if question.slow else read()
        if answer is not None and fault is None:
            usage.shortened |= asking.bound and not client.forms.unbound
            return asking.form.in_whole_sentences(answer)
        assert fault is not None
        wrong = fault
        before, accepted = accepted, answer or accepted
        if question.repair is None or not left or (before and accepted is not before):
            break
        account.check()
        usage.repaired = True
        asking.object_to(reply, wrong, question.repair, is_last=left == 1)
    if accepted is not None:
        return asking.form.in_whole_sentences(accepted)
    raise _no_answer(question, reply, wrong, repairs) from wrong


@dataclass
class _Asking(Generic[Answer]):
    """A question while it is asked: how it is put now, and what has been said of earlier replies.

    Attributes:
        question: as replies are read: with the remarks of all repairs.
        form: as it is put: perhaps in a narrower form, or with the names of its fields alone.
        talk: the replies that the model is shown, each with what is wrong with it.
        is_first: whether it has not been objected to a reply.
        bound: whether the form limits the length of texts, as a reply was cut off.
    """

    question: Question[Answer]
    form: Question[Answer]
    talk: list[BaseMessage] = field(default_factory=list)
    is_first: bool = True
    bound: bool = False
    _last_shown: str | None = None

    def put(self) -> Question[Answer]:
        """Return the question as it is sent next."""
        return self.form if self.is_first else self.form.about([*self.question.messages, *self.talk])

    def begin_again(self) -> None:
        """Show the model no earlier reply, and only the names of the fields."""
        self.talk = []
        self.form = replace(self.form, schema=undescribed(self.form.schema), words=self.form.fields)

    def object_to(self, reply: Reply, wrong: ValueError, repair: Callable[[ValueError], str], *, is_last: bool) -> None:
        """Have a reply mended: show it with what is wrong, or begin again if showing it would not help."""
        self.is_first = False
        if is_last or (reply.cut and isinstance(wrong, LoopError)):  # a grammar may enforce what words do not
            self.form = self.form.narrower(len(reply.text) if reply.cut else None)
            self.bound = self.bound or (reply.cut and not self.question.whole)
        # A small model that sees its own words, or those of the schema, repeats them: show it only the field names.
        again = isinstance(wrong, EchoError) or (reply.text == self._last_shown and not reply.cut)
        if again and self.form.words is not self.form.fields:
            self.begin_again()
            return
        self._last_shown = reply.text
        shown = without_loops(reply.text, cut=reply.cut)[:_SHOWN] or "{}"
        self.talk = [*self.talk, AIMessage(shown), HumanMessage(repair(wrong))]
        # What is said of an answer's fields may be the answer, unless the role only speaks.
        is_general = self.question.directions or isinstance(wrong, LoopError | EchoError)
        remarks = repetition.remarks_in(repair(wrong if is_general else ValueError()), shown)
        self.question = replace(self.question, remarks=self.question.remarks | remarks)


def _no_answer(question: Question[Answer], reply: Reply, wrong: ValueError, repairs: int) -> AnswerError:
    """Return the error of a question whose last reply could not be accepted, with the remedy if it was cut off."""
    why = what_is_wrong(wrong)
    is_short = reply.cut and not isinstance(wrong, LoopError)  # more room would not end a loop
    if is_short and reply.full:
        return NoRoomError(f"the prompt leaves too little room for an answer ({why}); {LONGER}")
    even = {0: "", 1: ", even after a repair"}.get(repairs, f", even after {repairs} repairs")
    room = "; raise max_tokens, or the context length of the server" if is_short else ""
    return AnswerError(f"not a valid {question.kind.__name__}{even}: {why}{room}")


def _answer_or_fault(question: Question[Answer], reply: Reply, usage: Usage) -> tuple[Answer | None, ValueError | None]:
    """Return a reply's answer, and what is wrong with it; no answer if the fault cannot be accepted."""
    try:
        return _read(question, reply, usage), None
    except ValueError as error:  # includes ValidationError
        wrong = error
        if reply.cut and not isinstance(error, LoopError | EchoError):
            wrong = ValueError(f"it is too long and was cut off: answer in fewer words ({what_is_wrong(error)})")
        with suppress(ValueError):
            return _read(question, reply, usage, strictly=False), wrong
        return None, wrong


def _read(question: Question[Answer], reply: Reply, usage: Usage, *, strictly: bool = True) -> Answer:
    if reply.refused:
        words = repr(reply.text[:200]) if reply.text else "without a word"
        raise ValueError(f"the model, or its server's filter, refuses to answer: {words}")
    mends = strictly and question.repair is not None
    text = without_loops(reply.text, cut=reply.cut)
    looped = text != reply.text
    if looped and mends:
        raise LoopError("it says the same over and over, and was cut off; say everything once, in a few sentences")
    if repetition.echoes(text, question.schema):
        raise EchoError("it repeats the description of a field instead of filling it in")
    if repetition.says_remarks(text, question.remarks):
        raise EchoError(_DIRECTED)
    text = repetition.without_fences(text)
    unnamed = repetition.without_names(text, question.names, question.schema)
    if unnamed != text and mends:
        raise EchoError("it gives the name of a field, or of a part of the material, instead of what is asked")
    # Plain words are read without an end.
    unended = reply.cut and question.slow and "{" not in answer_in(text) and not is_ended(text)
    if unended and not mends:
        text, unnamed = in_whole_sentences(text), in_whole_sentences(unnamed)
    answer = question.read(text if question.directions else unnamed, strictly)
    spoken = getattr(answer, "text", "")
    if mends and question.directions and repetition.says_directions(spoken, question.directions):
        raise EchoError(_DIRECTED)
    if unended and mends:
        raise ValueError("its last sentence has no end")
    usage.shortened = looped or unended
    return answer


async def _reply(
    question: Question[Answer], client: ChatClient, call: Call, settings: ModelSettings, usage: Usage, account: Account
) -> Reply:
    patience = Patience(settings.max_attempts)
    try:
        with asked_of(call.role, call.id):
            reply = await client.ask(question, settings, patience)
    finally:
        usage.attempts += patience.sent
        usage.input_tokens += patience.input_tokens
        usage.output_tokens += patience.output_tokens
        cost = cost_of(call.model, patience.input_tokens, patience.output_tokens, settings, call.started)
        account.add(patience.input_tokens + patience.output_tokens, cost)
    if reply.unseen:
        usage.left_out["pictures"] = reply.unseen
    usage.form = reply.form
    return reply
