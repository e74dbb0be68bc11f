"""Model blocks: a model's spec with its server, key and request parameters."""

import os
import re
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator, model_validator

from cases.path_names import PathName
from cases.strict import OwnNumbers, Strict
from llm.errors import ModelSpecError
from llm.masking import SECRET_NAME, holds_key
from llm.model_objects import OBJECT
from llm.replies import each_value, texts_in
from llm.specs import HUMAN, IN_PROCESS, OFFLINE, ModelSpec

SERVER_DEFAULT = "default"  # of a parameter: it is not sent
Temperature = Annotated[float, Field(ge=0, le=2)] | Literal["default"]
_MARKERS = "KEY, TOKEN, SECRET or PASSWORD"
_NAME = re.compile(r"^[A-Za-z0-9_-]+$")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_SECRET_FIELD = re.compile(r"api_?key|secret|password|credential|authorization", re.IGNORECASE)


class ModelBlock(OwnNumbers, Strict):
    """A model with parameters of its own; for those that are left out, the run's settings apply.

    Two roles that use one model with different parameters need two blocks. Keys are read from the environment, because
    blocks are written to every record.
    """

    spec: str = Field(description="Model: `provider:model[@base_url]` or `hf:FOLDER`.")
    base_url: str | None = Field(default=None, description="Base URL of the server, if the spec does not name it.")
    api_key_env: str | None = Field(
        default=None, description="Environment variable that holds the server's key; empty if the server needs none."
    )
    temperature: Temperature | None = Field(
        default=None, description="Sampling temperature; `default` sends none. Default: the run's temperature."
    )
    top_p: float | None = Field(default=None, gt=0, le=1, description="Nucleus sampling. Default: the server's.")
    max_tokens: int | None = Field(
        default=None, ge=1, description="Maximum number of tokens in an answer. Default: the run's limit."
    )
    reasoning_effort: str | None = Field(
        default=None, description="Reasoning effort, as the provider calls it: `low`, `medium`, `high`, ..."
    )
    extra_body: dict[str, Any] = Field(
        default_factory=dict, description="Additional fields in the body of every request."
    )
    headers: dict[str, str] = Field(
        default_factory=dict,
        description="Additional HTTP headers for every request; `$NAME` is read from the environment.",
    )
    prices: tuple[float, float] | None = Field(
        default=None, description="US dollars per million input and output tokens. Default: the known price."
    )
    batch: PathName | None = Field(
        default=None,
        min_length=1,
        description="Ask through OpenAI's batch interface, at half the price and within a day. The value is a file "
        "that records the batches under way, so that an interrupted run finds them again.",
    )
    together: int | None = Field(
        default=None,
        ge=1,
        description="Number of replies that a model in this process (`hf:`) writes in parallel, at temperature 0.",
    )
    context_length: int | None = Field(
        default=None, ge=1, description="Context length of the model: tokens that it can read and write together."
    )
    pictures: bool = Field(
        default=True, description="The model can see pictures. If off, it is sent their written findings instead."
    )
    chat_roles: bool = Field(
        default=True, description="Send separate system and user messages. If off, send everything as one user message."
    )
    schema_in_prompt: bool = Field(
        default=False,
        description="Repeat the answer's schema in every prompt, for servers that enforce it without showing it to the "
        "model.",
    )

    card: dict[str, str] = Field(
        default_factory=dict,
        description='Details of the model for tables: `{maker = "OpenBMB", size = "8.5B", precision = "bf16"}`.',
    )

    @field_validator("api_key_env")
    @classmethod
    def _check_variable_name(cls, name: str | None) -> str | None:
        if name and not (name.isidentifier() and SECRET_NAME.search(name)):
            raise ValueError(f"expected the name of an environment variable, with {_MARKERS} in it, not the key itself")
        return name

    @field_validator("headers")
    @classmethod
    def _reject_secret_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            secret = _SECRET_HEADER.search(name) and not any(map(SECRET_NAME.search, _VARIABLE.findall(value)))
            if secret or holds_key(value):
                raise ValueError(
                    f"{name}: secrets are read from the environment: write '$NAME', with {_MARKERS} in the name"
                )
        return headers

    @field_validator("extra_body")
    @classmethod
    def _reject_secret_fields(cls, body: dict[str, Any]) -> dict[str, Any]:
        names = (str(name) for node in each_value(body) if isinstance(node, dict) for name in node)
        if secret := next(filter(_SECRET_FIELD.search, names), None):
            raise ValueError(f"{secret}: secrets are read from the environment; use api_key_env or headers")
        return body

    @field_validator("extra_body", "card")
    @classmethod
    def _reject_keys(cls, given: dict[str, Any]) -> dict[str, Any]:
        if any(map(holds_key, texts_in(given))):
            raise ValueError("a value looks like a key; secrets are read from the environment")
        return given

    @model_validator(mode="after")
    def _check_spec(self) -> "ModelBlock":
        spec = ModelSpec.parse(self.spec)
        if spec.provider in (OFFLINE, HUMAN, OBJECT):
            raise ValueError(f"spec: {self.spec!r} takes no parameters; name it directly in the model map")
        if self.base_url is not None and spec.base_url is not None:
            raise ValueError("base_url: the spec already names a server; remove one of the two")
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
        """The headers, with environment variables filled in; ModelSpecError if a variable is not set."""
        return {name: _VARIABLE.sub(lambda found: variable(found[1], "headers"), v) for name, v in self.headers.items()}


def _name(given: str) -> str:
    if not _NAME.fullmatch(given):
        raise ValueError("expected a name of letters, digits, '-' and '_'")
    return given


_Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": _NAME.pattern})]
ModelBlocks = dict[_Name, ModelBlock]


_parsed = cache(ModelSpec.parse)


def block_of(name: str, blocks: ModelBlocks) -> ModelBlock:
    """Return the block of that name, or else a block with the name as its spec."""
    return blocks.get(name) or _bare_block(name)


@cache
def _bare_block(spec: str) -> ModelBlock:
    return ModelBlock.model_construct(spec=spec)  # cached, as each call of each role needs it


def variable(name: str, field: str) -> str:
    """Return the value of an environment variable, without white space around it.

    Raises:
        ModelSpecError: it is not set, or no header can hold it; ``field`` says where it is named.
    """
    value = os.environ.get(name, "").strip()  # as a file with Windows' line ends gives it
    if not value:
        raise ModelSpecError(f"{field}: the environment variable {name} is not set")
    if odd := next((place for place, letter in enumerate(value, start=1) if not " " <= letter <= "~"), 0):
        raise ModelSpecError(f"{field}: character {odd} of the environment variable {name} is in no key; copy it again")
    return value
