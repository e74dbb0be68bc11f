"""One question to a chat model, from the response cache or the server, within the limits in force."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from langchain_core.messages import AIMessage, HumanMessage

from llm.cache import CachedAnswer, ResponseCache, open_cache
from llm.chat import ChatClient, Reply, chat_client
from llm.errors import AnswerError
from llm.journal import failed_before
from llm.limits import Account
from llm.prices import cost_of, price_of
from llm.question import Question, what_is_wrong
from llm.repetition import (
    EchoError,
    LoopError,
    echoes,
    says_directions,
    undescribed,
    without_fences,
    without_loops,
    without_names,
)
from llm.retries import Patience
from llm.role import Answer
from llm.settings import ModelSettings
from llm.trace import Call

T = TypeVar("T")
_SHOWN = 4000  # characters of an unreadable reply that its model is shown again


@dataclass
class Taken:
    """What a call has taken so far, under the names of the record."""

    attempts: int = 0
    repaired: bool = False
    shortened: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    cached: bool = False
    input_tokens: int = 0
    output_tokens: int = 0


async def answer_from_cache(
    question: Question[Answer], call: Call, settings: ModelSettings, taken: Taken
) -> Answer | None:
    """The answer of an earlier run; None if there is none, or no cache is used.

    Raises:
        CacheError: the cache cannot be used.
    """
    cache = _cache(call, settings)
    found = await asyncio.to_thread(cache.find, call.fingerprint) if cache else None
    if found is None:
        return None
    try:
        answer = question.checked(question.kind.model_validate_json(found.answer))
    except ValueError:  # the type or the check has become stricter since
        return None
    taken.cached, taken.input_tokens, taken.output_tokens = True, found.input_tokens, found.output_tokens
    return answer


async def keep_in_cache(answer: Answer, call: Call, settings: ModelSettings, taken: Taken) -> None:
    """Let later runs have the answer, where a cache is used.

    Raises:
        CacheError: the cache cannot be used.
    """
    if cache := _cache(call, settings):
        found = CachedAnswer(answer.model_dump_json(), taken.input_tokens, taken.output_tokens)
        await asyncio.to_thread(cache.keep, call.fingerprint, call.model, found)


def _cache(call: Call, settings: ModelSettings) -> ResponseCache | None:
    # The weights in a folder may be others tomorrow: an answer of theirs is good for this run only.
    return open_cache(settings.cache) if settings.cache and not settings.block(call.model).in_process else None


async def answer_from_model(question: Question[Answer], call: Call, settings: ModelSettings, taken: Taken) -> Answer:
    """The model's typed answer; ``taken`` also tells what a failed call took.

    Raises:
        AskError: there is none, or a limit was reached.
        ModelSpecError: the model cannot be used.
    """
    before = failed_before(call.id)
    account = Account(
        call.role,
        priced=lambda: price_of(call.model, settings) is not None,
        # The very same question, whose answer failed: one call, however often it is tried.
        asked_before=before is not None and before.attempts > 0 and before.fingerprint == call.fingerprint,
    )
    account.check()
    clock = time.perf_counter()
    end = account.deadline()
    try:
        async with asyncio.timeout(end.seconds if end else None) as limit:
            return await _answer(question, chat_client(call.model, settings), call, settings, taken, account)
    except TimeoutError:
        if end is not None and limit.expired():
            raise end.error from None
        raise
    finally:
        account.add_seconds(time.perf_counter() - clock)


async def _answer(
    question: Question[Answer], client: ChatClient, call: Call, settings: ModelSettings, taken: Taken, account: Account
) -> Answer:
    """The first reply that can be read.

    One that only names what a closed list has not, or goes round in circles, is mended once, then kept (and cut).
    """
    messages, repair = question.messages, question.repair
    kept: Answer | None = None
    form, bound = question, False  # which repairs may ask in another
    said: str | None = None  # the last reply that was shown
    repairs = settings.repairs if repair else 0
    for left in range(repairs, -1, -1):
        asked = form if messages is question.messages else form.about(messages)
        reply = await _reply(asked, client, call, settings, taken, account)
        try:
            answer = await _beside_if_slow(_read, question, reply, taken)
            taken.shortened |= bound and not client.forms.unbound
            return answer
        except ValueError as error:  # a ValidationError is one too
            wrong = error
            if reply.cut and not isinstance(error, LoopError | EchoError):
                wrong = ValueError(f"it is too long and was cut off: answer in fewer words ({what_is_wrong(error)})")
        before, kept = kept, await _beside_if_slow(_not_quite, question, reply, taken) or kept
        if repair is None or not left or (before and kept is not before):
            break
        account.check()
        taken.repaired = True
        if left == 1 or (reply.cut and isinstance(wrong, LoopError)):  # what words do not mend, a grammar may
            form = form.narrower(len(reply.text) if reply.cut else None)
            bound = bound or (reply.cut and not question.whole)
        # Shown its own words, or the form's, a small model would say them again: it reads the names of the fields.
        again = isinstance(wrong, EchoError) or (reply.text == said and not reply.cut)
        if again and form.words is not form.fields:
            form = replace(form, schema=undescribed(form.schema), words=form.fields)
            messages = [*question.messages]
            continue
        said = reply.text
        shown = without_loops(said)[:_SHOWN] or "{}"
        messages = [*messages, AIMessage(shown), HumanMessage(repair(wrong))]
    if kept is not None:
        return kept
    also = {0: "", 1: ", also after a repair"}.get(repairs, f", also after {repairs} repairs")
    room = "; a higher max_tokens, or a longer context of its server, gives it room" if reply.cut else ""
    raise AnswerError(f"not a {question.kind.__name__}{also}: {what_is_wrong(wrong)}{room}") from wrong


async def _beside_if_slow(
    read: Callable[[Question[Answer], Reply, Taken], T], question: Question[Answer], reply: Reply, taken: Taken
) -> T:
    """In a thread what would hold up the loop; what would not takes longer to reach one than to be read."""
    return await asyncio.to_thread(read, question, reply, taken) if question.slow else read(question, reply, taken)


def _read(question: Question[Answer], reply: Reply, taken: Taken, *, strictly: bool = True) -> Answer:
    if reply.refused:
        raise ValueError(f"the model, or its server's filter, refuses to answer: {reply.text[:200]!r}")
    text = without_loops(reply.text)
    looped = text != reply.text
    if looped and strictly and question.repair:
        raise LoopError("it says the same over and over, and was cut off; say everything once, in a few sentences")
    if echoes(text, question.schema):
        raise EchoError("it repeats what the form says of a field instead of filling it in")
    text = without_fences(text)
    if (told := without_names(text, question.names)) != text and strictly and question.repair:
        raise EchoError("it gives the name of a field, or of its material, for what is asked")
    answer = question.read(text if question.directions else told, strictly)
    said = getattr(answer, "text", "")
    if strictly and question.repair and question.directions and says_directions(said, question.directions):
        raise EchoError("it says what it was told to do instead of doing it")
    taken.shortened = looped
    return answer


def _not_quite(question: Question[Answer], reply: Reply, taken: Taken) -> Answer | None:
    """The answer in a reply whose only faults are those that are kept."""
    try:
        return _read(question, reply, taken, strictly=False)
    except ValueError:
        return None


async def _reply(
    question: Question[Answer], client: ChatClient, call: Call, settings: ModelSettings, taken: Taken, account: Account
) -> Reply:
    patience = Patience(settings.max_attempts)
    try:
        reply = await client.ask(question, settings, patience)
    finally:
        taken.attempts += patience.sent
    if reply.unseen:
        taken.left_out["pictures"] = reply.unseen
    taken.input_tokens += reply.input_tokens
    taken.output_tokens += reply.output_tokens
    cost = cost_of(call.model, reply.input_tokens, reply.output_tokens, settings, call.started)
    account.add(reply.input_tokens + reply.output_tokens, cost)
    return reply
