"""What an experiment is: its file, its settings, its cases, and the checks before the first call."""
