"""Runs as data frames, and in the formats of other tools."""
