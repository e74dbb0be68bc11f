"""The agents of the clinical workflow, and the nodes that make no model call (MedChain-Agent)."""
