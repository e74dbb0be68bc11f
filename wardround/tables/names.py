"""The names of the tables, light enough to be checked before anything is run."""

TABLE_NAMES = ("scores", "icd10", "consensus", "error_propagation", "ends", "roles", "leakage")

USUAL = tuple(name for name in TABLE_NAMES if name != "leakage")  # what opens a memory is made when it is asked for
