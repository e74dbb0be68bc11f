"""All graphs by name, for drawing, serving and running."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from graphs.clini_eval import graph as clini_eval
from graphs.clinical_workflow import clinical_workflow_by, part_by
from graphs.clinical_workflow import graph as clinical_workflow
from graphs.consultation import graph as consultation
from graphs.diagnosis import graph as diagnosis
from graphs.dispute_resolution import graph as dispute_resolution
from graphs.examination import graph as examination
from graphs.history_taking import graph as history_taking
from graphs.interview import graph as interview
from graphs.one_stage import stage_by_itself
from graphs.one_step import graph as one_step
from graphs.patient_turn import patient_turn_of
from graphs.reconstruction import graph as reconstruction
from graphs.referral import graph as referral
from graphs.state_graph import Graph
from graphs.treatment import graph as treatment
from nodes.patients.systems import PATIENTS
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.stages import parts

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
}

_PATIENT = "patients."  # how the name of a patient's graph begins

# Graphs that start from a case, a note or a dialogue, so that they can be started by hand in Studio.
SERVED: Mapping[str, str] = {
    "clinical_workflow": "One case through referral, history-taking, examination, diagnosis and treatment (MedChain).",
    "clini_eval": "Judges an interview by demonstration, comparison and points (CliniChat). Starts from a dialogue.",
    "consultation": "A dialogue of a doctor with any of the patients, then the doctor's report.",
    "dispute_resolution": "Several interns consult the patient, and a director settles their disputes (AI Hospital).",
    "one_step": "A report on the whole record at once: the upper bound for a consultation (AI Hospital).",
    "reconstruction": "Turns a note, or that of a case, into an interview (CliniChat).",
}


class Served(NamedTuple):
    """A graph that Studio lists; it is built on demand."""

    build: Callable[[], Graph]
    description: str


def served() -> Mapping[str, Served]:
    """Return the graphs that Studio lists: `SERVED`, the workflow by each other strategy, each patient and each stage.

    ``langgraph.json`` lists the same graphs, except for those of plug-ins.
    """
    graphs = {name: Served(partial(GRAPHS.__getitem__, name), description) for name, description in SERVED.items()}
    for name in STRATEGIES:
        if name != "group":
            description = f"The clinical workflow, with every stage decided by the strategy {name!r}."
            graphs[f"clinical_workflow_{name}"] = Served(partial(clinical_workflow_by, name), description)
    for name in PATIENTS:
        description = f"The patient {name!r} alone: say something, and it replies. A thread is one dialogue."
        graphs[f"patient_{name}"] = Served(partial(patient_turn_of, name), description)
    for name in parts():
        description = f"The stage {name!r} alone; earlier findings come from the case's record and answer key."
        graphs[f"stage_{name}"] = Served(partial(stage_by_itself, name), description)
    return graphs


def graph_names() -> list[str]:
    """Return the names that `graph_by` accepts: those in `GRAPHS`, all parts of the workflow, and the patients."""
    return list(dict.fromkeys([*GRAPHS, *parts(), *(f"{_PATIENT}{name}" for name in PATIENTS)]))


def graph_by(name: str, strategy: str) -> Graph:
    """Return a graph by name; the workflow and its parts are decided by the given strategy.

    Raises:
        KeyError: there is no such graph.
        ValueError: there is no such strategy, or the graph uses none and it is not "group".
    """
    if name == "clinical_workflow":
        return clinical_workflow_by(strategy)
    if name in parts():
        return part_by(strategy, name)
    if strategy != "group":
        raise ValueError(f"{name} is not decided by a strategy; only clinical_workflow, {', '.join(parts())} are")
    if name.startswith(_PATIENT):
        patient: Graph = PATIENTS[name.removeprefix(_PATIENT)].graph
        return patient
    return GRAPHS[name]
