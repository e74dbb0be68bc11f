"""Rules for clinical text: the only code that interprets clinical language without a model."""
