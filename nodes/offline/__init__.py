"""The offline rules, which answer in place of a model."""
