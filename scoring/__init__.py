"""Scores: metrics as pure functions, their offline judges, and the statistics over cases."""
