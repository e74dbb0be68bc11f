"""What happens in which order: one state graph per file, each exported with its builder and without a checkpointer.

Importing it declares every role, patient and strategy, so that settings can be checked.
"""

import graphs.patients
import graphs.roles
import graphs.strategies
from graphs.clini_eval import graph as clini_eval
from graphs.clinical_workflow import graph as clinical_workflow
from graphs.consultation import graph as consultation
from graphs.dispute_resolution import graph as dispute_resolution
from graphs.one_step import graph as one_step
from graphs.reconstruction import graph as reconstruction

__all__ = ["clini_eval", "clinical_workflow", "consultation", "dispute_resolution", "one_step", "reconstruction"]
