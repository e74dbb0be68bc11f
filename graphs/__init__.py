"""The state graphs, one per file: each module exports its builder and a graph compiled without a checkpointer.

Importing this package registers every role, patient and strategy, so that settings can be validated.
"""

import gc
from functools import partial

_gc_was_enabled = gc.isenabled()
gc.disable()  # imports leave no garbage, and collecting takes a seventh of the import time
try:
    import graphs.patients
    import graphs.roles
    import graphs.strategies
    from graphs.asked_roles import keys_asked
    from graphs.clini_eval import graph as clini_eval
    from graphs.clinical_workflow import build_clinical_workflow, clinical_workflow_by
    from graphs.clinical_workflow import graph as clinical_workflow
    from graphs.consultation import graph as consultation
    from graphs.contexts import (
        ClinicalContext,
        CliniEvalContext,
        ConsultationContext,
        DisputeResolutionContext,
        OneStepContext,
        ReconstructionContext,
    )
    from graphs.dispute_resolution import graph as dispute_resolution
    from graphs.one_step import graph as one_step
    from graphs.reconstruction import graph as reconstruction
finally:
    if _gc_was_enabled:
        gc.freeze()  # freezing and unfreezing moves all objects to the oldest generation, which is seldom collected
        gc.unfreeze()
        gc.enable()

for _graph, _context in (
    (consultation, ConsultationContext),
    (one_step, OneStepContext),
    (dispute_resolution, DisputeResolutionContext),
    (reconstruction, ReconstructionContext),
    (clini_eval, CliniEvalContext),
):
    _context.asks = partial(keys_asked, _graph)
ClinicalContext.asks = staticmethod(lambda context: keys_asked(clinical_workflow_by(context.strategy), context))

__all__ = [
    "build_clinical_workflow",
    "clini_eval",
    "clinical_workflow",
    "consultation",
    "dispute_resolution",
    "one_step",
    "reconstruction",
]
