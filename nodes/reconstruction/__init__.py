"""The roles of CliniChat's Clini-Recon, which turn a clinical note into an interview dialogue."""
