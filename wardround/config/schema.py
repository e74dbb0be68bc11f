"""The JSON schema of experiment files, for editors that complete and check them."""

from typing import Any

from nodes.context import Context
from wardround.config.experiment import NOT_OF_THE_WORKFLOW, Experiment
from wardround.config.sweeping import Sweeping


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
