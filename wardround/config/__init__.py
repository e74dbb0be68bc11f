"""The configuration of an experiment: its file, settings and cases, and the checks before the first call."""
