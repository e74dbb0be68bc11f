"""The model map: the model of each role, validated before the first call."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cases.path_names import nameable
from cases.validation import nearest, suggestion
from llm.errors import ModelSpecError
from llm.masking import holds_key
from llm.model_objects import OBJECT
from llm.role import known_roles

OFFLINE = "offline"
HUMAN = "human"
WITHOUT_MODEL = (OFFLINE, HUMAN)
IN_PROCESS = "hf"
_SPELLING = re.compile(r"(?P<provider>[^\s:@]+):(?P<name>\S*?)(?:@(?P<url>https?://\S*))?")
# A name may hold an @ (`claude@20240620`, `@cf/meta/llama`), but not an address that was meant as a base URL.
_ADDRESS_IN_NAME = re.compile(r"://|(?<=.)@[\w.-]+(?::\d+(?:/|$)|/)|@$")
_FORMS = (
    f"`{OFFLINE}`, `{HUMAN}`, `provider:model[@base_url]` (such as `openai:gpt-4o-mini`), `{IN_PROCESS}:FOLDER`, or "
    "the NAME of a block [model.NAME] (in a command, `--set model.NAME.spec=SPEC` makes one)"
)


@dataclass(frozen=True)
class ModelSpec:
    """A parsed model spec, ``provider:name[@base_url]``; the name of an `hf` model is its folder."""

    provider: str
    name: str
    base_url: str | None = None

    @property
    def server(self) -> str:
        """The server: `provider` or `provider@base_url`; each model object is one of its own, as it may ask another."""
        if self.provider == OBJECT:
            return f"{OBJECT}:{self.name}"
        return self.provider if self.base_url is None else f"{self.provider}@{self.base_url}"

    @classmethod
    def parse(cls, text: str) -> "ModelSpec":
        """Parse a spec; `offline` and `human` are providers without a model name.

        Raises:
            ModelSpecError: the spelling is invalid, or the provider is unknown.
        """
        if text in WITHOUT_MODEL:
            return cls(text, "")
        if text.startswith(f"{OBJECT}:"):
            return cls(OBJECT, text.removeprefix(f"{OBJECT}:"))
        if text.startswith(f"{IN_PROCESS}:"):
            return cls(IN_PROCESS, _folder(text))
        if (match := _SPELLING.fullmatch(text)) is None:
            raise ModelSpecError(f"{text!r} is not a model: expected {_FORMS}")
        provider, name, url = match.groups()
        _check_names(text, provider, name)
        if url is None:
            return cls(provider, name)
        _check_url(url)
        return cls(provider, name, url.rstrip("/"))


def check_models(models: Mapping[str, str], blocks: Collection[str] = ()) -> None:
    """Reject a model map with an unknown role, provider or spelling; ``blocks`` are names of model blocks.

    Raises:
        ModelSpecError: names the entry and what is accepted.
    """
    known = known_roles() if {*models} - {"default"} else {}
    places = {place for role in known for stage in known[role] for place in _places(role, stage)}
    accepted = {"default", *known, *places}
    for role, spec in models.items():
        if role not in accepted:
            short = ", ".join(sorted(name for name in accepted if "." not in name))
            hint = suggestion(role, accepted, f"expected one of {short}")
            raise ModelSpecError(f"models: unknown role {role!r}; {hint}")
        if spec in blocks:
            continue
        if blocks and re.fullmatch(r"[\w-]+", spec) and spec not in WITHOUT_MODEL:
            raise ModelSpecError(f"models.{role}: there is no block [model.{spec}]; {nearest(spec, blocks)}")
        try:
            ModelSpec.parse(spec)
        except ModelSpecError as error:
            raise ModelSpecError(f"models.{role}: {error}") from None


def model_of(role: str, stage: str, models: Mapping[str, str], seat: int | None = None) -> str:
    """Return the spec for a role at a stage: ``stage.role`` before ``role`` before ``default`` before offline.

    A part of a stage, as in ``referral.level1``, falls back to the stage; a seat, as in ``intern2``, to the role.
    """
    own = () if seat is None else (*_places(f"{role}{seat}", stage), f"{role}{seat}")
    keys = (*own, *_places(role, stage), role, "default")
    return next((models[key] for key in keys if key in models), OFFLINE)


def _places(role: str, stage: str) -> list[str]:
    """Return the keys of a role at its stage, at the enclosing stage, and so on."""
    parts = stage.split(".")
    return [".".join([*parts[:depth], role]) for depth in range(len(parts), 0, -1)]


def _folder(text: str) -> str:
    """Return the folder that a spec `hf:FOLDER` names."""
    if not (folder := text.removeprefix(f"{IN_PROCESS}:")):
        raise ModelSpecError(f"{text!r} names no folder: expected {_FORMS}")
    try:
        nameable(folder)
    except ValueError as error:
        raise ModelSpecError(f"{IN_PROCESS}: {error}") from error
    return str(Path(os.path.expanduser(folder)))


def _check_names(text: str, provider: str, name: str) -> None:
    from langchain.chat_models.base import _BUILTIN_PROVIDERS as providers  # LangChain's only list of providers

    if provider not in providers:
        raise ModelSpecError(f"{text!r}: unknown provider {provider!r}; {nearest(provider.lower(), providers)}")
    if not name:
        raise ModelSpecError(f"{text!r} names no model: expected {_FORMS}")
    if holds_key(name):  # specs are written to every record of a run
        raise ModelSpecError(f"{text!r}: a key stands in place of the model's name; set it in WARDROUND_API_KEY")
    if _ADDRESS_IN_NAME.search(name):
        raise ModelSpecError(f"{text!r}: the base URL must start with http:// or https://")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # accessed only to validate them
    except ValueError as error:
        raise ModelSpecError(f"the base URL {url!r} is invalid: {error}") from None
    if not host:
        raise ModelSpecError(f"the base URL {url!r} has no host")
    if parts.query.startswith("api-version="):
        raise ModelSpecError(
            "the base URL must not contain a query; name a deployment of Azure as azure_openai:DEPLOYMENT@https://HOST "
            "and set OPENAI_API_VERSION in the environment"
        )
    plain = unquote(url)
    if parts.username is not None or parts.query or parts.fragment or holds_key(plain):
        # Specs are written to every record of a run.
        raise ModelSpecError(
            "the base URL must not contain a user, password, query, fragment or key; set the key in WARDROUND_API_KEY"
        )
