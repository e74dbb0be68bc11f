"""The doctor in a consultation: the dialogue, and the report at its end."""
