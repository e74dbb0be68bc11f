"""Model blocks: a model's spec with its server, key and request parameters."""

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
_MARKERS = "KEY, TOKEN, SECRET or PASSWORD"
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
    def _check_variable_name(cls, name: str | None) -> str | None:
        if name and not (name.isidentifier() and SECRET_NAME.search(name)):
            raise ValueError(f"is not the key but names the environment variable with it, which must hold {_MARKERS}")
        return name

    @field_validator("headers")
    @classmethod
    def _reject_secret_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if _SECRET_HEADER.search(name) and not any(map(SECRET_NAME.search, _VARIABLE.findall(value))):
                raise ValueError(f"{name}: a secret stands in the environment: write '$NAME', with {_MARKERS} in it")
        return headers

    @field_validator("extra_body")
    @classmethod
    def _reject_secret_fields(cls, body: dict[str, Any]) -> dict[str, Any]:
        if secret := next((name for name in _field_names(body) if _SECRET_FIELD.search(name)), None):
            raise ValueError(f"{secret}: what is secret stands in the environment; see api_key_env and headers")
        return body

    @model_validator(mode="after")
    def _check_spec(self) -> "ModelBlock":
        spec = ModelSpec.parse(self.spec)
        if spec.provider in (OFFLINE, HUMAN, OBJECT):
            raise ValueError(f"spec: {self.spec!r} takes no parameters; it stands in the model map itself")
        if self.base_url is not None and spec.base_url is not None:
            raise ValueError("base_url: the spec names a server already")
        _ = self.parsed
        return self

    @property
    def parsed(self) -> ModelSpec:
        """The parsed spec, server included."""
        return _parsed(self.text)  # cached, as each call of each role needs it

    @property
    def text(self) -> str:
        """The spec as text, server included."""
        return self.spec if self.base_url is None else f"{self.spec}@{self.base_url}"

    @property
    def own_parameters(self) -> dict[str, Any]:
        """The parameters, beyond those that every model has, on which an answer depends; empty for a bare spec."""
        names = {"top_p", "reasoning_effort", "extra_body", "headers", "pictures", "chat_roles", "schema_in_prompt"}
        return self.model_dump(include=names, exclude_defaults=True)

    @property
    def in_process(self) -> bool:
        """Whether the model runs in this process."""
        return self.parsed.provider == IN_PROCESS

    @property
    def sent_headers(self) -> dict[str, str]:
        """The headers, with environment variables filled in.

        Raises:
            ModelSpecError: a variable is not set.
        """
        return {name: _VARIABLE.sub(lambda found: variable(found[1], "headers"), v) for name, v in self.headers.items()}


def _field_names(value: Any) -> Iterator[str]:
    """Yield the names of all fields at any depth."""
    if isinstance(value, dict):
        yield from map(str, value)
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _field_names(part)


ModelBlocks = dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")], ModelBlock]


_parsed = cache(ModelSpec.parse)


def block_of(name: str, blocks: ModelBlocks) -> ModelBlock:
    """Return the block of that name, or else a block with the name as its spec."""
    return blocks.get(name) or _bare_block(name)


@cache
def _bare_block(spec: str) -> ModelBlock:
    return ModelBlock.model_construct(spec=spec)  # cached, as each call of each role needs it


def variable(name: str, field: str) -> str:
    """Return the value of an environment variable.

    Raises:
        ModelSpecError: it is not set; ``field`` says where it is named.
    """
    if value := os.environ.get(name):
        return value
    raise ModelSpecError(f"{field}: the environment variable {name} is not set")
