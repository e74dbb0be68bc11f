"""The doctor of a consultation: the dialogue, and the final report."""
