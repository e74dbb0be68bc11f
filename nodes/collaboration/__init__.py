"""Dispute resolution among doctors: interns, the medical director, and what they discuss (AI Hospital, section 4)."""
