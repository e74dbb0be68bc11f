"""The agents, one per file: what each one sees, what it answers, and its offline rule."""
