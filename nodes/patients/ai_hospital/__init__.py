"""AI Hospital's patient and examiner (AI Hospital, sections 2.3 and 2.4)."""
