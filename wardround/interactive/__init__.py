"""People in seats: a consultation at a terminal."""
