"""The treatment stage (MedChain, A.2.5)."""

from graphs.stage import build_stage
from nodes.workflow.stages import TREATMENT

builder = build_stage(TREATMENT)
graph = builder.compile(name="Treatment")
