"""The persons of CliniChat's Clini-Recon: who turns a clinical note into an interview."""
