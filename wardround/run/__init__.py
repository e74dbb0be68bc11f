"""Running an experiment: many cases through a graph, each scored once, nothing lost."""
