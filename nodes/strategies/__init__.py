"""The agents of MedAgents and MDAgents, and the doctor who decides alone."""
