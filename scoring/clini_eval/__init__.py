"""Clini-Eval, CliniChat's points of an interview (section 3.3)."""
