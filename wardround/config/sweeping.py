"""The keys of an experiment file that define a sweep, and the schema of a whole file."""

from typing import Any

from pydantic import Field, field_validator

from cases.strict import Strict
from nodes.context import Context
from wardround.config.experiment import NOT_OF_THE_WORKFLOW, Experiment
from wardround.tables.names import TABLE_NAMES


class Sweeping(Strict):
    """The keys of an experiment file that define a sweep."""

    extends: str = Field(default="", description="Experiment file whose settings apply where this file sets none.")
    grid: dict[str, Any] = Field(
        default_factory=dict,
        description="Lists of values by dotted key; each combination is a run.",
        json_schema_extra={"additionalProperties": {"type": ["array", "object"]}},
    )
    variants: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Named runs, each with its own settings."
    )
    tables: list[str] = Field(default_factory=list, description="Tables to make at the end of the sweep.")
    fixed: dict[str, str] = Field(
        default_factory=dict,
        description="Models of roles, and of `judges`, that are the same in every run. They apply to runs in which "
        "another role has a model.",
    )
    mixed: bool = Field(
        default=False,
        description="Allow tables that mix rules with models, or whose patient or judges change with the doctors.",
    )

    @field_validator("tables")
    @classmethod
    def _check_known(cls, tables: list[str]) -> list[str]:
        if unknown := [name for name in tables if name not in TABLE_NAMES]:
            raise ValueError(f"unknown table {', '.join(unknown)}; expected some of {', '.join(TABLE_NAMES)}")
        return tables


def experiment_schema() -> dict[str, Any]:
    """Return the schema of an experiment file: its sections, the workflow's settings, and the sweep's keys."""
    schema = Experiment.model_json_schema()
    workflow = Context.model_json_schema()
    definitions = {**schema.pop("$defs", {}), **workflow.pop("$defs", {})}
    settings = {name: field for name, field in workflow["properties"].items() if name not in NOT_OF_THE_WORKFLOW}
    schema["properties"]["workflow"] = {
        "type": "object",
        "description": "Settings of the graph.",
        "properties": settings,
        "additionalProperties": False,
    }
    schema["properties"] |= Sweeping.model_json_schema()["properties"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Ward Round experiment",
        "$defs": definitions,
    }
