"""The patient systems, one graph per file: one reply per invocation. Importing them registers them."""

from graphs.patients import medchain, ai_hospital, saps, medpmc, clinichat  # isort: skip  (in the order of the form)

__all__ = ["ai_hospital", "clinichat", "medchain", "medpmc", "saps"]
