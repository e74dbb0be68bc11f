"""Metrics as pure functions, with their statistics."""
