"""What happens in which order: one state graph per file, each exported with its builder and without a checkpointer.

Importing it declares every role, patient and strategy, so that settings can be checked.
"""

import gc
from functools import partial

_searched = gc.isenabled()
gc.disable()  # nothing that is imported is garbage, and the search for it takes a seventh of the time
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
    if _searched:
        gc.freeze()  # and at once thawed: old, so that the next search, which is soon, leaves it out
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
