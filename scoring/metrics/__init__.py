"""Metrics as pure functions, and statistics over them."""
