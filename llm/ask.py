"""The one door through which every role speaks."""

import asyncio
import json
import time
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

from cases.dialogues import Message
from cases.vocabulary import Language
from llm.answering import Taken, answer_from_cache, answer_from_model, keep_in_cache
from llm.errors import AskError, ContextLengthError
from llm.fingerprint import fingerprint
from llm.fitting import RECALLED, RETRIED_AT, fitted, room, tokens, without_recalled
from llm.journal import is_kept, note, replayed, with_earlier_tries
from llm.loops import copies
from llm.prices import cost_of
from llm.question import Question, spoken_question, typed_question, what_is_wrong
from llm.rehearsal import is_rehearsal, rehearsed
from llm.replies import whole_text
from llm.role import Answer, Role, variables
from llm.settings import ModelSettings
from llm.specs import HUMAN, OFFLINE, model_of
from llm.trace import Call, collect, entry_id, record
from llm.watching import tell
from prompts import load_prompt


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
    """Put a role's question to the model that stands behind it.

    A question that the case's journal or the response cache answers is not sent. A prompt that is longer than the
    model reads, by its block or by its server's word, is shortened (``llm/fitting.py``).

    Args:
        role: who is asked.
        view: the dataclass with what the role sees; its fields are the prompt's variables.
        settings: the model map and the limits of a call.
        language: the language of the case; ``settings.language`` overrides it.
        place: what tells this call from others of the same role and stage (seat, round, turn).
        pictures: paths of images, sent as content blocks to a chat model.
        seat: which of the role's numbered seats is asked, where each may have a model of its own.

    Returns:
        The typed answer.

    Raises:
        AnswerError: no valid answer, also not after the repairs.
        ModelError: the model could not be reached or refused.
        LimitError: the case, the role or the run has taken what it may.
        ModelSpecError: the model's package or key is missing, or the response cache cannot be used.
    """
    language = settings.language or language
    prompt = load_prompt(role.prompt, language, role.stage)
    spec = model_of(role.name, role.stage, settings.models, seat)
    block = settings.block(spec)
    pictures = pictures if block.pictures else ()
    chats = spec not in (OFFLINE, HUMAN)
    speech = role.speech if chats and (settings.plain_words or block.in_process) else None
    talks = speech.conversation if speech else None

    def said(view: Any) -> list[Message]:
        """What the role is asked, of what it sees."""
        if talks:
            return talks(view)
        system, user = prompt.render(variables(view))
        return [Message(role="system", content=system), Message(role="user", content=user)]

    def size(view: Any) -> int:
        return tokens(_text_of(said(view)))

    clock, taken = time.perf_counter(), Taken()
    call = Call(
        id=entry_id(settings.scope, role.stage, role.name, place),
        role=role.name,
        stage=role.stage,
        model=spec,
        prompt="" if talks else f"{language}/{role.prompt}",
        prompt_hash="" if talks else prompt.hash,
        started=time.time(),
        seconds=0.0,
        attempts=0,
    )
    tell("call_started", call=call.id, stage=call.stage, role=call.role, model=spec)
    length = block.context_length if chats else None
    most = inf if length is None else room(length, block.max_tokens or settings.max_tokens)
    while True:
        view, left_out = fitted(view, size, most)
        taken.left_out += left_out
        messages = said(view)
        shown = [*(message.model_dump() for message in messages), *_named(() if talks else pictures)]
        call = call.model_copy(update={"messages": shown})
        question: Question[Answer] | None = None
        if speech and talks:
            question = spoken_question(role, speech, messages, view)
        elif chats:
            question = await typed_question(role, view, messages[0].content, messages[1].content, pictures, language)
        if question is not None:
            key = fingerprint(call.id, spec, question.messages, question.schema, question.instruction, settings)
            call = call.model_copy(update={"fingerprint": key})
            if (known := _from_journal(role, view, call, settings)) is not None:
                tell("call_ended", call=call.id, replayed=True)
                return known
        try:
            if question is not None:
                if length is not None and (needed := size(view)) > length:
                    raise ContextLengthError(f"the prompt has about {needed} tokens, and {spec} reads {length} at most")
                if is_rehearsal():
                    answer = rehearsed(role, view, question, taken)
                elif (found := await answer_from_cache(question, call, settings, taken)) is not None:
                    answer = found
                else:
                    answer = await answer_from_model(question, call, settings, taken)
                    bare, others = without_recalled(view) if role.speech and not talks else (view, 0)
                    if others and copies(getattr(answer, "text", ""), _text_of(messages), _text_of(said(bare))):
                        # What other patients had, told to this one: said anew without having read of them.
                        view, taken.repaired = bare, True
                        taken.left_out[RECALLED] += others
                        continue
            elif spec == OFFLINE:
                answer = await _by_rule(role, view, settings)
            else:
                answer = await _ask_person(role, view, call)
            break
        except AskError as error:
            if isinstance(error, ContextLengthError):
                most = RETRIED_AT * size(view)
                if fitted(view, size, most)[1]:
                    continue
            error.call, error.stage = call.id, call.stage
            error.add_note(f"at {call.id}, model {spec}")
            _finish(call, clock, settings, taken, {"error": whole_text(f"{error.reason}: {error}")})
            raise
    _finish(call, clock, settings, taken, {"answer": answer.model_dump(mode="json")})
    if question is not None and not (taken.cached or is_rehearsal()):
        await keep_in_cache(answer, call, settings, taken)  # once it is on record
    return answer


def _text_of(messages: Sequence[Message]) -> str:
    return "\n".join(message.content for message in messages)


def _from_journal(role: Role[Answer], view: Any, call: Call, settings: ModelSettings) -> Answer | None:
    """The answer that was recorded to this very question, put among the case's calls as it was."""
    known = replayed(call)
    if known is None:
        return None
    try:
        answer = role.checked(view, role.answer.model_validate(known.answer))
    except ValueError:  # the type or the check has become stricter since
        return None
    collect(known, settings.trace_file)
    return answer


async def _by_rule(role: Role[Answer], view: Any, settings: ModelSettings) -> Answer:
    """The offline rule's answer. It may embed what was said, and is not to hold up whoever else the loop serves."""
    if is_kept() and set(settings.models.values()) <= {OFFLINE}:
        return role.offline(view)  # a run without a model: all that waits are other rules
    return await asyncio.to_thread(role.offline, view)


async def _ask_person(role: Role[Answer], view: Any, call: Call) -> Answer:
    """Interrupt the graph with the question; the run goes on with what the person gives.

    What is no answer is asked for again, by a further interrupt of the same node, with what is wrong with it. LangGraph
    keeps what was given to the earlier ones, in order: an error here would be raised again for ever.
    """
    from langgraph.types import interrupt

    asked = {
        "role": call.role,
        "stage": call.stage,
        "messages": call.messages,
        "schema": role.answer.model_json_schema(),
    }
    while True:
        given = interrupt(asked)
        try:
            return await asyncio.to_thread(role.read, view, _form_or_words(given))
        except ValueError as error:
            asked = {**asked, "wrong": what_is_wrong(error)}


def _form_or_words(given: Any) -> Any:
    """JSON that a person has typed as text, as what it says; other text as it stands."""
    try:
        return json.loads(given) if isinstance(given, str) and given.lstrip().startswith("{") else given
    except ValueError:
        return given


def _finish(call: Call, clock: float, settings: ModelSettings, taken: Taken, outcome: dict[str, Any]) -> None:
    cost = 0.0 if taken.cached else cost_of(call.model, taken.input_tokens, taken.output_tokens, settings, call.started)
    seconds = time.perf_counter() - clock
    finished = call.model_copy(update={"seconds": seconds, "cost": cost, **vars(taken), **outcome})
    finished = with_earlier_tries(finished)
    record(finished, settings.trace_file)
    note(finished)
    kept = ("stage", "role", "model", "seconds", "attempts", "input_tokens", "output_tokens", "cost", "cached")
    told = {name: getattr(finished, name) for name in kept}
    tell("call_ended", call=call.id, failed=finished.error is not None, **told)


def _named(pictures: Sequence[str]) -> list[dict[str, Any]]:
    """Pictures as the trace keeps them: by file, not by content."""
    return [{"role": "user", "image": Path(picture).name} for picture in pictures]
