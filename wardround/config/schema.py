"""The JSON schema of experiment files, for editors that complete and check them."""

from typing import Any

from nodes.context import Context
from wardround.config.experiment import NOT_OF_THE_WORKFLOW, Experiment


def experiment_schema() -> dict[str, Any]:
    """The schema of an experiment file: the sections, the workflow's settings, and what sweeps over them."""
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
    schema["properties"] |= {
        "extends": {"type": "string", "description": "An experiment file that holds where this one says nothing."},
        "grid": {
            "type": "object",
            "description": "Lists of values by dotted key; every combination is a run.",
            "additionalProperties": {"type": ["array", "object"]},
        },
        "variants": {
            "type": "object",
            "description": "Named runs, each with its own settings.",
            "additionalProperties": {"type": "object"},
        },
        "tables": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Tables of the papers to print at the end.",
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Ward Round experiment",
        "$defs": definitions,
    }
