"""The names of the tables, light enough to be checked before anything is run."""

TABLE_NAMES = (
    "scores",
    "icd10",
    "orders",
    "error_types",
    "dialogues",
    "consensus",
    "error_propagation",
    "learning_curve",
    "information",
    "contrasts",
    "ends",
    "roles",
    "models",
    "leakage",
    "aie",
    "actions",
    "simulators",
    "medpmc",
    "personas",
    "leaves",
)

# What is made when it is asked for: it opens a memory, or is of few runs.
_ON_REQUEST = frozenset(
    {"leakage", "learning_curve", "information", "contrasts", "simulators", "medpmc", "personas", "models", "leaves"}
)
USUAL = tuple(name for name in TABLE_NAMES if name not in _ON_REQUEST)
