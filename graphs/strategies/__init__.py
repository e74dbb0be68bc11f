"""Strategies to decide a stage, one graph per file; importing them registers them."""

import graphs.stage  # noqa: F401  MedChain's group

from graphs.strategies import dispute_resolution, medagents, mdagents, single  # isort: skip  (in the order of the form)

__all__ = ["dispute_resolution", "mdagents", "medagents", "single"]
