"""The settings for training an interviewer; the defaults are CliniChat's Table 5."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from cases.strict import Strict
from cases.validation import InputError, faults

Method = Literal["prefix", "lora"]
Unit = Literal["turn", "dialogue"]
LEARNING_RATES: dict[Method, float] = {"prefix": 1e-2, "lora": 2e-4}  # the second is not from the paper


class TuningError(InputError):
    """Settings that cannot be used; nothing was trained."""


class TrainingStoppedError(RuntimeError):
    """The training could not continue; the last checkpoint is kept."""


class Tuning(Strict):
    """Everything that decides what comes out of a training."""

    base: str = Field(min_length=1, description="Model to adapt: a folder, or a model name on the Hugging Face Hub.")
    method: Method = Field(
        "prefix", description="`prefix`: P-Tuning v2 (a trained prefix in every layer); `lora`: LoRA."
    )
    example: Unit = Field(
        "turn", description="`turn`: a turn of the physician with everything said before; `dialogue`: a dialogue."
    )
    epochs: int = Field(1, ge=1)
    batch: int = Field(48, ge=1, description="Number of examples per step, over all parts of a batch.")
    accumulate: int = Field(1, ge=1, description="Number of parts in which a batch goes through the model.")
    prefix: int = Field(128, ge=1, description="Number of virtual tokens of the prefix.")
    rank: int = Field(8, ge=1, description="Rank of LoRA's matrices; their alpha is twice that.")
    source: int = Field(2048, ge=1, description="Maximum number of dialogue tokens that are read.")
    target: int = Field(128, ge=1, description="Maximum number of tokens of the physician's words.")
    learning_rate: float = Field(
        LEARNING_RATES["prefix"], gt=0, description="Initial learning rate; it falls linearly to 0."
    )
    precision: Literal["float32", "bfloat16"] = Field("float32", description="Precision of the frozen base.")
    checkpointing: bool = Field(
        False, description="Recompute activations in the backward pass to save memory (LoRA only)."
    )
    packing: bool = Field(
        False, description="Fill each sequence with whole examples, attended to separately (LoRA only)."
    )
    seed: int = 0

    @property
    def longest(self) -> int:
        """Maximum tokens of an example: what is read, what is said, and its end."""
        return self.source + self.target + 1

    @field_validator("base")
    @classmethod
    def _address(cls, base: str) -> str:
        """Make a folder absolute, so that the adapter finds it wherever it is loaded."""
        folder = Path(base).expanduser()
        return str(folder.resolve()) if folder.is_dir() else base

    @model_validator(mode="before")
    @classmethod
    def _rate_of_the_method(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("learning_rate") is None:
            rate = LEARNING_RATES.get(values.get("method", "prefix"))
            values = {key: value for key, value in values.items() if key != "learning_rate"}
            values |= {} if rate is None else {"learning_rate": rate}
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
