"""Engines: where the cases of a run are run, in this process or by workers on a Ray cluster."""
