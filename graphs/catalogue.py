"""Every graph by its name, for whoever draws, serves or runs one."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from graphs.clini_eval import graph as clini_eval
from graphs.clinical_workflow import clinical_workflow_by, part_by
from graphs.clinical_workflow import graph as clinical_workflow
from graphs.consultation import graph as consultation
from graphs.diagnosis import graph as diagnosis
from graphs.dispute_resolution import graph as dispute_resolution
from graphs.examination import graph as examination
from graphs.history_taking import graph as history_taking
from graphs.interview import graph as interview
from graphs.one_step import graph as one_step
from graphs.patients.ai_hospital import graph as ai_hospital
from graphs.patients.medpmc import graph as medpmc
from graphs.patients.saps import graph as saps
from graphs.reconstruction import graph as reconstruction
from graphs.referral import graph as referral
from graphs.treatment import graph as treatment
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.stages import parts

Graph = CompiledStateGraph[Any, Any, Any, Any]

GRAPHS: Mapping[str, Graph] = {
    "clinical_workflow": clinical_workflow,
    "referral": referral,
    "history_taking": history_taking,
    "interview": interview,
    "examination": examination,
    "diagnosis": diagnosis,
    "treatment": treatment,
    "consultation": consultation,
    "one_step": one_step,
    "dispute_resolution": dispute_resolution,
    "reconstruction": reconstruction,
    "clini_eval": clini_eval,
    "patients.ai_hospital": ai_hospital,
    "patients.saps": saps,
    "patients.medpmc": medpmc,
}

# Those that start from a case or a note, and so can be started by hand in Studio.
SERVED = ("clinical_workflow", "clini_eval", "consultation", "dispute_resolution", "one_step", "reconstruction")


def served() -> Mapping[str, Callable[[], Graph]]:
    """What Studio lists, to be built when it is asked for: those of `SERVED`, and the workflow by each other strategy.

    ``langgraph.json`` names the same, without those of plug-ins.
    """
    others = (name for name in STRATEGIES if name != "group")
    by_others = {f"clinical_workflow_{name}": partial(clinical_workflow_by, name) for name in others}
    return {name: partial(GRAPHS.__getitem__, name) for name in SERVED} | by_others


def graph_by(name: str, strategy: str) -> Graph:
    """A graph by name; the workflow, or a part of it, as it is decided by a strategy.

    Raises:
        KeyError: there is no such graph.
        ValueError: there is no such strategy, or the graph has none.
    """
    if name == "clinical_workflow":
        return clinical_workflow_by(strategy)
    if name in parts():
        return part_by(strategy, name)
    if strategy != "group":
        raise ValueError(f"{name} is decided by no strategy; only clinical_workflow, {', '.join(parts())} are")
    return GRAPHS[name]
