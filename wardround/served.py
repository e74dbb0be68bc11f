"""The graphs as LangGraph's server imports them: once the plug-ins are loaded that it was started with.

The server is a process of its own: what `wardround dev` was given comes through the environment.
"""

import os

from prompts import add_prompts
from prompts.loading import warm_up
from wardround.plugins import load_plugins_of_environment

PROMPTS = "WARDROUND_PROMPTS"

load_plugins_of_environment()
if folder := os.environ.get(PROMPTS):
    add_prompts(folder)

from graphs import (  # noqa: E402  their forms list what the plug-ins have brought
    clini_eval,
    clinical_workflow,
    consultation,
    dispute_resolution,
    one_step,
    reconstruction,
)

warm_up()  # a server may not wait for a disk within a run

__all__ = ["clini_eval", "clinical_workflow", "consultation", "dispute_resolution", "one_step", "reconstruction"]
