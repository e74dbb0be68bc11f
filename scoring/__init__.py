"""Scoring: metrics as pure functions, judges with offline rules, and statistics over cases."""
