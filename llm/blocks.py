"""What a model is beyond its spec: its server and key, and what is sent to it with every question."""

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from cases.strict import Strict
from llm.errors import ModelSpecError
from llm.model_objects import OBJECT
from llm.retries import SECRET_NAME
from llm.specs import HUMAN, IN_PROCESS, OFFLINE, ModelSpec

OWN = "default"
Temperature = Annotated[float, Field(ge=0, le=2)] | Literal["default"]
_NAMED = "KEY, TOKEN, SECRET or PASSWORD"
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_SECRET_FIELD = re.compile(r"api_?key|secret|password|credential|authorization", re.IGNORECASE)


class ModelBlock(Strict):
    """A model with parameters of its own; what is left out is as in the run's settings.

    Two roles that share a model and differ in its parameters have two blocks. Keys stand in the environment: a block
    is part of every record.
    """

    spec: str = Field(description="`provider:model[@base_url]` or `hf:FOLDER`.")
    base_url: str | None = Field(None, description="Of the server, if it does not stand in the spec.")
    api_key_env: str | None = Field(
        None, description="The environment variable with the server's key; empty if it needs none."
    )
    temperature: Temperature | None = Field(
        None, description="`default`: none is sent; the run's temperature if left out."
    )
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1, description="Tokens an answer may have; the run's if left out.")
    reasoning_effort: str | None = Field(None, description="As the provider calls it: `low`, `medium`, `high`, ...")
    extra_body: dict[str, Any] = Field(default_factory=dict, description="What else stands in every request's body.")
    headers: dict[str, str] = Field(
        default_factory=dict, description="What else every request is headed by; `$NAME` is taken from the environment."
    )
    prices: tuple[float, float] | None = Field(
        None, description="US dollars per million input and output tokens; as known if left out."
    )
    batch: str | None = Field(
        None,
        min_length=1,
        description="Ask through OpenAI's batch interface, at half the price and within a day; the file says which "
        "batches are under way, so that a run that was killed finds them again.",
    )
    together: int | None = Field(
        None, ge=1, description="Replies that a model in this process (`hf:`) writes at once, at temperature 0."
    )
    context_length: int | None = Field(None, ge=1, description="Tokens that it reads and writes at most.")
    pictures: bool = Field(True, description="It sees pictures; if not, it is sent their written findings.")
    chat_roles: bool = Field(True, description="System and user speak in turn; if off, all is one user message.")
    schema_in_prompt: bool = Field(
        False, description="Each prompt tells the answer's schema, for servers that bind it and do not show it."
    )

    card: dict[str, str] = Field(
        default_factory=dict,
        description='What tables say of it: `{maker = "OpenBMB", size = "8.5B", precision = "bf16"}`.',
    )

    @field_validator("api_key_env")
    @classmethod
    def _is_kept_out_of_records(cls, name: str | None) -> str | None:
        if name and not (name.isidentifier() and SECRET_NAME.search(name)):
            raise ValueError(f"is not the key but names the environment variable with it, which must hold {_NAMED}")
        return name

    @field_validator("headers")
    @classmethod
    def _no_secret_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if _SECRET_HEADER.search(name) and not any(map(SECRET_NAME.search, _VARIABLE.findall(value))):
                raise ValueError(f"{name}: a secret stands in the environment: write '$NAME', with {_NAMED} in it")
        return headers

    @field_validator("extra_body")
    @classmethod
    def _no_secret_fields(cls, body: dict[str, Any]) -> dict[str, Any]:
        if secret := next((name for name in _names(body) if _SECRET_FIELD.search(name)), None):
            raise ValueError(f"{secret}: what is secret stands in the environment; see api_key_env and headers")
        return body

    @model_validator(mode="after")
    def _a_chat_model(self) -> "ModelBlock":
        spec = ModelSpec.parse(self.spec)
        if spec.provider in (OFFLINE, HUMAN, OBJECT):
            raise ValueError(f"spec: {self.spec!r} takes no parameters; it stands in the model map itself")
        if self.base_url is not None and spec.base_url is not None:
            raise ValueError("base_url: the spec names a server already")
        _ = self.parsed
        return self

    @property
    def parsed(self) -> ModelSpec:
        """The spec, with the server."""
        return _parsed(self.text)  # at each call of each role

    @property
    def text(self) -> str:
        """The spec with the server, as it is spelt."""
        return self.spec if self.base_url is None else f"{self.spec}@{self.base_url}"

    @property
    def own_parameters(self) -> dict[str, Any]:
        """What an answer depends on besides the spec and what every model has; empty for a spec alone."""
        names = {"top_p", "reasoning_effort", "extra_body", "headers", "pictures", "chat_roles", "schema_in_prompt"}
        return self.model_dump(include=names, exclude_defaults=True)

    @property
    def in_process(self) -> bool:
        """Whether it runs in this process."""
        return self.parsed.provider == IN_PROCESS

    @property
    def sent_headers(self) -> dict[str, str]:
        """The headers with what the environment holds.

        Raises:
            ModelSpecError: a variable is not set.
        """
        return {name: _VARIABLE.sub(lambda found: variable(found[1], "headers"), v) for name, v in self.headers.items()}


def _names(value: Any) -> Iterator[str]:
    """The names of all fields, however deep."""
    if isinstance(value, dict):
        yield from map(str, value)
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _names(part)


ModelBlocks = dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")], ModelBlock]


_parsed = cache(ModelSpec.parse)


def block_of(name: str, blocks: ModelBlocks) -> ModelBlock:
    """What stands behind an entry of a model map: the block of that name, or one that has but a spec."""
    return blocks.get(name) or _bare(name)


@cache
def _bare(spec: str) -> ModelBlock:
    return ModelBlock.model_construct(spec=spec)  # at each call of each role


def variable(name: str, field: str) -> str:
    """A variable of the environment.

    Raises:
        ModelSpecError: it is not set.
    """
    if value := os.environ.get(name):
        return value
    raise ModelSpecError(f"{field}: the environment variable {name} is not set")
