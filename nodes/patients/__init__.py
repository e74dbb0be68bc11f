"""Whom the doctor talks to and who examines: the patient systems of the papers, one folder or file per system."""
