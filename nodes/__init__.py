"""The cast: one person a file, with what they see, what they answer and their offline rule."""
