"""The settings that `ask` reads, a part of a run's context: the model of each role and the limits of a call."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.json_schema import SkipJsonSchema

from llm.blocks import ModelBlock, ModelBlocks, Temperature, block_of
from llm.keys import key_of
from llm.model_objects import with_specs
from llm.specs import check_models
from prompts import SpokenLanguage


class ModelSettings(BaseModel):
    """The model of each role and the limits of a call. Graph contexts extend it."""

    # Values include URLs, which may contain secrets.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    model: ModelBlocks = Field(
        default_factory=dict, description="Models with parameters of their own, by the name that the model map uses."
    )
    models: dict[str, str] = Field(
        default_factory=lambda: {"default": "offline"},
        description="Model by role: `default`, a role (`patient`), or a role at a stage (`diagnosis.feedback`); "
        "each `offline`, `human`, `provider:model[@base_url]`, `hf:FOLDER` or a name of `model`; from Python also a "
        "LangChain chat model.",
    )
    language: SpokenLanguage | None = Field(None, description="Language of the prompts; the case's if not set.")
    temperature: Temperature = Field(0.0, description="`default`: none is sent, the server takes its own.")
    seed: int | None = Field(None, description="Passed on to providers that take one.")
    timeout: float = Field(120.0, gt=0, description="Seconds that one request may take.")
    max_attempts: int = Field(
        6, ge=1, description="Requests for one answer that may fail; a busy server is asked four times as often."
    )
    repairs: int = Field(
        3, ge=0, le=10, description="How often an answer that cannot be read is asked for again, with what is wrong."
    )
    max_connections: int = Field(64, ge=1, description="Requests that one server gets at the same time.")
    max_outage: float = Field(
        1800.0, ge=0, description="Seconds that a server or database that has answered before may be away: all wait."
    )
    max_tokens: int | None = Field(None, ge=1, description="Tokens an answer may have; the server's default if unset.")
    plain_words: bool = Field(
        False,
        description="Let the doctor's model talk with the patient in plain words, as one that was tuned on dialogues "
        "does; an `hf:` model always does.",
    )
    dialogue_in_roles: bool = Field(
        False,
        description="Give the doctor's model the dialogue as turns of a chat between prompt and request, as AIE does, "
        "and not fenced in one message; not where it thinks step by step. Then a patient's words are no longer marked "
        "as material.",
    )
    prices: dict[str, tuple[float, float]] = Field(
        default_factory=dict,
        description="US dollars per million input and output tokens, by model spec: `[0.15, 0.6]`.",
    )
    cache: str | None = Field(None, description="SQLite file with the answers of earlier runs; off if not set.")
    epoch: SkipJsonSchema[int] = Field(
        0, ge=0, description="Which repetition this is; each has answers of its own in the cache."
    )
    scope: SkipJsonSchema[str] = Field(
        "", description="What the ids of all calls begin with; a graph that runs another several times sets it."
    )
    trace_file: SkipJsonSchema[str | None] = Field(
        None, description="Where to write the whole record of each call; the runner's."
    )

    @field_validator("models", mode="before")
    @classmethod
    def _replace_objects(cls, models: Any) -> Any:
        return with_specs(models)

    @field_validator("models")
    @classmethod
    def _check_models(cls, models: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "model" in info.data:  # otherwise its own error is reported
            check_models(models, info.data["model"])
        return models

    def block(self, name: str) -> ModelBlock:
        """Return the block of that name, or else a block with the name as its spec."""
        return block_of(name, self.model)

    def key_of(self, name: str, others: Sequence[str] = ()) -> str | None:
        """Return the API key for a model's server, considering all other models of the map and ``others``.

        Raises:
            ModelSpecError: the variable is not set, or one key would serve several servers.
        """
        return key_of(self.block(name), map(self.block, (*self.models.values(), *others)))
