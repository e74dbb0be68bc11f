"""Dispute resolution: the interns, the medical director, and the subjects they discuss (AI Hospital, section 4)."""
