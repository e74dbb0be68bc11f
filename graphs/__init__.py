"""What happens in which order: one state graph a file, each exported with its builder and without a checkpointer."""

from graphs.clinical_workflow import graph as clinical_workflow

__all__ = ["clinical_workflow"]
