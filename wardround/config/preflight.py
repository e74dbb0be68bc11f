"""Checks before the first call: each language has its prompts, each model can be built, each server has its model."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, get_type_hints
from urllib.parse import urlsplit

from cases.notes import Note
from graphs.asked_roles import roles_asked
from graphs.state_graph import Graph
from llm.build import build_model
from llm.cache import open_cache
from llm.context_window import tokens
from llm.errors import ModelSpecError
from llm.keys import key_of
from llm.rehearsal import is_rehearsal
from llm.role import declared_roles, is_judging
from llm.specs import WITHOUT_MODEL
from nodes.context import Context
from prompts import PromptError, check_language, load_prompt
from prompts.folders import OURS
from prompts.folders import languages as known_languages
from wardround.config.experiment import ConfigurationError
from wardround.config.selection import StoredItem

_SECONDS = 5.0  # to list a server's models
# Azure lists what may be deployed, and is asked for deployments, whose names are free; Fireworks lists none of those.
_LIST_OTHERS = (".azure.com", ".azure.us", ".azure.cn", ".fireworks.ai")
_SHOWN = 10  # names of a server's models in an error
# LiteLLM lists a pattern such as `lab/*` itself only if asked to; otherwise the names that it knows for it, or none.
_PATTERNS = {"return_wildcard_routes": "true"}


def check_languages(languages: Collection[str], context: Context) -> None:
    """Check that all prompts and words exist in the languages of the cases or notes, and in the set language.

    Raises:
        ConfigurationError: a language has no folder of prompts, or its folder is incomplete.
    """
    chosen = [context.language] if context.language else []
    for language in sorted({*chosen, *languages}):
        try:
            check_language(language)
        except PromptError as error:
            raise ConfigurationError(f"language: {error}") from error


def check_prompts(graph: Graph, languages: Collection[str], context: Context, *, with_judges: bool = False) -> None:
    """Check that every role has its prompts, and that the views of plug-ins have the fields which theirs use.

    Args:
        graph: the graph that is run.
        languages: those of the cases or notes.
        context: its settings.
        with_judges: whether a metric of a plug-in asks a judge.

    Raises:
        ConfigurationError: a prompt is missing or invalid in the language of a case, its view lacks a variable, or
            another role asked at the same stage has the same name.
    """
    languages_used = {context.language} if context.language else languages
    asked = known = list(roles_asked(graph, context))
    if with_judges:
        judges = [(role, role.stage) for role in declared_roles().values() if is_judging(role.stage)]
        known = asked + judges
        asked += [(role, stage) for role, stage in judges if not _is_ours(role.prompt)]
    for role, stage in asked:
        if not _is_ours(role.prompt) and any(
            (other.name, at) == (role.name, stage) and other.prompt != role.prompt for other, at in known
        ):
            raise ConfigurationError(
                f"role {role.name!r}: another role of this name is used at {stage}, and models and records could not "
                "tell them apart; rename yours"
            )
        for language in sorted(languages_used):
            ours = (OURS / language / f"{role.prompt}.md").is_file()
            try:
                prompt = load_prompt(role.prompt, language, stage)
            except PromptError as error:
                remedy = "" if ours else "; write it in a folder given to wr.add_prompts(FOLDER) or --prompts"
                raise ConfigurationError(f"role {role.name!r}: {error}{remedy}") from error
            if ours:  # whether their views have the variables is checked by the tests
                continue
            view = next(iter(_hints(role.offline).values()), None)
            if (
                isinstance(view, type)
                and is_dataclass(view)
                and (lacking := prompt.variables - {field.name for field in fields(view)})
            ):
                unknown = f"uses variables that {view.__name__} has no field for: {', '.join(sorted(lacking))}"
                raise ConfigurationError(f"role {role.name!r}: prompt {role.prompt} ({language}) {unknown}")


def _is_ours(prompt: str) -> bool:
    return any((OURS / language / f"{prompt}.md").is_file() for language in known_languages())


def _hints(function: Any) -> dict[str, Any]:
    """Return the type hints of a function; empty if there are none, or they cannot be resolved."""
    try:
        return get_type_hints(function)
    except (NameError, TypeError):
        return {}


def check_lengths(items: Sequence[StoredItem], context: Context) -> None:
    """Check that each case's record, which the patient's model reads whole, fits the model's context length.

    Raises:
        ConfigurationError: a record does not fit, however much else is left out.
    """
    for role, name in context.models.items():
        length = context.block(name).context_length
        if length is None or role.rpartition(".")[2] not in ("default", "patient"):
            continue
        for item in (stored.item for stored in items):
            record = item.text if isinstance(item, Note) else " ".join(map(str, dict(item.patient).values()))
            if (needed := tokens(record)) > length:
                raise ConfigurationError(
                    f"models.{role}: {name!r} has a context_length of {length} tokens, but the record of {item.id} "
                    f"alone has about {needed}; leave this case out, or use a model with a longer context"
                )


def check_keys(contexts: Sequence[Context]) -> None:
    """Refuse to send one API key to several servers, over all runs.

    Raises:
        ModelSpecError: a key is missing, or is used for several servers.
    """
    blocks = [context.block(name) for context in contexts for name in context.models.values()]
    for block in blocks:
        key_of(block, blocks)


async def check_servers(context: Context) -> None:
    """Build each model of the map, and check its name where a server lists its models.

    A server that gives no list, or does not answer now, is not checked: its cases will fail with a reason. Nothing is
    checked in a rehearsal.

    Raises:
        ModelSpecError: a package or key is missing, or the server's list of models lacks this one.
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
        if (
            served
            and not _is_listed(spec.name, served)
            and not _is_listed(spec.name, await _served_models(spec.base_url, name, context, **_PATTERNS))
        ):
            shown = get_close_matches(spec.name, served, _SHOWN, 0.0) if len(served) > _SHOWN else served
            more = f" and {len(served) - _SHOWN:,} more" if len(served) > _SHOWN else ""
            raise ModelSpecError(
                f"models.{role}: {spec.base_url} serves no model {spec.name!r}; it serves {', '.join(shown)}{more}"
            )


def _is_listed(name: str, served: Sequence[str]) -> bool:
    """Whether a list covers a model: by its name, as a variant (OpenRouter's `:nitro`), or by LiteLLM's `*`."""
    variant_of = name.rpartition(":")[0]
    return (
        _bare_name(name) in map(_bare_name, served)
        or variant_of in served
        or any(fnmatchcase(name, listed) for listed in served if "*" in listed)
    )


def _bare_name(name: str) -> str:
    """Strip from a model's name what servers add in their lists."""
    return name.removeprefix("models/").removesuffix(":latest")


async def _served_models(base_url: str, name: str, context: Context, **asked: str) -> list[str]:
    if (urlsplit(base_url).hostname or "").endswith(_LIST_OTHERS):
        return []
    import httpx2

    from llm.transport import ENCODINGS, HOOKS, certificates

    headers = httpx2.Headers({**ENCODINGS, "Authorization": f"Bearer {context.key_of(name)}"})
    headers.update(context.block(name).sent_headers)
    client = httpx2.AsyncClient(headers=headers, event_hooks=HOOKS, verify=certificates(), follow_redirects=True)
    try:
        async with asyncio.timeout(_SECONDS), client:
            listed = (await client.get(f"{base_url}/models", params=asked or None)).raise_for_status().json()["data"]
            return sorted(str(model["id"]) for model in listed)
    except Exception:  # no list, no answer, or a response unlike OpenAI's
        return []
