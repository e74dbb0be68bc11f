"""Run an experiment: many cases through a graph, each scored once, no result lost."""
