"""The names of the tables, light enough to be checked before anything is run."""

TABLE_NAMES = ("scores", "icd10", "consensus", "error_propagation", "ends", "roles")
