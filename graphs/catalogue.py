"""Every graph by its name, for whoever draws, serves or runs one."""

from collections.abc import Mapping
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from graphs.clini_eval import graph as clini_eval
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

# Those that start from a case or a note, and so can be started by hand in Studio; `langgraph.json` names the same.
SERVED = ("clinical_workflow", "clini_eval", "consultation", "dispute_resolution", "one_step", "reconstruction")
