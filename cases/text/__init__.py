"""What can be read off clinical text by rule: the only place that reads clinical language without a model."""
