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
    "leakage",
)

# What is made unless names are given: what opens a memory, or is of few runs, is made when it is asked for.
USUAL = tuple(name for name in TABLE_NAMES if name not in ("leakage", "learning_curve", "information", "contrasts"))
