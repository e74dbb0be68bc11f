"""The keys of an experiment file that define a sweep."""

from typing import Any

from pydantic import Field, field_validator

from cases.strict import Strict
from wardround.tables.names import TABLE_NAMES


class Sweeping(Strict):
    """What stands in a file beside the experiment."""

    extends: str = Field("", description="An experiment file that holds where this one says nothing.")
    grid: dict[str, Any] = Field(
        default_factory=dict,
        description="Lists of values by dotted key; every combination is a run.",
        json_schema_extra={"additionalProperties": {"type": ["array", "object"]}},
    )
    variants: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Named runs, each with its own settings."
    )
    tables: list[str] = Field(default_factory=list, description="Tables of the papers to print at the end.")
    fixed: dict[str, str] = Field(
        default_factory=dict,
        description="Models of roles, and of `judges`, that are the same in every run; they come in where anybody "
        "else is a model.",
    )
    mixed: bool = Field(False, description="Take offline rules beside models, or changing patients, in one table.")

    @field_validator("tables")
    @classmethod
    def _known(cls, tables: list[str]) -> list[str]:
        if unknown := [name for name in tables if name not in TABLE_NAMES]:
            raise ValueError(f"unknown {', '.join(unknown)}; known are {', '.join(TABLE_NAMES)}")
        return tables
