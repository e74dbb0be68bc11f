"""Ways to decide a stage, one graph per file, each with a stage's input and output. Importing them registers them."""

import graphs.stage  # noqa: F401  the group of MedChain

from graphs.strategies import dispute_resolution, medagents, mdagents, single  # isort: skip  (in the order of the form)

__all__ = ["dispute_resolution", "mdagents", "medagents", "single"]
