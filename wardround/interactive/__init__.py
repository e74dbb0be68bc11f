"""Interactive consultations: a person plays a role at a terminal or in a browser."""
