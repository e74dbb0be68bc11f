"""Clini-Eval: demonstrate the interview, compare the dialogue with it, score it, summarise (CliniChat, Demo2Eval)."""

from langgraph.graph import END, START

from graphs.contexts import CliniEvalContext
from graphs.state_graph import Graph, StateGraph
from scoring.clini_eval.demonstration import CliniEvalInput, demonstrate
from scoring.clini_eval.instructor import CliniEvalState, compare, give_points, summarise

builder = StateGraph(CliniEvalState, context_schema=CliniEvalContext, input_schema=CliniEvalInput)
builder.add_node(demonstrate)  # the senior physician, from the note alone
builder.add_node(compare)  # the clinical instructor: the subjective assessment
builder.add_node(give_points)  # 34 scores; the code adds them up
builder.add_node(summarise)

builder.add_edge(START, "demonstrate")
builder.add_edge("demonstrate", "compare")
builder.add_edge("compare", "give_points")
builder.add_edge("give_points", "summarise")
builder.add_edge("summarise", END)

graph: Graph = builder.compile(name="Clini-Eval")
