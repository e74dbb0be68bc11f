"""People in seats."""
