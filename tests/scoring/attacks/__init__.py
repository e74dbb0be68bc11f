"""Answers made to be scored well without being good, and what each metric gives them."""
