"""Clini-Eval, CliniChat's points for an interview (section 3.3)."""
