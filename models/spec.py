"""The model map: which model stands behind which role, checked before the first call."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from models.errors import ModelSpecError
from models.role import known_roles

OFFLINE = "offline"
HUMAN = "human"
_FORMS = f"`{OFFLINE}`, `{HUMAN}` or `provider:model[@base_url]`, for example `openai:gpt-4o-mini`"


@dataclass(frozen=True)
class ModelSpec:
    """A parsed model spec, ``provider:name[@base_url]``."""

    provider: str
    name: str
    base_url: str | None = None

    @classmethod
    def parse(cls, text: str) -> "ModelSpec":
        """Parse a spec; `offline` and `human` are providers without a model name.

        Raises:
            ModelSpecError: the spelling is not of the form, or no such provider is known.
        """
        if text in (OFFLINE, HUMAN):
            return cls(text, "")
        match = re.fullmatch(
            r"(?P<provider>[a-z0-9_]+):(?P<name>[^\s@]+(?:@(?!https?://)[^\s@]+)*)(?:@(?P<url>\S+))?", text
        )
        if match is None:
            raise ModelSpecError(f"{text!r} is not a model: expected {_FORMS}")
        url = match["url"]
        if url is not None and not re.match(r"https?://[^/\s]+", url):
            raise ModelSpecError(f"{text!r}: the base URL {url!r} must start with http:// or https://")
        providers = _providers()
        if match["provider"] not in providers:
            close = difflib.get_close_matches(match["provider"], providers, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(providers))}"
            raise ModelSpecError(f"{text!r}: unknown provider {match['provider']!r}{hint}")
        return cls(match["provider"], match["name"], url.rstrip("/") if url else None)


def check_models(models: Mapping[str, str]) -> None:
    """Refuse a model map with an unknown role, provider or spelling.

    Raises:
        ModelSpecError: naming the entry and what is accepted.
    """
    accepted = {"default", *known_roles()}
    accepted |= {f"{stage}.{role}" for role, stages in known_roles().items() for stage in stages}
    for role, spec in models.items():
        if role not in accepted:
            close = difflib.get_close_matches(role, accepted, n=3)
            hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known are {_listed(accepted)}"
            raise ModelSpecError(f"models: unknown role {role!r}; {hint}")
        try:
            ModelSpec.parse(spec)
        except ModelSpecError as error:
            raise ModelSpecError(f"models.{role}: {error}") from None


def model_of(role: str, stage: str, models: Mapping[str, str]) -> str:
    """The spec for a role at a stage: ``stage.role`` before ``role`` before ``default`` before offline.

    A part of a stage, as in ``referral.level1``, falls back to the stage.
    """
    places = [f"{'.'.join(stage.split('.')[:depth])}.{role}" for depth in range(stage.count(".") + 1, 0, -1)]
    for key in (*places, role, "default"):
        if key in models:
            return models[key]
    return OFFLINE


def _providers() -> frozenset[str]:
    from langchain.chat_models.base import _BUILTIN_PROVIDERS  # the one place where LangChain lists them

    return frozenset(_BUILTIN_PROVIDERS)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(name for name in names if "." not in name))
