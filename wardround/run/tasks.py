"""The tasks of a run: a graph for each, and what to take from its final state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from cases.dialogues import PHYSICIAN
from graphs import consultation, dispute_resolution, one_step, reconstruction
from graphs.clinical_workflow import clinical_workflow_by
from graphs.state_graph import Graph
from nodes.context import Context
from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.consultation import ConsultationAnswers
from scoring.medchain.answers import Answers
from wardround.config.experiment import GraphName

State = Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """A graph that starts from a case or a note."""

    graph: Callable[[Context], Graph]  # the graph of ``graphs/`` for the settings of a run
    answers: Callable[[State], Any]  # takes the answers to score and record from a final (or interrupted) state
    # by part of the workflow: how it ended, and after how many rounds
    ends: Callable[[State], tuple[dict[str, str], dict[str, int]]]
    last: str  # the key that the last node writes: a state that has it is finished

    def compiled(self, checkpointer: BaseCheckpointSaver[Any], context: Context) -> Graph:
        """Compile the graph with a checkpointer."""
        graph = self.graph(context)
        return graph.builder.compile(name=graph.name, checkpointer=checkpointer)


def _stage_ends(state: State) -> tuple[dict[str, str], dict[str, int]]:
    """Return for each stage whether its decision was agreed or exhausted, and how often it was made."""
    records = state.get("decisions", [])
    return (
        {record.stage: record.ended for record in records},
        {record.stage: len(record.rounds) for record in records},
    )


def _consultation_ends(state: State) -> tuple[dict[str, str], dict[str, int]]:
    """Return the dialogue, or each intern's, in turns of the doctor; and the discussion, if there was one."""
    ends, rounds = {}, {}
    interns = {f"dialogue:intern{one.seat}": (one.dialogue, one.ended) for one in state.get("consultations", [])}
    alone = {"dialogue": (state.get("dialogue", []), state.get("dialogue_ended"))}
    for name, (dialogue, ended) in (interns or alone).items():
        if dialogue:
            ends[name] = ended or "interrupted"
            rounds[name] = sum(turn.speaker == "doctor" for turn in dialogue)
    if collaboration := state.get("collaboration"):
        ends["discussion"], rounds["discussion"] = collaboration.ended, collaboration.rounds
    return ends, rounds


def _dialogue_ends(state: State) -> tuple[dict[str, str], dict[str, int]]:
    """Return the reconstructed dialogue, in turns of the physician; a role-play also says how it ended."""
    if (dialogue := state.get("dialogue")) is None:
        return {}, {}
    return {"dialogue": state.get("dialogue_ended") or "written"}, {
        "dialogue": sum(turn.role == PHYSICIAN for turn in dialogue.spoken)
    }


TASKS: Mapping[GraphName, Task] = {
    "clinical_workflow": Task(
        lambda context: clinical_workflow_by(context.strategy), Answers.of, _stage_ends, "follow_up"
    ),
    "consultation": Task(lambda _: consultation, ConsultationAnswers.of, _consultation_ends, "report"),
    "one_step": Task(lambda _: one_step, ConsultationAnswers.of, _consultation_ends, "report"),
    "dispute_resolution": Task(lambda _: dispute_resolution, ConsultationAnswers.of, _consultation_ends, "report"),
    "reconstruction": Task(lambda _: reconstruction, ReconstructionAnswers.of, _dialogue_ends, "dialogue"),
}
