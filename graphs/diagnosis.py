"""The diagnosis stage (MedChain, A.2.4)."""

from graphs.stage import build_stage
from nodes.workflow.stages import DIAGNOSIS

builder = build_stage(DIAGNOSIS)
graph = builder.compile(name="Diagnosis")
