"""A custom patient, who answers every question in one short sentence.

    wardround run --plugin examples/own_patient.py --set patient=terse --limit 2
    wardround run --plugin examples/own_patient.py --set patient=terse --models terse_patient=openai:gpt-4o-mini

The prompts are in `own_patient_prompts/LANGUAGE/examples/terse.md`, one for each language of the cases.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

import wardround as wr

wr.add_prompts(Path(__file__).with_name("own_patient_prompts"))


class Reply(BaseModel):
    """What the patient says."""

    text: str = Field(min_length=1)


@dataclass(frozen=True)
class View:
    """All that the patient sees; its fields are the variables of the prompt."""

    record: wr.PatientRecord
    question: str


def say_the_complaint(view: View) -> Reply:
    """Without a model: the chief complaint."""
    return Reply(text=view.record.chief_complaint)


terse_patient = wr.Role("terse_patient", "history_taking", "examples/terse", Reply, offline=say_the_complaint)


@wr.node(asks=terse_patient)
async def answer(state: wr.PatientSideState, runtime: Runtime[wr.Context]) -> dict[str, Any]:
    """Append the reply to the doctor's last turn."""
    dialogue, language = state["dialogue"], state["presentation"].language
    view = View(state["patient_record"], dialogue[-1].text)
    reply = await wr.ask(terse_patient, view, runtime.context, language=language, place=f"turn{len(dialogue)}")
    return {"dialogue": [*dialogue, wr.Turn(speaker="patient", text=reply.text)]}


@wr.patient("terse", examines=False, speaker="terse_patient")
def terse() -> StateGraph[Any, Any, Any, Any]:
    """Build the graph of one reply."""
    builder = StateGraph(wr.PatientSideState, context_schema=wr.Context, output_schema=wr.PatientSideOutput)
    return builder.add_node(answer).add_edge(START, "answer").add_edge("answer", END)
