"""The one door through which every role speaks."""

import base64
import json
import mimetypes
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import ValidationError

from cases.vocabulary import Language
from models.chat import FORMS, Reply, chat_client, find_json
from models.errors import AnswerError, AskError, ModelError
from models.role import Answer, Role, variables
from models.schema import answer_schema
from models.settings import ModelSettings
from models.spec import HUMAN, OFFLINE, model_of
from models.trace import Call, record
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
        AnswerError: no valid answer, also not after one repair.
        ModelError: the model could not be reached or refused.
        ModelSpecError: the model's package or key is missing.
    """
    language = settings.language or language
    prompt = load_prompt(role.prompt, language, role.stage)
    system, user = prompt.render(variables(view))
    spec = model_of(role.name, role.stage, settings.models, seat)
    call = Call(
        id="/".join(part for part in (settings.scope, role.stage, role.name, place) if part),
        role=role.name,
        stage=role.stage,
        model=spec,
        prompt=f"{language}/{role.prompt}",
        prompt_hash=prompt.hash,
        started=time.time(),
        seconds=0.0,
        attempts=0,
        messages=[{"role": "system", "content": system}, {"role": "user", "content": user}, *_named(pictures)],
    )
    clock = time.perf_counter()
    taken: dict[str, Any] = {}
    try:
        if spec == OFFLINE:
            answer = role.offline(view)
        elif spec == HUMAN:
            answer = _ask_person(role, call)
        else:
            messages = [SystemMessage(system), HumanMessage(await _content(user, pictures))]
            answer = await _ask_chat(role, messages, spec, settings, language, taken)
    except AskError as error:
        error.add_note(f"at {call.id}, model {spec}")
        if isinstance(error, ModelError):
            taken["attempts"] = taken.get("attempts", 0) + error.attempts
        _finish(call, clock, settings, taken | {"error": f"{error.reason}: {error}"})
        raise
    _finish(call, clock, settings, taken | {"answer": answer.model_dump(mode="json")})
    return answer


async def _ask_chat(
    role: Role[Answer],
    messages: list[BaseMessage],
    spec: str,
    settings: ModelSettings,
    language: Language,
    taken: dict[str, Any],
) -> Answer:
    client = chat_client(spec, settings)
    schema = answer_schema(role.answer, language)
    name = re.sub(r"\W+", "_", role.answer.__name__).strip("_")
    instruction = _words("answer_format", language, {"schema": json.dumps(schema, ensure_ascii=False, indent=1)})
    reply = await client.ask(messages, name=name, schema=schema, instruction=instruction, settings=settings)
    _count(taken, reply)
    try:
        return role.answer.model_validate(find_json(reply.text))
    except ValueError as error:  # a ValidationError is one too
        taken["repaired"] = True
        repair = _words("repair", language, {"error": _what_is_wrong(error)})
        if reply.form != FORMS[-1]:
            # Some servers ignore the form without a word; the model then reads here what it should have been.
            repair = f"{repair}\n\n{instruction}"
        messages = [*messages, AIMessage(reply.text or "{}"), HumanMessage(repair)]
        reply = await client.ask(messages, name=name, schema=schema, instruction=instruction, settings=settings)
    _count(taken, reply)
    try:
        return role.answer.model_validate(find_json(reply.text))
    except ValueError as error:
        raise AnswerError(f"not a {role.answer.__name__}, also after a repair: {_what_is_wrong(error)}") from error


def _ask_person(role: Role[Answer], call: Call) -> Answer:
    """Interrupt the graph with the question; the run goes on with what the person gives."""
    from langgraph.types import interrupt

    given = interrupt(
        {
            "role": call.role,
            "stage": call.stage,
            "messages": call.messages,
            "schema": role.answer.model_json_schema(),
        }
    )
    try:
        return role.answer.model_validate(json.loads(given) if isinstance(given, str) else given)
    except ValueError as error:
        raise AnswerError(f"the person's answer is not a {role.answer.__name__}: {_what_is_wrong(error)}") from error


def _finish(call: Call, clock: float, settings: ModelSettings, update: dict[str, Any]) -> None:
    finished = call.model_copy(update={"seconds": time.perf_counter() - clock, **update})
    record(finished.model_copy(update={"cost": _cost(finished, settings)}), settings.trace_file)


def _cost(call: Call, settings: ModelSettings) -> float | None:
    if call.model in (OFFLINE, HUMAN):
        return 0.0
    if call.model not in settings.prices:
        return None
    price_in, price_out = settings.prices[call.model]
    return (call.input_tokens * price_in + call.output_tokens * price_out) / 1_000_000


def _count(taken: dict[str, Any], reply: Reply) -> None:
    for field in ("attempts", "input_tokens", "output_tokens"):
        taken[field] = taken.get(field, 0) + getattr(reply, field)


def _what_is_wrong(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        details = error.errors(include_url=False, include_input=False, include_context=False)
        return "; ".join(f"{'.'.join(map(str, detail['loc'])) or 'answer'}: {detail['msg']}" for detail in details[:8])
    return str(error)


def _words(name: str, language: Language, values: dict[str, Any]) -> str:
    return load_prompt(f"ask/{name}", language).render(values)[1]


def _named(pictures: Sequence[str]) -> list[dict[str, Any]]:
    """Pictures as the trace keeps them: by file, not by content."""
    return [{"role": "user", "image": Path(picture).name} for picture in pictures]


async def _content(text: str, pictures: Sequence[str]) -> str | list[str | dict[str, Any]]:
    if not pictures:
        return text
    blocks: list[str | dict[str, Any]] = [{"type": "text", "text": text}]
    for picture in pictures:
        data = base64.b64encode(await anyio.Path(picture).read_bytes()).decode()
        mime = mimetypes.guess_type(picture)[0] or "image/png"
        blocks.append({"type": "image", "base64": data, "mime_type": mime})
    return blocks
