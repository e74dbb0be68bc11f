"""The dialogue: the doctor asks, the patient answers, until the doctor concludes or the turns are used up."""

from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from graphs.state import InterviewOutput, InterviewState
from nodes.context import Context, context_of
from nodes.doctor import question
from nodes.librarian import recall
from nodes.patient import answer
from nodes.stages import PHYSICAL


def recall_first(state: InterviewState, runtime: Runtime[Context]) -> Literal["recall", "question"]:
    """With retrieval off nothing is recalled at all."""
    return "recall" if context_of(runtime).retrieval else "question"


def ended_or_answer(state: InterviewState) -> Literal["ended", "answer"]:
    """Two ends: the doctor concluded, or the turns are used up (the last question stays unanswered)."""
    return "ended" if state["dialogue_ended"] else "answer"


builder = StateGraph(InterviewState, context_schema=Context, output_schema=InterviewOutput)
builder.add_node(recall.at(stage=PHYSICAL))
builder.add_node(question)  # the doctor
builder.add_node(answer)  # the patient

builder.add_conditional_edges(START, recall_first)
builder.add_edge("recall", "question")
builder.add_conditional_edges("question", ended_or_answer, {"ended": END, "answer": "answer"})
builder.add_edge("answer", "question")

graph = builder.compile(name="Interview")
