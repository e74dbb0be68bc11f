"""Before the first call: every language can be spoken, every model built, and no server lacks the model it is asked."""

import asyncio
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from cases import Case
from cases.notes import Note
from graphs.asked_roles import roles_asked
from graphs.catalogue import Graph
from llm.build import build_model, without_account
from llm.cache import open_cache
from llm.context_window import tokens
from llm.errors import ModelSpecError
from llm.keys import key_of
from llm.rehearsal import is_rehearsal
from llm.specs import WITHOUT_MODEL
from nodes.context import Context
from prompts import PromptError, check_language, load_prompt
from prompts.folders import OURS, languages
from wardround.config.experiment import ConfigurationError

_SECONDS = 5.0  # for a list of models


def check_languages(items: Sequence[Case | Note], context: Context) -> None:
    """Look whether all prompts and words are there in the languages of cases or notes, and in that of the prompts.

    Raises:
        ConfigurationError: a language has no folder of prompts, or lacks something in it.
    """
    chosen = [context.language] if context.language else []
    for language in sorted({*chosen, *(item.language for item in items)}):
        try:
            check_language(language)
        except PromptError as error:
            raise ConfigurationError(f"language: {error}") from error


def check_own_prompts(graph: Graph, items: Sequence[Case | Note], context: Context) -> None:
    """Look whether the roles of somebody else's code have their prompts, and their views what these use.

    Raises:
        ConfigurationError: one has no prompt in the language of a case, its view lacks a variable of it, or another
            role that is asked beside it has its name.
    """
    spoken = {context.language} if context.language else {item.language for item in items}
    asked = list(roles_asked(graph, context))
    for role, stage in asked:
        if not _is_ours(role.prompt) and any(
            (other.name, at) == (role.name, stage) and other.prompt != role.prompt for other, at in asked
        ):
            raise ConfigurationError(
                f"role {role.name!r}: another role of that name is asked at {stage}, and models and records would take "
                "one for the other; give yours another name"
            )
        for language in sorted(spoken):
            if (OURS / language / f"{role.prompt}.md").is_file():  # held whole by the tests
                continue
            try:
                prompt = load_prompt(role.prompt, language, stage)
            except PromptError as error:
                remedy = "write it in a folder that wr.add_prompts(FOLDER) or --prompts names"
                raise ConfigurationError(f"role {role.name!r}: {error}; {remedy}") from error
            view = next(iter(_hints(role.offline).values()), None)
            if (
                isinstance(view, type)
                and is_dataclass(view)
                and (lacking := prompt.variables - {field.name for field in fields(view)})
            ):
                unknown = f"uses what {view.__name__} has no field for: {', '.join(sorted(lacking))}"
                raise ConfigurationError(f"role {role.name!r}: prompt {role.prompt} ({language}) {unknown}")


def _is_ours(prompt: str) -> bool:
    return any((OURS / language / f"{prompt}.md").is_file() for language in languages())


def _hints(function: Any) -> dict[str, Any]:
    """The types that a function says it takes; none if it does not say, or not so that it can be read."""
    try:
        return get_type_hints(function)
    except (NameError, TypeError):
        return {}


def check_lengths(items: Sequence[Case | Note], context: Context) -> None:
    """Look whether each case's record, which the patient's model reads whole, fits into what the model reads.

    Raises:
        ConfigurationError: one does not, however much else is left out.
    """
    for role, name in context.models.items():
        length = context.block(name).context_length
        if length is None or role.rpartition(".")[2] not in ("default", "patient"):
            continue
        for item in items:
            whole = item.text if isinstance(item, Note) else " ".join(map(str, dict(item.patient).values()))
            if (needed := tokens(whole)) > length:
                raise ConfigurationError(
                    f"models.{role}: {name!r} reads {length} tokens (context_length), and what is told of {item.id} "
                    f"alone has about {needed}: leave it out, or name a model that reads more"
                )


def check_keys(contexts: Sequence[Context]) -> None:
    """Refuse to give one key to several servers, be it in several runs.

    Raises:
        ModelSpecError: a key is missing, or stands for several servers.
    """
    every = [context.block(name) for context in contexts for name in context.models.values()]
    for block in every:
        key_of(block, every)


async def check_servers(context: Context) -> None:
    """Build each model of the map, and look its name up where a server lists its models.

    A server that keeps no list, or does not answer now, is taken at its word: its cases fail with a reason. In a
    rehearsal nobody is asked.

    Raises:
        ModelSpecError: a package or key is missing, or the server lists its models and this is not among them.
        CacheError: the response cache cannot be used.
    """
    if is_rehearsal():
        return
    if context.cache is not None:
        await asyncio.to_thread(open_cache, context.cache)
    listed: dict[str, list[str]] = {}
    for role, name in context.models.items():
        if name in WITHOUT_MODEL:
            continue
        spec = context.block(name).parsed
        try:
            build_model(name, context)
        except ModelSpecError as error:
            raise ModelSpecError(f"models.{role}: {error}") from error
        if spec.base_url is None or spec.provider != "openai":
            continue
        if spec.base_url not in listed:
            listed[spec.base_url] = await _served_models(spec.base_url, name, context)
        served = listed[spec.base_url]
        if served and _plain(spec.name) not in map(_plain, served):
            raise ModelSpecError(
                f"models.{role}: {spec.base_url} has no model {spec.name!r}; it has {', '.join(served)}"
            )


def _plain(name: str) -> str:
    """A model's name without what servers list with it and do not ask for."""
    return name.removeprefix("models/").removesuffix(":latest")


async def _served_models(base_url: str, name: str, context: Context) -> list[str]:
    import openai

    from llm.transport import ENCODINGS, HOOKS, certificates

    client = openai.AsyncOpenAI(
        base_url=base_url,
        api_key=context.key_of(name),
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(event_hooks=HOOKS, headers=ENCODINGS, verify=certificates()),
    )
    without_account(client, context.block(name).sent_headers)
    try:
        async with asyncio.timeout(_SECONDS), client:
            found: list[Any] = [model async for model in client.models.list()]
    except Exception:  # no list, no answer, or another answer than OpenAI's
        return []
    return sorted(str(model.id) for model in found)
