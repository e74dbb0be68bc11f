"""The settings that `ask` reads, a part of a run's context: the model of each role and the limits of a call."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.json_schema import SkipJsonSchema

from cases.path_names import PathName
from cases.strict import OwnNumbers
from cases.vocabulary import Language, one_tag
from llm.blocks import ModelBlock, ModelBlocks, Temperature, block_of
from llm.errors import ModelSpecError
from llm.keys import key_of
from llm.model_objects import with_specs
from llm.role import Role
from llm.specs import OFFLINE, WITHOUT_MODEL, check_models, model_of
from prompts import SpokenLanguage

if TYPE_CHECKING:
    ModelMap = dict[str, Any]  # as it is given: also with model objects
else:
    ModelMap = Annotated[dict[str, str], BeforeValidator(with_specs)]


class ModelSettings(OwnNumbers):
    """The model of each role and the limits of a call. Graph contexts extend it."""

    # Values include URLs, which may contain secrets.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    model: ModelBlocks = Field(
        default_factory=dict,
        description="Model blocks: specs with parameters of their own, by the name that `models` uses.",
    )
    models: ModelMap = Field(
        default_factory=lambda: {"default": "offline"},
        description="Model of each role. Keys: `default`, a role (`patient`), or a role at a stage "
        "(`diagnosis.feedback`). Values: `offline`, `human`, `provider:model[@base_url]`, `hf:FOLDER`, or a name in "
        "`model`; from Python also a LangChain chat model.",
    )
    language: SpokenLanguage | None = Field(
        default=None, description="Language of the prompts. Default: the case's language."
    )
    temperature: Temperature = Field(
        default=0.0, description="Sampling temperature. `default`: none is sent, and the server uses its own."
    )
    seed: int | None = Field(
        default=None, description="Seed, sent to providers that accept one, and used to draw patients (`drawn`)."
    )
    timeout: float = Field(
        default=120.0,
        gt=0,
        description="Maximum number of seconds that a request may take; a retry after a time-out may take longer.",
    )
    max_attempts: int = Field(
        default=6,
        ge=1,
        description="Maximum number of failed requests for one answer. Four times as many are allowed if the server is "
        "busy (HTTP 429).",
    )
    repairs: int = Field(
        default=3,
        ge=0,
        le=10,
        description="Maximum number of times that the model is asked to correct an answer that cannot be read.",
    )
    max_connections: int = Field(default=64, ge=1, description="Maximum number of concurrent requests to one server.")
    max_outage: float = Field(
        default=1800.0,
        ge=0,
        description="Maximum number of seconds to wait for a server or database that has answered before and is "
        "unavailable now.",
    )
    max_tokens: int | None = Field(
        default=None, ge=1, description="Maximum number of tokens in an answer. Default: the server's."
    )
    plain_words: bool | None = Field(
        default=None,
        description="Let the doctor's model talk with the patient in plain text, without a prompt, as a model tuned on "
        "dialogues does. Default: only an `hf:` model does; false: an `hf:` model gets prompts too, as a chat model "
        "that was not tuned here needs.",
    )
    dialogue_in_roles: bool = Field(
        default=False,
        description="Give the doctor's model the dialogue up to its last words as chat turns between prompt and "
        "request, as AIE does, instead of fenced in one message; the patient's words in these turns are not marked as "
        "data. Has no effect on a doctor who reasons step by step, or for a server without chat roles.",
    )
    prices: dict[str, tuple[float, float]] = Field(
        default_factory=dict,
        description="Prices by model spec, in US dollars per million input and output tokens: `[0.15, 0.6]`.",
    )
    cache: PathName | None = Field(
        default=None, description="SQLite file with the answers of earlier runs. Default: no cache."
    )
    epoch: SkipJsonSchema[int] = Field(
        default=0, ge=0, description="Number of the repetition; each has its own answers in the cache."
    )
    scope: SkipJsonSchema[str] = Field(
        default="", description="Prefix of the ids of all calls; set by a graph that runs another one several times."
    )
    trace_file: SkipJsonSchema[str | None] = Field(
        default=None, description="File for the full records of calls; set by the runner."
    )

    def prompt_language(self, case_language: Language) -> Language:
        """Return the language of the prompts for a case in this language."""
        return self.language or case_language

    def is_by_rule(self, role: Role[Any]) -> bool:
        """Whether a role's offline rule answers, and no model or person."""
        return model_of(role.name, role.stage, self.models) == OFFLINE

    def in_epoch(self, epoch: int) -> Self:
        """Return the settings of one epoch: each has its own seed, so that epochs differ where a model samples."""
        return self.model_copy(update={"epoch": epoch, "seed": (self.seed or 0) + epoch})

    @field_validator("language", mode="before")
    @classmethod
    def _read_as_of_a_case(cls, given: Any) -> Any:
        return one_tag(given) if isinstance(given, str) else given

    @field_validator("models")
    @classmethod
    def _check_models(cls, models: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "model" in info.data:  # otherwise its own error is reported
            check_models(models, info.data["model"])
        return models

    def check_folders(self) -> None:
        """Check the models of this process before anyone is asked; a recorded run is read without them.

        Raises:
            ModelSpecError: a folder is not on this machine, or holds no model that can be used.
        """
        for role, folder in self.model_folders():
            from llm.model_folders import check_folder

            try:
                check_folder(folder)
            except ModelSpecError as error:
                raise ModelSpecError(f"models.{role}: {error}") from error

    def model_folders(self) -> Iterator[tuple[str, str]]:
        """Yield each entry of the model map that a model of this process answers, with its folder."""
        for role, name in self.models.items():
            if name not in WITHOUT_MODEL and (block := self.block(name)).in_process:
                yield role, block.parsed.name

    def block(self, name: str) -> ModelBlock:
        """Return the block of that name, or else a block with the name as its spec."""
        return block_of(name, self.model)

    def key_of(self, name: str, others: Sequence[str] = ()) -> str | None:
        """Return the API key for a model's server, considering all other models of the map and ``others``.

        Raises:
            ModelSpecError: the variable is not set, or one key would serve several servers.
        """
        return key_of(self.block(name), map(self.block, (*self.models.values(), *others)))
