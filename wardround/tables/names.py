"""The names of the tables, in a module light enough to check them before a run."""

TABLE_NAMES = (
    *("scores", "icd10", "orders", "error_types", "dialogues", "consensus", "error_propagation", "learning_curve"),
    *("information", "contrasts", "ends", "roles", "models", "leakage", "aie", "actions", "simulators", "medpmc"),
    *("personas", "leaves"),
)

# Made only on request: they open a memory, or apply to few runs.
_ON_REQUEST = frozenset(
    {"leakage", "learning_curve", "information", "contrasts", "simulators", "medpmc", "personas", "models", "leaves"}
)
USUAL = tuple(name for name in TABLE_NAMES if name not in _ON_REQUEST)
