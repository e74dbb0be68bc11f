"""The settings for training an interviewer; the defaults are CliniChat's Table 5."""

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from cases.strict import Strict
from cases.validation import InputError, faults
from wardround.store.durable_lines import RunStoppedError

Method = Literal["prefix", "lora"]
Unit = Literal["turn", "dialogue"]
LEARNING_RATES: dict[Method, float] = {"prefix": 1e-2, "lora": 2e-4}  # the second is not from the paper


class TuningError(InputError):
    """Settings that cannot be used; nothing was trained."""


class TrainingStoppedError(RunStoppedError):
    """The training could not continue; the last checkpoint is kept."""


class Tuning(Strict):
    """Everything that decides what comes out of a training; ``wardround tune --help`` says what each setting is."""

    base: str = Field(min_length=1)
    method: Method = "prefix"
    example: Unit = "turn"
    epochs: int = Field(default=1, ge=1)
    batch: int = Field(default=48, ge=1)
    accumulate: int = Field(default=1, ge=1)
    prefix: int = Field(default=128, ge=1)
    rank: int = Field(default=8, ge=1)
    source: int = Field(default=2048, ge=1)
    target: int = Field(default=128, ge=1)
    learning_rate: float = Field(default=LEARNING_RATES["prefix"], gt=0)
    precision: Literal["float32", "bfloat16"] = "float32"
    checkpointing: bool = False
    packing: bool = False
    seed: int = 0

    @property
    def longest(self) -> int:
        """Maximum tokens of an example: what is read, what is said, and its end."""
        return self.source + self.target + 1

    @field_validator("base")
    @classmethod
    def _address(cls, base: str) -> str:
        """Make a folder absolute, so that the adapter finds it wherever it is loaded."""
        folder = Path(os.path.expanduser(base))
        return str(folder.resolve()) if folder.is_dir() else base

    @model_validator(mode="before")
    @classmethod
    def _rate_of_the_method(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("learning_rate") is None:
            rate = LEARNING_RATES.get(values.get("method", "prefix"), LEARNING_RATES["prefix"])
            return {**values, "learning_rate": rate}
        return values

    @model_validator(mode="after")
    def _whole_parts(self) -> "Tuning":
        if self.batch % self.accumulate:
            raise ValueError(f"a batch of {self.batch} cannot be divided into {self.accumulate} equal parts")
        if self.checkpointing and self.method == "prefix":
            raise ValueError("--checkpointing would drop the keys and values of a prefix; use --method lora")
        if self.packing and self.method == "prefix":
            raise ValueError("--packing would put one prefix before several examples; use --method lora")
        return self


def read_tuning(options: dict[str, Any]) -> Tuning:
    """Validate the given settings; the others have their defaults.

    Raises:
        TuningError: names the setting and the fault.
    """
    try:
        tuning = Tuning.model_validate(options)
    except ValidationError as error:
        fault_texts = [
            ": ".join([*(f"--{str(part).replace('_', '-')}" for part in detail["loc"]), detail["msg"]])
            for detail in faults(error)
        ]
        raise TuningError("; ".join(fault_texts)) from None
    unused = "rank" if tuning.method == "prefix" else "prefix"
    if unused in options:
        raise TuningError(f"--{unused} does not apply to --method {tuning.method}")
    return tuning
