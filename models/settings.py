"""How roles speak: the part of a run's context that `ask` reads."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from models.spec import check_models


class ModelSettings(BaseModel):
    """The model of each role and the limits of a call. Graph contexts extend it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, str] = Field(
        default_factory=lambda: {"default": "offline"},
        description="Model by role: `default`, a role (`patient`), or a role at a stage (`diagnosis.feedback`); "
        "each `offline`, `human` or `provider:model[@base_url]`.",
    )
    language: Literal["en", "zh"] | None = Field(None, description="Language of the prompts; the case's if not set.")
    temperature: float = Field(0.0, ge=0, le=2)
    seed: int | None = Field(None, description="Passed on to providers that take one.")
    timeout: float = Field(120.0, gt=0, description="Seconds that one request may take.")
    max_attempts: int = Field(6, ge=1, description="Requests for one answer, while the server is busy or failing.")
    max_tokens: int | None = Field(None, ge=1, description="Tokens an answer may have; the server's default if unset.")
    prices: dict[str, tuple[float, float]] = Field(
        default_factory=dict, description="US dollars per million input and output tokens, by model spec."
    )
    scope: str = Field(
        "", description="What the ids of all calls begin with; a graph that runs another several times sets it."
    )
    trace_file: str | None = Field(None, description="Where to write the whole record of each call; the runner's.")

    @field_validator("models")
    @classmethod
    def _known(cls, models: dict[str, str]) -> dict[str, str]:
        check_models(models)
        return models
